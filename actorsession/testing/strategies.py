"""Hypothesis strategies: random graphs, shapes, element types, feeds and schedules of faults.

A random graph is a ``Recipe``: data that can be built as a graph and computed by numpy, each on its own. It is a
list of steps; each step names an operation and the earlier values that it reads, and the place (0, 1 or 2) where
it is to run. Values are float32 arrays of shape (3, 3), (3,) or (). Hypothesis is imported when a strategy is made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from actorsession import ops
from actorsession.extras import require
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.neural.activations import relu
from actorsession.ops.neural.softmax import softmax

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from actorsession.testing.simulation.faults import Schedule

__all__ = ["DTYPES", "Recipe", "arrays", "assert_agree", "dtypes", "feeds", "graphs", "shapes", "static_shapes"]

Array: TypeAlias = "np.ndarray[Any, Any]"
Place: TypeAlias = Callable[[int], AbstractContextManager[Any]]

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool", "complex64")
"""Names of the element types that ``dtypes`` draws from; ``string`` comes with ``strings=True``."""

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
    e: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    normalised: Array = e / e.sum(axis=-1, keepdims=True)
    return normalised


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
    *_everywhere("relu", 1, relu, lambda x: np.maximum(x, np.float32(0))),
    *_everywhere("sign", 1, ops.sign, np.sign),
    *_everywhere("choose", 3, lambda a, b, c: ops.where(ops.less(a, b), b, c), lambda a, b, c: np.where(a < b, b, c)),
    *_everywhere("round_trip", 1, lambda x: ops.cast(ops.cast(x, "float64"), "float32"), lambda x: x),
    Word("matmul", (MATRIX, MATRIX), MATRIX, ops.matmul, np.matmul),
    Word("transpose", (MATRIX,), MATRIX, ops.transpose, np.transpose),
    Word("rows", (MATRIX, VECTOR), MATRIX, ops.add, np.add),  # broadcasting
    Word("scale", (MATRIX, SCALAR), MATRIX, ops.multiply, np.multiply),
    Word("softmax", (MATRIX,), MATRIX, softmax, _softmax),
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
        """Return the two matrices that are fed."""
        generator = np.random.default_rng(self.seed)
        return [generator.uniform(-1, 1, MATRIX).astype(np.float32) for _ in range(2)]

    def compute(self) -> list[Array]:
        """Return the value of each step by numpy."""
        values: list[Any] = list(self.fed())
        for step in self.steps:
            values.append(np.asarray(step.word.compute(*[values[i] for i in step.reads]), np.float32))
        return values[2:]

    def build(self, graph: Graph, place: Place) -> tuple[list[Tensor], list[Tensor]]:
        """Build the recipe in a graph.

        Args:
            graph: the graph.
            place: returns the scope in which the nodes of place 0, 1 or 2 are built, such as that of a device.

        Returns:
            The two placeholders, and a tensor for each step.
        """
        with graph.as_default():
            placeholders = [ops.placeholder("float32", [None, 3]), ops.placeholder("float32", MATRIX)]
            tensors: list[Tensor] = [ops.identity(placeholders[0]), placeholders[1]]
            tensors[0].set_shape(MATRIX)
            for step in self.steps:
                with graph.device(None), place(step.place):
                    tensors.append(step.word.build(*[tensors[i] for i in step.reads]))
        return placeholders, tensors[2:]


def _hypothesis() -> ModuleType:
    """Return the module of Hypothesis's strategies."""
    require("hypothesis", "testing", "strategies of graphs and feeds are Hypothesis's")
    from hypothesis import strategies

    return strategies


def graphs(most: int = 25) -> SearchStrategy[Recipe]:
    """Return a strategy of random graphs.

    Args:
        most: the most steps of a graph; there is one at least.
    """
    st = _hypothesis()

    @st.composite  # type: ignore[untyped-decorator]
    def recipes(draw: Any) -> Recipe:
        given: list[tuple[int, ...]] = [MATRIX, MATRIX]
        steps: list[Step] = []
        for _ in range(draw(st.integers(1, most))):
            possible = [w for w in WORDS if all(s in given for s in w.takes)]
            word = draw(st.sampled_from(possible))
            reads = tuple(draw(st.sampled_from([i for i, s in enumerate(given) if s == taken])) for taken in word.takes)
            steps.append(Step(word, reads, draw(st.integers(0, 2))))
            given.append(word.gives)
        return Recipe(tuple(steps), draw(st.integers(0, 2**16)))

    strategy: SearchStrategy[Recipe] = recipes()
    return strategy


def shapes(max_rank: int = 4, max_size: int = 4) -> SearchStrategy[tuple[int, ...]]:
    """Return a strategy of shapes of arrays, empty ones and scalars among them."""
    st = _hypothesis()
    strategy: SearchStrategy[tuple[int, ...]] = st.lists(st.integers(0, max_size), max_size=max_rank).map(tuple)
    return strategy


