"""Clusters on engines: what they do over any launcher, shown with one whose tasks are in this process."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ClusterSpec, ConfigProto, Graph, RPCOptions, Server, Session, opsets
from actorsession.cluster import TaskEnd, read_statistics, stop_server
from actorsession.cluster.admin.admin_client import keep_server
from actorsession.engines import (
    DaskCluster,
    EngineCluster,
    RayCluster,
    TaskFate,
    TaskOrder,
    engine_process,
    ray_cluster,
    task_host,
)
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from tests.cluster.kit import PATIENCE, PS0, W0, W1, eventually, soon
from tests.engines.kit import Desk, DeskCluster, model, reattached
from tests.interruptions import End, interrupt_everywhere, run_counted
from tests.loops import cancelled
from tests.rows import refusing
from tests.transports.authority import Authority

FED = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
EXPECTED = float(np.sum(np.arange(4, dtype=np.float32) * FED))


# -- start -----------------------------------------------------------------------------------------


async def test_a_step_runs_over_tasks_that_an_engine_has_placed(graph: Graph) -> None:
    v, fed, out = model(graph)
    async with DeskCluster({"ps": 1, "worker": 2}) as cluster:
        assert cluster.desk.opened == 3
        assert sorted(cluster.spec.tasks()) == [PS0, W0, W1]
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            assert await soon(session.run(out, {fed: FED})) == EXPECTED
        assert sorted(await soon(cluster.statistics())) == [PS0, W0, W1]
        assert {status.node for status in cluster.status().values()} == {"desk"}
        assert all(status.alive for status in cluster.status().values())
        assert repr(cluster) == "<DeskCluster {'ps': 1, 'worker': 2}, 3 of 3 processes alive>"
    assert cluster.desk.closed


async def test_each_task_is_ordered_with_the_resources_of_its_job() -> None:
    async with DeskCluster({"ps": 1, "worker": 1}, resources={"worker": {"num_cpus": 2.0}}) as cluster:
        assert {o.task: dict(o.resources) for o in cluster.desk.orders} == {PS0: {}, W0: {"num_cpus": 2.0}}


test_settings_that_mean_nothing_are_refused = refusing(
    ({"resources": {"wrker": {}}}, r"given for \['wrker'\]; the jobs are \['worker'\]"),
    ({"keep": 0.0}, InvalidArgumentError, "kept for more than 0 seconds, got 0"),
    ({"imports": "one"}, TypeError, "a sequence of names of modules, got 'one'"),
    ({"restart": -1}, "0 or more; got -1"),
    of=lambda settings: DeskCluster({"worker": 1}, **settings),
)


async def test_what_an_engine_does_not_have_ends_the_start_and_leaves_nothing() -> None:
    cluster = DeskCluster({"ps": 1, "worker": 1})
    cluster.desk.refusal = ResourceExhaustedError("2 seats asked, 1 there")
    with pytest.raises(ResourceExhaustedError, match="2 seats asked, 1 there"):
        await cluster.start()
    assert cluster.desk.closed
    with pytest.raises(FailedPreconditionError, match="the cluster was stopped"):
        await cluster.add("worker")


async def test_a_cluster_on_an_engine_is_started_once() -> None:
    cluster = DeskCluster({"worker": 1})
    starting = asyncio.create_task(cluster.start())
    await asyncio.sleep(0)
    with pytest.raises(FailedPreconditionError, match="is being started"):
        await cluster.start()
    await soon(starting)
    with pytest.raises(FailedPreconditionError, match="was started already"):
        await cluster.start()
    assert cluster.desk.opened == 1
    await soon(asyncio.gather(cluster.stop(), cluster.stop()))
    assert cluster.desk.closed == 1
    with pytest.raises(FailedPreconditionError, match="was stopped"):
        await cluster.__aenter__()


async def test_a_stop_during_the_start_gives_back_what_the_engine_has_reserved() -> None:
    cluster = DeskCluster({"worker": 1})
    starting = asyncio.create_task(cluster.start())
    await eventually(lambda: bool(cluster.desk.orders))
    await soon(cluster.stop())
    with pytest.raises(FailedPreconditionError, match="stopped while it was being started"):
        await starting
    assert cluster.desk.closed == 1
    assert not any(process.alive for process in cluster.processes.values())
    await eventually(lambda: not any(place.host.serving for place in cluster.desk.places.values()))


@pytest.mark.parametrize("change", ["add", "restart"])
async def test_a_stop_while_a_task_is_placed_fails_that_change_and_cancels_nobody(change: str) -> None:
    cluster = DeskCluster({"worker": 1})
    await cluster.start()
    cluster.desk.free.clear()
    changing = asyncio.create_task(getattr(cluster, change)("worker"))
    await eventually(lambda: len(cluster.desk.orders) == 2)
    await soon(cluster.stop())
    with pytest.raises(UnavailableError, match="its cluster has ended it while it was started"):
        await soon(changing)
    assert not any(place.host.serving for place in cluster.desk.places.values())


def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing() -> None:
    async def start() -> End:
        cluster = DeskCluster({"worker": 2}, restart=1)
        await cluster.start()
        return cluster.stop

    run_counted(interrupt_everywhere(start))


async def test_a_task_that_is_stopped_while_it_is_started_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a launcher whose ``place`` was cancelled, where the engine goes on with the start."""
    reached, go_on = threading.Event(), threading.Event()
    servers: list[Server] = []

    class Slow(Server):
        async def start(self) -> None:
            servers.append(self)
            reached.set()
            await asyncio.to_thread(go_on.wait, PATIENCE)
            await super().start()

    monkeypatch.setattr(task_host, "Server", Slow)
    spec = ClusterSpec({"worker": ["tcp://127.0.0.1:0"]}).as_dict()
    host = task_host.TaskHost(
        TaskOrder(job="worker", index=0, resources={}, cluster_id="", token="t" * 32, cluster=spec), "::1"
    )
    starting = asyncio.create_task(host.start())
    await asyncio.to_thread(reached.wait, PATIENCE)
    await soon(host.stop(0.0))
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await soon(starting)
    assert [server.is_serving for server in servers] == [False]


