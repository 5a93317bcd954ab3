"""A graph over three real processes, with a chain of products on one of them."""

from __future__ import annotations

from dataclasses import dataclass

import actorsession as acts


@dataclass(frozen=True)
class SlowGraph:
    """Tensors of one graph, by the way they go.

    Attributes:
        here: on worker 0 alone.
        across: from the ps over worker 0 to worker 1.
    """

    graph: acts.Graph
    x: acts.Tensor
    here: acts.Tensor
    across: acts.Tensor
    init: acts.Operation


def slow_graph(products: int = 1) -> SlowGraph:
    """The graph, which is larger by a number of products that nobody fetches."""
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder(acts.float32, [], name="x")
        with acts.device("/job:ps/task:0"):
            bias = acts.Variable(10.0, name="bias")
        with acts.device("/job:worker/task:0"):
            here = acts.multiply(x, 2.0, name="here")
            sum_ = acts.add(bias, here, name="sum")
        with acts.device("/job:worker/task:1"):
            across = acts.multiply(sum_, 3.0, name="across")
            product = big = acts.placeholder(acts.float32, [None, None], name="big")
            for _ in range(products):
                product = acts.matmul(product, big) * 0.5
    return SlowGraph(graph, x, here, across, bias.initializer)
