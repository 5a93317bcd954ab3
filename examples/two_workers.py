"""One step over two processes: the first worker makes numbers, the second adds them up."""

from __future__ import annotations

import asyncio

import numpy as np

import actorsession as acts


async def main() -> None:
    """Starts the processes, runs a step that crosses them, ends them."""
    numbers = acts.placeholder(acts.float32, shape=(None,), name="numbers")
    with acts.device("/job:worker/task:0"):
        squares = numbers * numbers
    with acts.device("/job:worker/task:1"):
        total = acts.reduce_sum(squares)
    async with acts.LocalCluster({"worker": 2}) as cluster:
        async with acts.AsyncSession(cluster.target("worker", 0)) as session:
            print("sum of squares:", await session.run(total, {numbers: np.arange(5.0)}))


asyncio.run(main())
