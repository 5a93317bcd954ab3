"""Random graphs as recipes: data that can be built as a graph and computed by numpy, each on its own.

A recipe is a list of steps; each step names an operation and the earlier values that it reads, and the
place (0, 1 or 2) where it is to run. Values are float32 arrays of shape (3, 3), (3,) or ().
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from actorsession import Graph, Tensor, nn, ops

Array: TypeAlias = "np.ndarray[Any, Any]"
Place: TypeAlias = Callable[[int], AbstractContextManager[Any]]

MATRIX, VECTOR, SCALAR = (3, 3), (3,), ()


@dataclass(frozen=True)
class Word:
    """One operation: what it takes, what it gives, and its two meanings."""

    name: str
    takes: tuple[tuple[int, ...], ...]
    gives: tuple[int, ...]
    build: Callable[..., Any]
    compute: Callable[..., Any]


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _everywhere(name: str, count: int, build: Any, compute: Any) -> list[Word]:
    return [Word(name, (s,) * count, s, build, compute) for s in (MATRIX, VECTOR, SCALAR)]


WORDS: tuple[Word, ...] = (
    *_everywhere("add", 2, ops.add, np.add),
    *_everywhere("subtract", 2, ops.subtract, np.subtract),
    *_everywhere("multiply", 2, ops.multiply, np.multiply),
    *_everywhere("maximum", 2, ops.maximum, np.maximum),
    *_everywhere("minimum", 2, ops.minimum, np.minimum),
    *_everywhere("squared_difference", 2, ops.squared_difference, lambda a, b: (a - b) ** 2),
    *_everywhere("negative", 1, ops.negative, np.negative),
    *_everywhere("abs", 1, ops.abs, np.abs),
    *_everywhere("tanh", 1, ops.tanh, np.tanh),
    *_everywhere("sigmoid", 1, ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    *_everywhere("relu", 1, nn.relu, lambda x: np.maximum(x, np.float32(0))),
    *_everywhere("sign", 1, ops.sign, np.sign),
    *_everywhere("choose", 3, lambda a, b, c: ops.where(ops.less(a, b), b, c), lambda a, b, c: np.where(a < b, b, c)),
    *_everywhere("round_trip", 1, lambda x: ops.cast(ops.cast(x, "float64"), "float32"), lambda x: x),
    Word("matmul", (MATRIX, MATRIX), MATRIX, ops.matmul, np.matmul),
    Word("transpose", (MATRIX,), MATRIX, ops.transpose, np.transpose),
    Word("rows", (MATRIX, VECTOR), MATRIX, ops.add, np.add),  # broadcasting
    Word("scale", (MATRIX, SCALAR), MATRIX, ops.multiply, np.multiply),
    Word("softmax", (MATRIX,), MATRIX, nn.softmax, _softmax),
    Word("sum", (MATRIX,), VECTOR, lambda x: ops.reduce_sum(x, 0), lambda x: x.sum(0)),
    Word("mean", (MATRIX,), SCALAR, ops.reduce_mean, np.mean),
    Word("max", (MATRIX,), VECTOR, lambda x: ops.reduce_max(x, axis=1), lambda x: x.max(1)),
    Word("total", (VECTOR,), SCALAR, ops.reduce_sum, np.sum),
    Word("row", (MATRIX,), VECTOR, lambda x: x[1], lambda x: x[1]),
    Word("element", (VECTOR,), SCALAR, lambda x: x[-1], lambda x: x[-1]),
    Word("stack", (VECTOR, VECTOR, VECTOR), MATRIX, lambda *x: ops.stack(x), lambda *x: np.stack(x)),
    Word(
        "join",
        (VECTOR, VECTOR),
        VECTOR,
        lambda a, b: ops.slice(ops.concat([a, b], 0), [2], [3]),
        lambda a, b: np.concatenate([a, b])[2:5],
    ),
    Word("fill", (SCALAR,), VECTOR, lambda x: ops.stack([x, x, x]), lambda x: np.stack([x, x, x])),
    Word("picked", (MATRIX,), VECTOR, lambda x: ops.gather(x[0], [2, 0, 1]), lambda x: x[0][[2, 0, 1]]),
    Word(
        "hot",
        (MATRIX,),
        MATRIX,
        lambda x: ops.one_hot(ops.argmax(x, 1), 3),
        lambda x: np.eye(3, dtype=np.float32)[x.argmax(1)],
    ),
    Word(
        "reshaped",
        (MATRIX,),
        VECTOR,
        lambda x: ops.reduce_sum(ops.reshape(x, [3, 1, 3]), axis=[0, 1]),
        lambda x: x.reshape(3, 1, 3).sum((0, 1)),
    ),
)


@dataclass(frozen=True)
class Step:
    """One value of a recipe: a word, the values that it reads, and where it runs."""

    word: Word
    reads: tuple[int, ...]
    place: int

    def __repr__(self) -> str:
        return f"{self.word.name}{self.reads}@{self.place}"


@dataclass(frozen=True)
class Recipe:
    """A random graph: two fed matrices, then steps; every value is fetched."""

    steps: tuple[Step, ...]
    seed: int

    def fed(self) -> list[Array]:
        generator = np.random.default_rng(self.seed)
        return [generator.uniform(-1, 1, MATRIX).astype(np.float32) for _ in range(2)]

    def compute(self) -> list[Array]:
        """What numpy says."""
        values: list[Any] = list(self.fed())
        for step in self.steps:
            found = step.word.compute(*[values[i] for i in step.reads])
            values.append(np.asarray(found, np.float32))
        return values[2:]

    def build(self, graph: Graph, place: Place) -> tuple[list[Tensor], list[Tensor]]:
        """The placeholders and the values as tensors of a graph."""
        with graph.as_default():
            placeholders = [ops.placeholder("float32", [None, 3]), ops.placeholder("float32", MATRIX)]
            tensors: list[Tensor] = [ops.identity(placeholders[0]), placeholders[1]]
            tensors[0].set_shape(MATRIX)
            for step in self.steps:
                with graph.device(None), place(step.place):
                    tensors.append(step.word.build(*[tensors[i] for i in step.reads]))
        return placeholders, tensors[2:]


@st.composite
def recipes(draw: Any, most: int = 25) -> Recipe:
    """Recipes of up to ``most`` steps."""
    shapes: list[tuple[int, ...]] = [MATRIX, MATRIX]
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, most))):
        possible = [w for w in WORDS if all(s in shapes for s in w.takes)]
        word = draw(st.sampled_from(possible))
        reads = tuple(draw(st.sampled_from([i for i, s in enumerate(shapes) if s == wanted])) for wanted in word.takes)
        steps.append(Step(word, reads, draw(st.integers(0, 2))))
        shapes.append(word.gives)
    return Recipe(tuple(steps), draw(st.integers(0, 2**16)))


def assert_agree(found: Sequence[Any], expected: Sequence[Array]) -> None:
    """Fails unless values have the same shapes, types and, nearly, elements."""
    for value, wanted in zip(found, expected, strict=True):
        assert value.dtype == np.float32
        assert value.shape == wanted.shape
        # Products of twenty steps may be summed in another order by another BLAS kernel.
        np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=2e-4)
