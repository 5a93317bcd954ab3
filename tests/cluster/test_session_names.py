"""``session_metadata`` over a master: one living session per name and version, told by every run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, GraphDef, Session, ops
from actorsession.actors import Deadline, registry
from actorsession.config import ConfigProto, Experimental, RunMetadata, RunOptions, SessionMetadata, TraceLevel
from actorsession.errors import InvalidArgumentError
from actorsession.messages import CloseSession, CreateSession, SessionCreated
from tests.cluster.kit import PATIENCE, W0, W1, InProcess, on, soon
from tests.cluster.master_access import Way, way

__all__ = ["way"]
TAKEN = "'model' with version 1 lives already"


def named(name: str = "model", version: int = 1) -> Experimental:
    return Experimental(session_metadata=SessionMetadata(name=name, version=version))


async def test_a_living_session_has_its_name_and_version_alone(way: Way, graph: Graph) -> None:
    def session(name: str = "model", version: int = 1) -> AsyncSession:
        return AsyncSession(way.target, graph=graph, config=way.config(experimental=named(name, version)))

    y = ops.constant(1.0) + 1.0
    second = session()
    async with session() as first:
        assert await soon(first.run(y)) == 2.0
        with pytest.raises(InvalidArgumentError, match=TAKEN):
            await soon(second.run(y))
        for name, version in (("model", 2), ("other", 1)):
            async with session(name, version) as other:
                assert await soon(other.run(y)) == 2.0
    async with second:
        assert await soon(second.run(y)) == 2.0


async def test_every_run_tells_the_name_and_version_of_its_session(way: Way, graph: Graph) -> None:
    """Asked for or not, as in a session of this process."""
    y = on(W1, lambda: ops.constant(1.0) + 1.0)
    metadata = RunMetadata()
    async with AsyncSession(way.target, graph=graph, config=way.config(experimental=named("digits", 3))) as session:
        for options in (None, RunOptions(trace_level=TraceLevel.FULL_TRACE)):
            assert await soon(session.run(y, options=options, run_metadata=metadata)) == 2.0
            assert metadata.session_metadata == SessionMetadata(name="digits", version=3)
            assert (metadata.step_stats is not None) == (options is not None)
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        await soon(session.run(y, run_metadata=metadata))
        assert metadata.session_metadata is None


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_negative_version_is_refused_where_the_session_is_made(kind: Any, graph: Graph) -> None:
    with pytest.raises(InvalidArgumentError, match="at least 0, got -5 for 'model'"):
        kind("tcp://127.0.0.1:1", graph=graph, config=ConfigProto(experimental=named(version=-5)))


async def test_of_two_sessions_that_are_created_at_once_one_gets_the_name(cluster: InProcess, graph: Graph) -> None:
    config = ConfigProto(experimental=named())
    sessions = [AsyncSession(cluster.target(), graph=graph, config=config) for _ in range(2)]
    found = await soon(asyncio.gather(*[s.list_devices() for s in sessions], return_exceptions=True))
    (error,) = [f for f in found if isinstance(f, BaseException)]
    assert isinstance(error, InvalidArgumentError)
    for session in sessions:
        await session.close()


async def test_each_master_has_names_of_its_own(cluster: InProcess, graph: Graph) -> None:
    config = ConfigProto(experimental=named())
    async with (
        AsyncSession(cluster.target(W0), graph=graph, config=config) as one,
        AsyncSession(cluster.target(W1), graph=graph, config=config) as other,
    ):
        await soon(one.list_devices())
        await soon(other.list_devices())


async def test_a_session_that_cannot_be_created_takes_no_name(cluster: InProcess, graph: Graph) -> None:
    config = ConfigProto(experimental=named())
    bad = Graph()
    with bad.as_default(), bad.device("/job:nowhere"):
        one = ops.constant(1.0)
    session = AsyncSession(cluster.target(), graph=bad, config=config)
    with pytest.raises(InvalidArgumentError, match="nowhere"):
        await soon(session.run(one))
    async with AsyncSession(cluster.target(), graph=graph, config=config) as other:
        await soon(other.list_devices())
    await session.close()


async def test_a_reset_frees_the_names(cluster: InProcess, graph: Graph) -> None:
    config = ConfigProto(experimental=named())
    session = AsyncSession(cluster.target(), graph=graph, config=config)
    await soon(session.list_devices())
    await soon(AsyncSession.reset(cluster.target()))
    async with AsyncSession(cluster.target(), graph=graph, config=config) as other:
        await soon(other.list_devices())
    await session.close()


@pytest.mark.usefixtures("over_links")
async def test_a_session_keeps_its_name_when_it_connects_again(cluster: InProcess, graph: Graph) -> None:
    """Whether the master has noticed by then that the first link is gone, or not."""
    config = ConfigProto(experimental=named())
    y = ops.constant(1.0) + 1.0
    async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
        for _ in range(5):
            assert await soon(session.run(y)) == 2.0
            await session._session.connection.master.hang_up(0.0)  # type: ignore[attr-defined]
            await soon(session.reattach())
        assert await soon(session.run(y)) == 2.0


# -- clients of any kind ---------------------------------------------------------------------------
def request(number: int, client: str, version: int = 1) -> CreateSession:
    return CreateSession(
        graph=GraphDef(()).to_wire(),
        config=ConfigProto(experimental=named(version=version)).to_wire(),
        target="",
        request_id=f"{client}-{number}",
        client=client,
    )


async def test_a_master_refuses_a_negative_version_whoever_asks(cluster: InProcess) -> None:
    master: Any = registry.lookup(cluster.target())
    with pytest.raises(InvalidArgumentError, match="at least 0, got -5 for 'model'"):
        await master.ask(request(1, "a", -5), Deadline.after(PATIENCE))
    assert all(not s.sessions for s in cluster.statistics().values())


async def test_a_client_that_creates_its_session_anew_keeps_its_name(cluster: InProcess) -> None:
    """1. A client has a named session. 2. Its link breaks, of which the master knows nothing yet.
    3. It creates the session anew and gets the name. 4. The end of the earlier one does not free it."""
    master: Any = registry.lookup(cluster.target())
    limit = Deadline.after(PATIENCE)
    earlier: SessionCreated = await master.ask(request(1, "a"), limit)
    newer: SessionCreated = await master.ask(request(2, "a"), limit)
    assert newer.session_handle != earlier.session_handle
    await master.ask(CloseSession(session_handle=earlier.session_handle), limit)
    for number, client in enumerate(("b", "")):
        with pytest.raises(InvalidArgumentError, match=TAKEN):
            await master.ask(request(number, client), limit)
    await master.ask(CloseSession(session_handle=newer.session_handle), limit)
    last: SessionCreated = await master.ask(request(1, "b"), limit)
    await master.ask(CloseSession(session_handle=last.session_handle), limit)
