"""A cluster that is slow on purpose, to practise seeing why: an expensive node, a link with a delay, and a tensor
that crosses it to and fro.

Run it to read what ``session.explain`` says of its step, and how long the step takes. With ``--trace FILE`` it traces
one step and prints what took its time; with ``--hold`` it goes on until it is interrupted, so that the commands of
docs/observability.md can look at it.
"""

import argparse
import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import numpy as np

import actorsession as acts
from actorsession.cluster import update_cluster
from actorsession.observe import critical_path, write_trace

FAR = "/job:worker/replica:0/task:1"


def build() -> tuple[acts.Tensor, acts.Tensor]:
    x = acts.placeholder(acts.float32, [None, 256], name="x")
    with acts.device("/job:ps/task:0"):
        w = acts.Variable(np.full((256, 256), 0.01, np.float32), name="w")
    with acts.device("/job:worker/task:0"):
        hidden = acts.matmul(x, w, name="hidden")
    with acts.device("/job:worker/task:1"):
        activation = acts.tanh(hidden, name="activation")  # crosses the slow link to and fro
    with acts.device("/job:worker/task:0"):
        output = acts.matmul(activation, w, name="output")
        wide = acts.fill([2000, 2000], acts.reduce_mean(output), name="wide")
        expensive = acts.matmul(wide, wide, name="expensive")
        loss = acts.reduce_mean(expensive, name="loss")
    return x, loss


class SlowLink:
    """A port that passes everything on to another address, a while later."""

    def __init__(self, target: str, delay: float) -> None:
        self.target, self.delay = target, delay
        self.address = ""

    async def __aenter__(self) -> "SlowLink":
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.address = f"tcp://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.server.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.target.removeprefix("tcp://").rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        with contextlib.suppress(OSError):
            await asyncio.gather(self.carry(reader, back), self.carry(there, writer))

    async def carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while data := await source.read(2**16):
            loop.call_later(self.delay, sink.write, data)
        loop.call_later(self.delay, sink.close)


def show(explanation: acts.Explanation, picture: Path | None) -> None:
    print(explanation)
    if picture is not None:
        picture.write_text(explanation.to_svg())


async def trace(session: acts.AsyncSession, loss: acts.Tensor, feeds: dict[Any, Any], file: Path) -> None:
    traced, metadata = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE), acts.RunMetadata()
    for _ in range(2):  # before the first, the clocks of the tasks are compared
        await session.run(loss, feeds, options=traced, run_metadata=metadata)
    assert metadata.step_stats is not None
    path = critical_path(metadata.step_stats)
    print(f"\n{path}")
    write_trace(file, metadata.step_stats)
    file.with_suffix(".svg").write_text(path.to_svg())


async def main(delay: float, steps: int, hold: bool, picture: Path | None, file: Path | None) -> None:
    x, loss = build()
    feeds = {x: np.ones((1000, 256), np.float32)}
    async with (
        acts.LocalCluster({"ps": 1, "worker": 2}, protocol="tcp") as cluster,
        SlowLink(cluster.target("worker", 1), delay) as link,
    ):
        tasks = {**cluster.spec.tasks(), FAR: link.address}
        for address in cluster.spec.tasks().values():
            await update_cluster(address, tasks)
        async with acts.AsyncSession(cluster.target("worker", 0)) as session:
            await session.run(acts.global_variables_initializer())
            show(await session.explain(loss, feeds), picture)
            print(f"\nthe cluster: {cluster.target('worker', 0)}")
            done = 0
            while hold or done < steps:
                began = time.perf_counter()
                await session.run(loss, feeds)
                done += 1
                print(f"step {done} took {(time.perf_counter() - began) * 1000:.0f} ms", flush=True)
            if file is not None:
                await trace(session, loss, feeds, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds on the slow link, each way")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--hold", action="store_true", help="run steps until interrupted")
    parser.add_argument("--picture", type=Path, help="an .svg file to which the drawing of the step is written")
    parser.add_argument("--trace", type=Path, help="a .json file for the trace of a step; the drawing is beside it")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(options.delay, options.steps, options.hold, options.picture, options.trace))
