"""Real traffic: the frames of a session over tcp, as each connection carried them.

Two servers and a session of this process talk over sockets, and every frame that one of them writes is
kept. What is kept is replayed, whole or spoilt, to servers in other processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorsession import AsyncSession, ConfigProto, Graph, RPCOptions, RunMetadata, RunOptions, Server, TraceLevel, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import OpError
from transports import Frame
from transports.stream.connection import StreamConnection

W0, W1 = (f"/job:worker/replica:0/task:{index}" for index in range(2))
OVER_WIRE = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True))


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one end of one connection wrote after the hello, in order.

    Attributes:
        reader: the task that it was written to, or "client".
        frames: copies of what was written.
    """

    reader: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a session and two servers said to each other.

    Attributes:
        conversations: one for each end of each connection.
        incarnations: of the devices, by name; they are part of the keys of tensors.
    """

    conversations: tuple[Conversation, ...]
    incarnations: dict[str, int]


@contextmanager
def _kept() -> Iterator[dict[StreamConnection, list[Frame]]]:
    """Keeps every frame that is written to a socket of this process."""
    written: dict[StreamConnection, list[Frame]] = {}
    write, write_short = StreamConnection.write, StreamConnection.write_short

    def keep(self: StreamConnection, frame: Frame, *, bulk: bool = False) -> None:
        copy = Frame(bytes(frame.header), tuple(bytes(memoryview(s)) for s in frame.segments))
        written.setdefault(self, []).append(copy)
        write(self, frame, bulk=bulk)

    StreamConnection.write = keep  # type: ignore[method-assign]
    StreamConnection.write_short = lambda self, header: False  # type: ignore[method-assign]
    try:
        yield written
    finally:
        StreamConnection.write, StreamConnection.write_short = write, write_short  # type: ignore[method-assign]


async def record() -> Recording:
    """The traffic of a session that does a little of everything, on two tasks."""
    jobs = {"worker": ["127.0.0.1:0", "127.0.0.1:0"]}
    servers = [Server(jobs, "worker", index) for index in range(2)]
    with _kept() as written:
        for server in servers:
            await server.start()
        for server in servers:
            server.learn_peers({"worker": [s.target for s in servers]})
        incarnations = await use(servers[0].target)
        for server in servers:
            await server.stop()
    return Recording(tuple([Conversation(c.peer.task, tuple(frames)) for c, frames in written.items()]), incarnations)


async def use(target: str) -> dict[str, int]:
    """A session that creates, extends, runs, fails, feeds large arrays, runs in parts, and is closed.

    Returns:
        The incarnation of each device.
    """
    with Graph().as_default() as graph:
        with graph.device(W0):
            x = ops.placeholder("float32", [None], name="x")
            y = ops.Variable(np.arange(3, dtype=np.float32), name="v") * 2.0 + x
        with graph.device(W1):
            z = ops.reduce_sum(y * y, name="z")
            back = z + 1.0
        init = ops.global_variables_initializer()
        async with AsyncSession(target, graph, OVER_WIRE) as session:
            devices = await session.list_devices()
            await session.run(init)
            fed = {x: np.ones(3, np.float32)}
            for _ in range(4):  # the first brings its plan along
                assert await session.run(z, fed) == 1.0 + 9.0 + 25.0
            traced = RunOptions(trace_level=TraceLevel.FULL_TRACE)
            await session.run([y, back], fed, options=traced, run_metadata=RunMetadata())
            watching = DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="z")])
            await session.run(z, fed, options=RunOptions(debug_options=watching))
            for options in (None, traced):
                with suppress(OpError):
                    await session.run(z, {x: np.ones(4, np.float32)}, options)
            with graph.device(W1):
                w = ops.reshape(ops.placeholder("float64", [None], name="w"), [-1, 2])
                total = ops.reduce_sum(w) + ops.cast(z, "float64")
            large = np.arange(8192, dtype=np.float64)
            for _ in range(3):
                assert await session.run(total, {"w:0": large, **fed}) == large.sum() + 35.0
            await _in_parts(session, x, y, z)
            with graph.device(W1):
                queue = ops.FIFOQueue(1, "float32")
                fill, take = queue.enqueue(z), queue.dequeue()
            await session.run(fill, fed)
            assert await session.run(take) == 35.0  # which the client confirms
            for options in (None, traced):
                running = asyncio.ensure_future(session.run(total, {"w:0": large, **fed}, options))
                await asyncio.sleep(0)
                running.cancel()
                await asyncio.wait({running})
            return {device.name: device.incarnation for device in devices}


async def _in_parts(session: AsyncSession, x: Any, y: Any, z: Any) -> None:
    """A partial run, and one that is given up."""
    fed = {x: np.ones(3, np.float32)}
    for both in (True, False):
        handle = await session.partial_run_setup([y, z], [x])
        assert (await session.partial_run(handle, y, fed)).tolist() == [1.0, 3.0, 5.0]
        if both:
            assert await session.partial_run(handle, z) == 35.0
