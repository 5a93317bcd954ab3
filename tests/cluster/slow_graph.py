"""A graph over three real processes, with a way that takes seconds on one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import actorsession as acts
from tests.cluster.kit import PATIENCE

WORKER_0 = "/job:worker/replica:0/task:0"
WORKER_1 = "/job:worker/replica:0/task:1"
LARGE = np.full([1500, 1500], 1e-3, np.float32)
LONG = 400


@dataclass(frozen=True)
class SlowGraph:
    """Tensors of one graph, by the way they go.

    Attributes:
        here: on worker 0 alone.
        across: from the ps over worker 0 to worker 1.
        long: products on worker 1, for seconds if it was asked for, then an addition on worker 0.
        marker: a variable on the ps that ``long`` raises by one before its products begin.
    """

    graph: acts.Graph
    x: acts.Tensor
    big: acts.Tensor
    here: acts.Tensor
    across: acts.Tensor
    long: acts.Tensor
    marker: Any
    init: acts.Operation


def slow_graph(products: int = 1) -> SlowGraph:
    """The graph, with so many products on the long way; ``LONG`` of them take seconds."""
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder(acts.float32, [], name="x")
        with acts.device("/job:ps/task:0"):
            bias = acts.Variable(10.0, name="bias")
            marker = acts.Variable(0.0, name="marker")
            begun = marker.assign_add(1.0)
        with acts.device("/job:worker/task:0"):
            here = acts.multiply(x, 2.0, name="here")
            sum_ = acts.add(bias, here, name="sum")
        with acts.device("/job:worker/task:1"):
            across = acts.multiply(sum_, 3.0, name="across")
            big = product = acts.placeholder(acts.float32, [None, None], name="big")
            with acts.control_dependencies([begun]):
                product = acts.identity(product)
            for _ in range(products):
                product = acts.matmul(product, big) * 0.5
        with acts.device("/job:worker/task:0"):
            long = acts.reduce_sum(product) + 1.0
        init = acts.group(bias.initializer, marker.initializer)
    return SlowGraph(graph, x, big, here, across, long, marker, init)


async def eventually(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Asks again and again until a condition holds."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not await condition():  # noqa: ASYNC110 - the event is in another process
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"did not come true in {PATIENCE} s: {what}") from None


async def begin_long(session: Any, slow: SlowGraph) -> asyncio.Task[Any]:
    """Starts the long way and waits until worker 1 has been let go."""
    before = await session.run(slow.marker)
    run = asyncio.create_task(session.run(slow.long, {slow.big: LARGE}))

    async def begun() -> bool:
        return bool(await session.run(slow.marker) > before)

    await eventually(begun, "the long way has begun")
    return run