def static_shapes(max_rank: int = 4, max_size: int = 4) -> SearchStrategy[TensorShape]:
    """Return a strategy of shapes that a graph may know: in full, without some sizes, or without the rank."""
    st = _hypothesis()
    sizes = st.none() | st.integers(0, max_size)
    strategy: SearchStrategy[TensorShape] = (st.none() | st.lists(sizes, max_size=max_rank)).map(TensorShape)
    return strategy


def dtypes(*, strings: bool = False) -> SearchStrategy[DType]:
    """Return a strategy of element types: numbers and truth values, and strings if they are wanted."""
    strategy: SearchStrategy[DType] = (
        _hypothesis().sampled_from([*DTYPES, *(["string"] if strings else [])]).map(as_dtype)
    )
    return strategy


def arrays(dtype: Any, shape: Sequence[int], *, bound: float = 10.0) -> SearchStrategy[Array]:
    """Return a strategy of arrays.

    Args:
        dtype: element type, in any form that names one.
        shape: of each array.
        bound: numbers lie between it and its negative, so that sums and products of some do not overflow.
    """
    st, of = _hypothesis(), as_dtype(dtype)
    from hypothesis.extra import numpy as of_numpy

    plain = np.dtype("f4") if of.is_floating and of.itemsize <= 2 else of.np_dtype  # what Hypothesis can draw
    low = 0 if of.is_unsigned else -int(bound)
    if of.is_bool:
        elements = st.booleans()
    elif of.is_integer:
        elements = st.integers(low, int(bound))
    elif of.is_floating:
        elements = st.floats(-bound, bound, width=32)
    elif of.is_complex:
        part = st.floats(-bound, bound, width=32)
        elements = st.builds(complex, part, part)
    else:
        plain, elements = np.dtype(object), st.binary(max_size=8)
    drawn: SearchStrategy[Array] = of_numpy.arrays(plain, tuple(shape), elements=elements, fill=st.nothing())
    return drawn if plain == of.np_dtype or not of.is_floating else drawn.map(lambda array: array.astype(of.np_dtype))


def feeds(tensors: Iterable[Tensor], *, max_size: int = 4, bound: float = 10.0) -> SearchStrategy[dict[Tensor, Array]]:
    """Return a strategy of feed dicts.

    Args:
        tensors: the keys, such as placeholders of a known rank.
        max_size: the largest size in place of one that a tensor does not know. The first dimension, where it is
            unknown, has the same size for all of them, as a batch has.
        bound: as in ``arrays``.

    Raises:
        ValueError: for a tensor of unknown rank.
    """
    st, fed = _hypothesis(), list(tensors)
    for tensor in fed:
        if tensor.shape.sizes is None:
            raise ValueError(f"feeds of {tensor.name!r} cannot be drawn: its rank is unknown")

    @st.composite  # type: ignore[untyped-decorator]
    def drawn(draw: Any) -> dict[Tensor, Array]:
        batch = draw(st.integers(1, max_size))

        def size(at: int, known: int | None) -> int:
            return known if known is not None else batch if at == 0 else draw(st.integers(1, max_size))

        values = {}
        for tensor in fed:
            shape = [size(at, known) for at, known in enumerate(tensor.shape.sizes or ())]
            values[tensor] = draw(arrays(tensor.dtype, shape, bound=bound))
        return values

    strategy: SearchStrategy[dict[Tensor, Array]] = drawn()
    return strategy


def fault_schedules(
    jobs: Mapping[str, int] | None = None, *, most: int = 5, seconds: float = 10.0, kinds: Iterable[str] | None = None
) -> SearchStrategy[Schedule]:
    """Return a strategy of schedules of faults, for ``SimulatedCluster.begin``.

    Args:
        jobs: the number of tasks of each job; those of a simulated cluster by default if left out.
        most: the most faults of a schedule, which may have none.
        seconds: the virtual time within which they come.
        kinds: names of the kinds of faults; all if left out.

    Raises:
        ValueError: for an unknown kind.
    """
    from actorsession.testing.simulation.cluster import DEFAULT_JOBS
    from actorsession.testing.simulation.faults import Schedule

    st, tasks = _hypothesis(), DEFAULT_JOBS if jobs is None else jobs
    weights = None if kinds is None else dict.fromkeys(kinds, 1.0)

    def drawn(numbers: random.Random, count: int) -> Schedule:
        return Schedule.draw(numbers, tasks, count=count, seconds=seconds, weights=weights)

    drawn(random.Random(0), 0)  # refuses a kind at once that does not exist
    strategy: SearchStrategy[Schedule] = st.builds(drawn, st.randoms(use_true_random=False), st.integers(0, most))
    return strategy


def assert_agree(values: Sequence[Any], expected: Sequence[Array]) -> None:
    """Check that values have the same shapes, types and, nearly, elements.

    Raises:
        AssertionError: if they have not.
    """
    for value, by_numpy in zip(values, expected, strict=True):
        assert value.dtype == np.float32
        assert value.shape == by_numpy.shape
        # Products of twenty steps may be summed in another order by another BLAS kernel.
        np.testing.assert_allclose(value, by_numpy, rtol=2e-4, atol=2e-4)
