"""Sessions that nobody uses: closed by their master after its idle limit."""

from __future__ import annotations

import asyncio

import pytest

from actorsession import AsyncSession, Graph, Server, ServerSettings, ops
from actorsession.config import ConfigProto
from actorsession.errors import AbortedError, InvalidArgumentError
from tests.cluster.kit import W1, Gate, eventually, in_process, on, soon

# Longer than a loop stands still between the creation of a session and its first use.
LIMIT = 0.5


async def test_an_idle_session_is_closed_everywhere_and_can_be_attached_anew(way: str, graph: Graph) -> None:
    """The next call says so; ``reattach`` goes on, and variables are still where they were."""
    with on(W1):
        v = ops.Variable(1.0)
        add = v.assign_add(1.0)
    async with in_process(session_gc_seconds=LIMIT) as cluster:
        session = AsyncSession(cluster.target(), graph=graph)
        await soon(session.run(v.initializer))
        await eventually(lambda: not any(s.sessions or s.worker_sessions for s in cluster.statistics().values()))
        with pytest.raises(AbortedError, match=r"was idle for 0\.5 s, the limit of the server"):
            await soon(session.run(add))
        found = await soon(session.reattach())
        assert (found.restarted, found.lost) == ((), ())
        assert await soon(session.run(add)) == 2.0
        await session.close()


async def test_a_session_with_a_step_under_way_is_not_idle(graph: Graph) -> None:
    """A step that is held for longer than it takes to collect a session that is idle."""
    x = ops.placeholder("float32", [])
    gate = Gate("held beyond the idle limit")
    held = gate(x)
    async with in_process(config=ConfigProto(inter_op_parallelism_threads=2), session_gc_seconds=LIMIT) as cluster:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            run = asyncio.create_task(session.run(held, {x: 1.0}))
            await soon(gate.wait_entered())
            for _ in range(2):
                other = AsyncSession(cluster.target(), graph=graph)
                await soon(other.list_devices())
                # It came later and was collected: by then this one would have been, too.
                await eventually(lambda: cluster.servers[0].statistics().sessions == 1)
                await other.close()
            gate.open()
            assert await soon(run) == 1.0


async def test_a_session_with_an_open_partial_run_is_not_idle(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    async with in_process(session_gc_seconds=LIMIT) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        handle = await soon(session.partial_run_setup([y], [x]))
        other = AsyncSession(cluster.target(), graph=graph)
        await soon(other.list_devices())
        await eventually(lambda: cluster.servers[0].statistics().sessions == 1)
        assert await soon(session.partial_run(handle, y, {x: 1.0})) == 2.0
        await other.close()


@pytest.mark.parametrize("seconds", [-1.0, -0.001])
def test_a_negative_limit_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidArgumentError, match="session_gc_seconds is 0 or more"):
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(session_gc_seconds=seconds))
