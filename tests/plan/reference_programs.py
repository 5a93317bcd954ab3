"""Small programs of reads and writes of reference variables that nothing orders, and how to build them.

A program is the values of its variables and some statements, each an expression of Python. ``RECORDED`` are
random programs for which TensorFlow 2.21 gave one result in each of 500 runs (200 in each of two sessions, 20
in each of five), with what the statements gave and what the variables held at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import actorsession as acts
from actorsession import ops

Rows: TypeAlias = Sequence[Sequence[float]]
Place: TypeAlias = Callable[[int], AbstractContextManager[Any]]

X = [0.7, -0.4]


class Program:
    """A program as a graph of its own.

    Args:
        values: of its variables ``a`` and ``b``.
        statements: in the order of building.
        place: from the number of a variable or statement to the device scope in which it is built.
    """

    def __init__(self, values: Rows, statements: Sequence[str], place: Place = lambda index: nullcontext()) -> None:
        self.graph = acts.Graph()
        with self.graph.as_default():
            self.x = acts.placeholder("float32", [2], name="x")
            self.variables = list(self._variables(values, place))
            names = {"a": self.variables[0], "b": self.variables[-1], "x": self.x, "train": self._train}
            names |= {"tanh": ops.tanh, "sin": ops.sin, "square": ops.square, "add": ops.add}
            names |= {"mul": ops.multiply, "maximum": ops.maximum, "c": lambda v: acts.constant([v, v])}
            self.fetches = []
            for index, text in enumerate(statements):
                with place(index):
                    made = eval(text, names)  # noqa: S307
                self.fetches.append(made.op if ".assign" in text else made)
            self.start = ops.global_variables_initializer()
            self.ends = [variable.value() for variable in self.variables]

    def _variables(self, values: Rows, place: Place) -> Iterator[Any]:
        for index, value in enumerate(values):
            with place(index):
                yield ops.Variable(value, name="ab"[index], use_resource=False)

    def _train(self, loss: Any) -> acts.Operation:
        slopes = acts.gradients(ops.reduce_sum(loss * self.x), self.variables)
        pairs = [(g, v) for g, v in zip(slopes, self.variables, strict=True) if g is not None]
        if not pairs:
            return ops.no_op()
        return acts.train.GradientDescentOptimizer(0.1).apply_gradients(pairs)


def same(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(
        f is w is None or (w is not None and np.allclose(f, w, rtol=1e-3, atol=2e-4, equal_nan=True))
        for f, w in zip(found, wanted, strict=True)
    )


RECORDED: list[tuple[Rows, list[str], list[Any], Rows]] = [
    tuple(json.loads(line)) for line in Path(__file__).with_suffix(".jsonl").read_text().splitlines()
]
