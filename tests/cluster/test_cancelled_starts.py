"""Starts that are cancelled at any moment leave nothing, whatever is started."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import pytest

from actorsession import AsyncSession, ClusterSpec, ConfigProto, Graph, LocalCluster, RPCOptions, Server
from actorsession.cluster import ServerSettings
from actorsession.errors import FailedPreconditionError
from actorsession.testing import InProcessCluster
from tests.interruptions import End, interrupt_everywhere, run_counted

ONE = ClusterSpec({"worker": ["tcp://127.0.0.1:0"]})


@pytest.mark.parametrize("feature", ["", "metrics", "sidecar", "snapshots", "name", "unix"])
def test_a_server(feature: str, tmp_path: Path) -> None:
    address = {"unix": f"unix://{tmp_path}/socket", "name": "tcp://localhost:0"}.get(feature, "tcp://127.0.0.1:0")
    settings = {
        "metrics": ServerSettings(metrics_port=0),
        "sidecar": ServerSettings(sidecar=True),
        "snapshots": ServerSettings(snapshot_dir=tmp_path),
    }.get(feature)

    async def start() -> End:
        server = Server({"worker": [address]}, settings=settings)
        await server.start()
        return server.stop

    run_counted(interrupt_everywhere(start, lambda: not (tmp_path / "socket").exists()))


async def test_a_server_that_was_started_by_a_call_that_was_cancelled_can_be_started_again() -> None:
    server = Server(ONE)
    for moments in range(20):
        starting = asyncio.ensure_future(server.start())
        for _ in range(moments):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait({starting})
        if not starting.cancelled():
            break
    assert server.is_serving
    await server.stop()


def test_servers_of_one_process() -> None:
    async def start() -> End:
        cluster = InProcessCluster({"worker": 2})
        await cluster.start()
        return cluster.stop

    run_counted(interrupt_everywhere(start))


async def test_servers_of_one_process_of_which_one_cannot_be_started() -> None:
    cluster = InProcessCluster({"worker": 2})
    _, second = cluster.servers
    await second.start()
    with pytest.raises(FailedPreconditionError, match="was started already"):
        await cluster.start()
    assert not any(server.is_serving for server in cluster.servers)


@pytest.mark.process
@pytest.mark.slow
def test_processes() -> None:
    async def start() -> End:
        cluster = LocalCluster({"worker": 1}, restart=1)
        await cluster.start()
        return cluster.stop

    run_counted(interrupt_everywhere(start))


@pytest.mark.parametrize("over_wire", [False, True], ids=["direct", "link"])
def test_a_session(over_wire: bool) -> None:
    """The session at the master too, which nobody would close."""
    config = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=over_wire))

    async def start(server: Server) -> End:
        session = AsyncSession(server.target, Graph(), config)
        await session.__aenter__()
        return session.close

    async def main() -> None:
        async with Server(ONE) as server:
            await interrupt_everywhere(lambda: start(server), lambda: not server.statistics().worker_sessions)
            assert not server.statistics().sessions

    run_counted(main())


@pytest.mark.skipif(importlib.util.find_spec("aiohttp") is None, reason="the page needs aiohttp")
def test_the_page_of_a_cluster() -> None:
    from actorsession.dashboard import ClusterPoller, DashboardServer

    async def start(target: str) -> End:
        poller = ClusterPoller(target)
        page = DashboardServer(poller, "a cluster")

        async def end() -> None:
            await page.aclose()
            await poller.aclose()

        try:
            await poller.start()
            await page.start()
        except BaseException:
            await poller.aclose()
            raise
        return end

    async def main() -> None:
        async with Server(ONE) as server:
            await interrupt_everywhere(lambda: start(server.target))

    run_counted(main())
