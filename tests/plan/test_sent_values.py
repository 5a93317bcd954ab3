"""Values that are sent to another task: reads lend, and results are written where peers can read them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from actorsession import Graph, Tensor, ops
from actorsession.plan.codegen.fusion import LEAST as BLOCKS_ABOVE
from tests.plan.kit import Made

SIZE = 2**13  # of float32: the least that is worth sharing


def placeholder(graph: Graph, *shape: int | None) -> Tensor:
    with graph.as_default():
        return ops.placeholder("float32", shape)


def lines(made: Made, pattern: str) -> list[str]:
    return [line for line in made.source() if re.search(pattern, line)]


@pytest.mark.parametrize("view", [lambda x: x, ops.identity, lambda x: ops.reshape(x, [2, -1])])
@pytest.mark.parametrize("sent", [True, False])
def test_a_read_that_is_sent_lends(view: Callable[[Tensor], Tensor], sent: bool) -> None:
    with (graph := Graph()).as_default():
        variable = ops.Variable(np.arange(SIZE, dtype=np.float32))
        y = view(variable.value())
    made = Made(graph, [y], own_fetches=not sent)
    assert len(lines(made, r"\.lend\(\)")) == sent
    assert len(lines(made, r"\.read\(\)")) == (not sent)


def test_a_read_that_only_feeds_a_computation_does_not_lend() -> None:
    with (graph := Graph()).as_default():
        y = ops.Variable(np.zeros(SIZE, np.float32)).value() + 1.0
    assert not lines(Made(graph, [y], own_fetches=False), "lend")


BUILDS: dict[str, Callable[[Tensor], Tensor]] = {
    "ufunc": lambda x: x + 1.0,
    "chain": lambda x: ops.tanh(x * 2.0) - x,
    "other-function": lambda x: ops.maximum(x, 0.5),
    "product": lambda x: ops.matmul(ops.reshape(x, [-1, 1]), ops.reshape(x, [1, -1])[:, :64]),
    "transposed-product": lambda x: ops.matmul(ops.reshape(x, [64, -1]), ops.reshape(x, [64, -1]), transpose_a=True),
}


@pytest.mark.parametrize("name", BUILDS)
def test_a_large_result_that_is_sent_is_written_to_a_new_array(name: str) -> None:
    graph = Graph()
    x = placeholder(graph, SIZE)
    with graph.as_default():
        y = BUILDS[name](x)
    fed = np.linspace(-1, 1, SIZE, dtype=np.float32)
    plain, sent = Made(graph, [y], [x]), Made(graph, [y], [x], own_fetches=False)
    assert not lines(plain, r"= empty\(")
    assert len(lines(sent, r"= empty\(")) == 1
    np.testing.assert_array_equal(sent.run(fed)[0], plain.run(fed)[0])


def test_blocks_are_written_to_a_new_array_too() -> None:
    graph = Graph()
    x = placeholder(graph, 2 * BLOCKS_ABOVE)
    with graph.as_default():
        y = ops.tanh(x * 2.0 + x) - x
    fed = np.linspace(-1, 1, 2 * BLOCKS_ABOVE, dtype=np.float32)
    sent = Made(graph, [y], [x], own_fetches=False)
    assert lines(sent, r"Blockwise\(.*, \[0\]\)$")
    np.testing.assert_array_equal(sent.run(fed)[0], Made(graph, [y], [x]).run(fed)[0])


SMALL: dict[str, Callable[[Graph], tuple[Tensor, Tensor]]] = {
    "few-bytes": lambda graph: ((x := placeholder(graph, SIZE - 1)), x + 1.0),
    "unknown-size": lambda graph: ((x := placeholder(graph, None)), x + 1.0),
    "no-such-function": lambda graph: ((x := placeholder(graph, SIZE)), ops.cumsum(x)),
}


@pytest.mark.parametrize("name", SMALL)
def test_other_results_are_made_as_usual(name: str) -> None:
    graph = Graph()
    with graph.as_default():
        x, y = SMALL[name](graph)
    assert not lines(Made(graph, [y], [x], own_fetches=False), r"= empty\(")
