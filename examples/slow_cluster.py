"""A step over two workers that is slow for three reasons, to be found in its trace.

Worker 1 finds the eigenvectors of a large matrix; the link between the workers delays everything by 50 ms in
each direction; a tensor of 4 MB crosses that link to worker 1 and another one comes back.
``docs/observability.md`` reads what this prints.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np

import actorsession as acts
from actorsession.cluster import update_cluster
from actorsession.config import StepStats
from actorsession.observe import critical_path, write_trace

DELAY = 0.05
WORKERS = [f"/job:worker/replica:0/task:{index}" for index in range(2)]


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes bytes on when they are as old as the link delays them."""
    loop = asyncio.get_running_loop()
    late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        while data := await reader.read(2**16):
            late.put_nowait((loop.time() + DELAY, data))
        late.put_nowait((0.0, b""))

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        while (item := await late.get())[1]:
            await asyncio.sleep(item[0] - loop.time())
            writer.write(item[1])
    writer.close()


async def delayed(address: str) -> asyncio.Server:
    """A way to a server that delays bytes in both directions."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(address.removeprefix("unix://"))
        await asyncio.gather(pass_on(reader, server_writer), pass_on(server_reader, writer), return_exceptions=True)

    return await asyncio.start_server(serve, "127.0.0.1", 0)


@asynccontextmanager
async def slow_cluster() -> AsyncIterator[str]:
    """Two workers with a long way between them; the target of the first."""
    os.environ["ACTORSESSION_SHARED_MEMORY"] = "0"  # as between hosts: arrays take the delayed way
    async with acts.LocalCluster({"worker": 2}) as cluster:
        first, second = (cluster.processes[task].address for task in WORKERS)
        async with await delayed(second) as way:
            port = way.sockets[0].getsockname()[1]
            await update_cluster(first, {WORKERS[0]: first, WORKERS[1]: f"tcp://127.0.0.1:{port}"})
            yield first


def slow_step() -> tuple[acts.Tensor, acts.Tensor]:
    """The step: what it is fed, and what is fetched."""
    x = acts.placeholder(acts.float32, [1000, 1000], name="x")
    with acts.device(WORKERS[0]):
        symmetric = acts.add(x, acts.transpose(x), name="symmetric")
    with acts.device(WORKERS[1]):
        _, vectors = acts.linalg.eigh(symmetric, name="vectors")
    with acts.device(WORKERS[0]):
        return x, acts.reduce_max(vectors, name="largest")


async def traced_step() -> StepStats:
    """Runs the step twice, and returns the statistics of the second: the first is planned, and compares clocks."""
    x, largest = slow_step()
    feeds = {x: np.random.default_rng(1).normal(size=[1000, 1000])}
    traced = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE)
    metadata = acts.RunMetadata()
    async with slow_cluster() as target, acts.AsyncSession(target) as session:
        for _ in range(2):
            await session.run(largest, feeds, options=traced, run_metadata=metadata)
    assert metadata.step_stats is not None
    return metadata.step_stats


if __name__ == "__main__":
    stats = asyncio.run(traced_step())
    path = critical_path(stats)
    print(path)
    Path("slow_step.svg").write_text(path.to_svg(), encoding="utf-8")
    write_trace("slow_step.json", stats)
