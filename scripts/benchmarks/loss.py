"""Measurement of how soon a step names a task that was killed or stopped; runs on its own in ten seconds.

    .venv/bin/python scripts/benchmarks/loss.py [--repeats 5] [--signals SIGKILL SIGSTOP]

A step waits for a value of the second of two workers. That process gets SIGKILL or SIGSTOP, and the script
prints the time from the signal to the error of the step, and the last error. A stopped process keeps its
connections, so that only its silence can tell: 5 s, the default lease.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import time

import actorsession as acts


async def failure(session: acts.AsyncSession, fetch: acts.Tensor) -> tuple[float, acts.errors.OpError]:
    """Return when a step has failed, and its error."""
    try:
        await session.run(fetch)
    except acts.errors.UnavailableError as error:
        return time.perf_counter(), error
    raise RuntimeError("the step has survived the loss of its task")


async def seconds_until_named(number: signal.Signals) -> tuple[float, str]:
    """Return the seconds from a signal to a worker until the error of a step, and the error."""
    with acts.Graph().as_default() as graph:
        with acts.device("/job:worker/task:1"):
            awaited = acts.FIFOQueue(1, ["float32"], [[]]).dequeue(name="awaited")
        with acts.device("/job:worker/task:0"):
            end = awaited + 1.0
    async with (
        acts.LocalCluster({"worker": 2}) as cluster,
        acts.AsyncSession(cluster.target("worker", 0), graph=graph) as session,
        asyncio.TaskGroup() as group,
    ):
        step = group.create_task(failure(session, end))
        while "awaited" not in str(await session.why()):
            pass
        begin = time.perf_counter()
        cluster.process("worker", 1).send_signal(number)
        failed, error = await step
    if error.task != "/job:worker/replica:0/task:1":
        raise RuntimeError(f"the error names another task: {error}")
    return failed - begin, str(error)


async def main(repeats: int, signals: list[str]) -> None:
    """Measure the signals and print the medians."""
    for number in map(signal.Signals.__getitem__, signals):
        found = [await seconds_until_named(number) for _ in range(repeats)]
        times = [took for took, _ in found]
        print(f"{number.name}: {statistics.median(times) * 1e3:,.0f} ms (median of {repeats})")
        print(f"  {found[-1][1]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="how often each signal is sent")
    names = ("SIGKILL", "SIGSTOP")
    parser.add_argument("--signals", choices=names, nargs="+", default=names, help="which are sent")
    options = parser.parse_args()
    asyncio.run(main(options.repeats, list(options.signals)))