class FakeRay(ModuleType):
    """What a launcher calls of Ray when it is opened and closed; a call may take long."""

    def __init__(self, slow: str) -> None:
        super().__init__("ray")
        self.__spec__ = ModuleSpec("ray", None)
        self.slow, self.reached, self.go_on = slow, threading.Event(), threading.Event()
        self.held: list[str] = []
        self.util = self

    def _take(self, what: str) -> None:
        if what == self.slow:
            self.reached.set()
            assert self.go_on.wait(PATIENCE)
        self.held.append(what)

    def is_initialized(self) -> bool:
        return "connection" in self.held

    def init(self, **_: object) -> None:
        self._take("connection")

    def shutdown(self) -> None:
        self.held.remove("connection")

    def placement_group(self, bundles: object, strategy: str) -> str:
        self._take("group")
        return "group"

    def remove_placement_group(self, group: str) -> None:
        self.held.remove(group)


@pytest.mark.parametrize("slow", ["connection", "group"])
async def test_what_ray_gives_after_the_start_was_cancelled_is_given_back(
    slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay(slow)
    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.util", ray)
    cluster = RayCluster({"worker": 1})
    starting = asyncio.create_task(cluster.start())
    await asyncio.to_thread(ray.reached.wait, PATIENCE)
    stopping = asyncio.create_task(cluster.stop())
    await asyncio.sleep(0)
    ray.go_on.set()
    await soon(stopping)
    with pytest.raises(FailedPreconditionError, match="stopped while it was being started"):
        await soon(starting)
    assert not ray.held


async def test_a_client_of_dask_whose_start_was_cancelled_is_closed() -> None:
    """Its scheduler accepts the connection and says nothing."""
    pytest.importorskip("distributed")
    reached = asyncio.Event()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        reached.set()

    writers: list[asyncio.StreamWriter] = []
    async with await asyncio.start_server(accept, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        starting = asyncio.create_task(DaskCluster({"worker": 1}, f"tcp://127.0.0.1:{port}").start())
        await soon(reached.wait())
        await cancelled(starting)
        for writer in writers:
            writer.close()


async def test_a_stop_that_is_cancelled_ends_the_tasks_and_gives_all_back() -> None:
    cluster = DeskCluster({"worker": 2})
    await soon(cluster.start())
    stopping = asyncio.create_task(cluster.stop(grace=600.0))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(stopping)
    await soon(cluster.stop())
    assert (cluster.desk.closed, cluster.desk.closed_now) == (1, 1)
    await eventually(lambda: not any(place.host.serving for place in cluster.desk.places.values()))


async def test_only_who_has_the_token_is_served_and_none_logs(graph: Graph, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with DeskCluster({"worker": 1}) as cluster:
        target = cluster.target("worker")
        with pytest.raises(UnavailableError, match="token"):
            await soon(read_statistics(target, token="a token of somebody else"))
        assert (await soon(read_statistics(target, token=cluster.token))).task == W0
        shown = caplog.text + repr(cluster.desk.orders) + repr(cluster) + repr(cluster.status())
        assert W0 in shown
        assert cluster.token not in shown
        assert cluster.token not in "\n".join(await cluster.logs("worker"))


# -- ends and restarts -----------------------------------------------------------------------------


async def test_a_lost_task_comes_back_where_it_was_and_the_session_goes_on(graph: Graph) -> None:
    v, fed, out = model(graph)
    ends: list[TaskEnd] = []
    async with DeskCluster({"ps": 1, "worker": 1}, restart=3, on_end=ends.append) as cluster:
        address = cluster.target("ps")
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            cluster.desk.places[PS0].host.release()
            assert (await reattached(cluster, session, v, v)).tolist() == [0, 1, 2, 3]
            assert await soon(session.run(out, {fed: FED})) == EXPECTED
        assert cluster.target("ps") == address
        assert (cluster.restarts[PS0], cluster.status()[PS0].restarts) == (1, 1)
    assert [end.task for end in ends] == [PS0]
    assert ends[0].message.startswith(f"{PS0} has ended: its leg broke; it is started again (1 of 3")


SERVES = TaskFate(clean=False, how="it reads a book", ended=False)
OUT_OF_REACH = pytest.mark.parametrize(
    ("how", "said"), [(SERVES, "it reads a book"), (None, "Desk did not say why in 0.1 s")]
)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that has engines give up after a tenth of a second, and sets what else is named."""

    def set_patience(**others: Any) -> None:
        for name, value in {"_REPORT": 0.1, **others}.items():
            monkeypatch.setattr(engine_process, name, value)

    return set_patience


@OUT_OF_REACH
async def test_a_task_that_is_out_of_reach_for_a_while_has_not_ended(
    graph: Graph, impatient: Callable[..., None], caplog: pytest.LogCaptureFixture, how: TaskFate | None, said: str
) -> None:
    """As one that is too busy to answer in time: its variables are not lost for that."""
    v, _, _ = model(graph)
    ends: list[TaskEnd] = []
    refused: list[str] = []

    async def keep(address: str, *rest: Any, task: str, **more: Any) -> None:
        if task == PS0 and len(refused) < 3:
            refused.append(address)
            raise UnavailableError("it takes too long")
        await keep_server(address, *rest, task=task, **more)

    caplog.set_level(logging.INFO)
    impatient(keep_server=keep)
    cluster = DeskCluster({"ps": 1, "worker": 1}, restart=3, on_end=ends.append)
    cluster.desk.how = how
    async with cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            await eventually(lambda: len(refused) == 3)
            await eventually(lambda: not cluster.process("ps")._unreachable)
            assert (await soon(session.run(v))).tolist() == [0, 1, 2, 3]
        assert (cluster.restarts[PS0], cluster.status()[PS0].alive) == (0, True)
    assert (ends, len(cluster.desk.orders)) == ([], 2)
    assert f"{PS0} is tried again: {said}" in caplog.text


@OUT_OF_REACH
async def test_a_task_that_stays_out_of_reach_has_ended(
    impatient: Callable[..., None], how: TaskFate | None, said: str
) -> None:
    async def never(address: str, *_: Any, **__: Any) -> None:
        raise UnavailableError("it takes too long")

    impatient(keep_server=never, _OUT_OF_REACH=0.2)
    ends: list[TaskEnd] = []
    cluster = DeskCluster({"worker": 1}, on_end=ends.append)
    cluster.desk.how = how
    async with cluster:
        await eventually(lambda: bool(ends))
        assert ends[0].message == f"{W0} has ended: {said}"


async def test_the_others_are_told_where_a_task_is_that_has_moved(graph: Graph) -> None:
    v, _, _ = model(graph)
    async with DeskCluster({"ps": 1, "worker": 1}, restart=3) as cluster:
        address = cluster.target("ps")
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            cluster.desk.moves = True
            cluster.desk.places[PS0].host.release()
            assert (await reattached(cluster, session, v, v)).tolist() == [0, 1, 2, 3]
        assert cluster.target("ps") != address
        async with AsyncSession(cluster.target("ps"), graph=graph) as session:
            await soon(session.run(v.initializer))


async def test_an_error_of_a_session_says_what_the_engine_says_of_a_lost_task(graph: Graph) -> None:
    v, _, _ = model(graph)
    async with DeskCluster({"ps": 1, "worker": 1}) as cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            cluster.desk.places[PS0].host.release()
            await eventually(lambda: not cluster.status()[PS0].alive)
            with pytest.raises(UnavailableError, match=r"\(on desk\) has ended: its leg broke") as info:
                await soon(session.run(v))
        assert info.value.task == PS0
        assert cluster.status()[PS0].fate.startswith("its leg broke")
        assert not cluster.status()[PS0].alive


async def test_a_task_that_was_asked_to_end_is_not_started_again() -> None:
    ends: list[TaskEnd] = []
    async with DeskCluster({"worker": 2}, restart=3, on_end=ends.append) as cluster:
        cluster.desk.places[W1].how = TaskFate(clean=True, how="its server was asked to stop")
        await soon(stop_server(cluster.target("worker", 1), token=cluster.token))
        await eventually(lambda: bool(ends))
        assert (ends[0].clean, ends[0].restarts, cluster.restarts[W1]) == (True, False, 0)


async def test_a_task_restarts_by_hand_with_another_incarnation(graph: Graph) -> None:
    v, _, _ = model(graph)
    async with DeskCluster({"ps": 1, "worker": 1}) as cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            await soon(cluster.restart("ps"))
            assert (await reattached(cluster, session, v, v)).tolist() == [0, 1, 2, 3]


async def test_a_server_serves_on_only_while_it_is_asked_to() -> None:
    spec = ClusterSpec({"worker": ["tcp://127.0.0.1:0"]})
    async with Server(spec) as asked, Server(spec) as left:
        asked.keep(0.001)
        asked.keep(PATIENCE)
        left.keep(0.002)
        await soon(left.serve_forever())
        assert not asked.stopping
        with pytest.raises(InvalidArgumentError, match="kept for more than 0 seconds, got 0"):
            asked.keep(0.0)


async def test_tasks_end_when_their_cluster_is_gone_without_a_word() -> None:
    cluster = DeskCluster({"worker": 1}, keep=0.5)
    await cluster.start()
    (process,) = cluster.processes.values()
    await process._children.stop()  # as if this process had ended
    await eventually(lambda: not cluster.desk.places[W0].host.serving)
    await cluster.stop()


# -- settings of all engines -----------------------------------------------------------------------


async def test_a_lost_task_that_keeps_snapshots_has_its_variables_again(graph: Graph, tmp_path: Path) -> None:
    v, fed, out = model(graph)
    settings: dict[str, Any] = {"snapshot_dir": tmp_path, "snapshot_every": 0.05, "restart": 3}
    async with DeskCluster({"ps": 1, "worker": 1}, **settings) as cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            await eventually(lambda: bool(list(tmp_path.glob("*.snapshot"))))
            cluster.desk.places[PS0].host.release()
            await eventually(lambda: cluster.restarts[PS0] == 1)
            await eventually(lambda: cluster.status()[PS0].alive)
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            assert await soon(session.run(out, {fed: FED})) == EXPECTED


async def test_a_session_whose_master_has_moved_is_opened_anew(graph: Graph) -> None:
    v, _, _ = model(graph)
    async with DeskCluster({"ps": 1, "worker": 1}, restart=3) as cluster:
        former = cluster.target("worker")
        async with AsyncSession(former, graph=graph) as session:
            await soon(session.run(v.initializer))
            cluster.desk.moves = True
            cluster.desk.places[W0].host.release()
            await eventually(lambda: cluster.target("worker") != former)
            with pytest.raises(OpError):
                await soon(session.run(v))
            async with AsyncSession(cluster.target("worker"), graph=graph) as other:
                assert (await soon(other.run(v))).tolist() == [0, 1, 2, 3]


async def test_without_restarts_a_lost_task_stays_dead_until_it_is_started_by_hand() -> None:
    async with DeskCluster({"worker": 2}) as cluster:
        cluster.desk.places[W1].host.release()
        await eventually(lambda: not cluster.status()[W1].alive)
        assert len(cluster.desk.orders) == 2
        await soon(cluster.restart("worker", 1))
        assert cluster.status()[W1].alive
        assert (await soon(cluster.statistics()))[W1].task == W1


async def test_operations_open_files_in_the_roots_alone(graph: Graph, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside.txt"
    inside.mkdir()
    (inside / "a.txt").write_text("a")
    outside.write_text("b")
    with graph.device(W0):
        reads = [opsets.read_file(str(path)) for path in (inside / "a.txt", outside)]
    async with DeskCluster({"worker": 1}, file_roots=[inside]) as cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            assert await soon(session.run(reads[0])) == b"a"
            with pytest.raises(PermissionDeniedError):
                await soon(session.run(reads[1]))


async def test_each_task_imports_what_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ops_of_a_user.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    async with DeskCluster({"worker": 1}, imports=["ops_of_a_user"]):
        assert sys.modules.pop("ops_of_a_user")
    with pytest.raises(ModuleNotFoundError, match="ops_of_nobody"):
        await DeskCluster({"worker": 1}, imports=["ops_of_nobody"]).start()


async def test_with_files_of_tls_all_links_are_encrypted(graph: Graph, tmp_path: Path) -> None:
    files = Authority(tmp_path / "ca").files()
    v, fed, out = model(graph)
    config = ConfigProto(
        rpc_options=RPCOptions(ca_file=files.ca_file, certificate_file=files.certificate_file, key_file=files.key_file)
    )
    async with DeskCluster({"ps": 1, "worker": 1}, security=files) as cluster:
        assert all(address.startswith("tls://") for address in cluster.spec.tasks().values())
        async with AsyncSession(cluster.target("worker"), graph, config) as session:
            await soon(session.run(v.initializer))
            assert await soon(session.run(out, {fed: FED})) == EXPECTED


# -- changes ---------------------------------------------------------------------------------------


async def test_a_job_grows_and_shrinks_under_an_open_session(graph: Graph) -> None:
    v, _, _ = model(graph)
    async with DeskCluster({"ps": 1, "worker": 1}) as cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await soon(session.run(v.initializer))
            await soon(cluster.scale("worker", 3))
            assert cluster.spec.task_indices("worker") == [0, 1, 2]
            with graph.device(W1):
                doubled = v + v
            assert (await soon(session.run(doubled))).tolist() == [0, 2, 4, 6]
            await soon(cluster.scale("worker", 1))
            assert sorted(cluster.status()) == [PS0, W0]
            assert (await soon(session.run(v))).tolist() == [0, 1, 2, 3]
        with pytest.raises(ValueError, match="0 tasks or more, got -1"):
            await cluster.scale("worker", -1)


async def test_a_task_that_finds_no_place_leaves_the_cluster_as_it_was() -> None:
    async with DeskCluster({"worker": 1}) as cluster:
        cluster.desk.refusal = ResourceExhaustedError("no seat is free")
        with pytest.raises(ResourceExhaustedError, match="no seat is free"):
            await soon(cluster.scale("worker", 2))
        assert sorted(cluster.status()) == [W0]


async def test_logs_are_the_last_lines_also_after_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """The library's logger has no level of its own, as in a new process, and none afterwards."""
    caplog.set_level(logging.NOTSET, "actorsession")
    async with DeskCluster({"worker": 1}) as cluster:
        assert f"{W0} serves at {cluster.target('worker')}" in "\n".join(await cluster.logs("worker"))
        cluster.desk.places[W0].host.release()
        await eventually(lambda: not cluster.status()[W0].alive)
        assert f"{W0} serves at" in "\n".join(await cluster.logs("worker"))
    assert logging.getLogger("actorsession").level == logging.NOTSET


# -- programs without a loop -----------------------------------------------------------------------


def test_a_program_without_a_loop_uses_a_plain_with(graph: Graph) -> None:
    v, fed, out = model(graph)
    with DeskCluster({"ps": 1, "worker": 1}) as cluster:
        with Session(cluster.target("worker"), graph=graph) as session:
            session.run(v.initializer)
            assert session.run(out, {fed: FED}) == EXPECTED
        cluster.do(cluster.scale("worker", 2))
        assert sorted(cluster.status()) == [PS0, W0, W1]
        _ = cluster.close()
        _ = cluster.close()
        with pytest.raises(FailedPreconditionError, match="entered by a plain `with`"):
            cluster.do(cluster.scale("worker", 1))
    assert cluster.desk.closed


async def test_a_plain_with_in_a_coroutine_names_the_other_one() -> None:
    with pytest.raises(RuntimeError, match=r"use `async with DeskCluster\(...\)` there"), DeskCluster({"worker": 1}):
        raise AssertionError


async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    reached, desk = asyncio.Event(), Desk()

    async def never(*_: object) -> Any:
        reached.set()
        await asyncio.Event().wait()

    desk.place = never  # type: ignore[method-assign, assignment]
    starting = asyncio.create_task(EngineCluster(desk, {"worker": 1}).start())
    await soon(reached.wait())
    starting.cancel()
    with pytest.raises((asyncio.CancelledError, OpError)):
        await soon(starting)
    assert desk.closed
