"""The session manager of a worker: handles, masters and their lives, borrowed and private devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import TensorShape, float32
from actorsession.cluster.worker.collective_groups import TaskGroups
from actorsession.cluster.worker.env import WorkerEnv
from actorsession.cluster.worker.session_mgr import SessionMgr
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.errors import AbortedError, CancelledError, InvalidArgumentError
from actorsession.extend import TensorSpec
from actorsession.messages import CreateWorkerSession
from actorsession.rpc.pushes import Pushed
from actorsession.runtime.devices import make_devices
from actorsession.runtime.engine.executor import Executor
from tests.cluster.fakes import FakeWorkerCache
from tests.cluster.kit import PS0, W0, W1


class Fixture:
    def __init__(self) -> None:
        self.cache = FakeWorkerCache()
        devices = make_devices(W0, {"CPU": 2})
        executors = {d.name: Executor(d) for d in devices}
        table = RendezvousTable(W0, self.cache)
        self.parts = WorkerEnv(W0, devices, executors, table, self.cache, None, TaskGroups(table))
        self.mgr = SessionMgr(self.parts)

    def create(self, handle: str, master: str = W1, life: int = 1, **more: Any) -> list[str]:
        settings = {"isolate_session_state": False, "peers": {}, "task": "", **more}
        return self.mgr.create(
            CreateWorkerSession(session_handle=handle, master_task=master, master_incarnation=life, **settings)
        )

    def parts_of(self, handle: str) -> WorkerEnv:
        return self.mgr.find(handle)._env


@pytest.fixture
def at() -> Fixture:
    return Fixture()


def a_push(step: int = 7) -> Pushed:
    return Pushed(step_id=step, keys=[], values=[], dead=[])


def test_the_empty_handle_is_the_legacy_session_which_is_always_there(at: Fixture) -> None:
    legacy = at.mgr.find("")
    assert at.mgr.remove("") is None
    assert at.mgr.find("") is legacy
    assert len(at.mgr) == 0
    with pytest.raises(InvalidArgumentError, match="got an empty one"):
        at.create("")


def test_a_handle_exists_once_and_an_unknown_one_is_aborted(at: Fixture) -> None:
    at.create("s")
    with pytest.raises(InvalidArgumentError, match="'s' exists already"):
        at.create("s")
    for handle in ("t", "S"):
        with pytest.raises(AbortedError, match=f"Session handle '{handle}' is not found on {W0}"):
            at.mgr.find(handle)
        with pytest.raises(AbortedError, match="is not found"):
            at.mgr.update(handle, {}, [])
        assert at.mgr.remove(handle) is None
    removed: Any = at.mgr.remove("s")
    assert removed.handle == "s"
    assert "s" not in at.mgr


def test_sessions_without_isolation_borrow_the_workers_devices(at: Fixture) -> None:
    at.create("a")
    at.create("b")
    assert at.parts_of("a").devices is at.parts_of("b").devices is at.parts.devices


def test_an_isolated_session_has_devices_of_the_same_names_with_state_of_its_own(at: Fixture) -> None:
    at.create("a", isolate_session_state=True)
    ours, shared = at.parts_of("a").devices, at.parts.devices
    assert [d.attributes for d in ours] == [d.attributes for d in shared]
    assert not {id(d.resources) for d in ours} & {id(d.resources) for d in shared}
    assert [e.device for e in at.parts_of("a").executors.values()] == list(ours)


def test_a_session_with_a_cluster_of_its_own_sees_the_worker_under_another_name(at: Fixture) -> None:
    at.create("a", task=PS0, isolate_session_state=True)
    parts = at.parts_of("a")
    assert parts.task == PS0
    assert [d.name for d in parts.devices] == [f"{PS0}/device:CPU:0", f"{PS0}/device:CPU:1"]
    known = [d.attributes.incarnation for d in at.parts.devices]
    assert [d.attributes.incarnation for d in parts.devices] == known
    assert not {id(d.resources) for d in parts.devices} & {id(d.resources) for d in at.parts.devices}


def test_such_a_session_may_share_the_state_of_the_workers_devices(at: Fixture) -> None:
    """Under its own names for them, and with executors that end with it."""
    at.create("a", task=PS0)
    devices = at.parts_of("a").devices
    assert [d.name for d in devices] == [f"{PS0}/device:CPU:0", f"{PS0}/device:CPU:1"]
    assert [d.resources for d in devices] == [d.resources for d in at.parts.devices]
    assert [e.device for e in at.parts_of("a").executors.values()] == list(devices)


@pytest.mark.parametrize("isolated", [False, True])
async def test_state_that_such_a_session_shares_stays_at_its_end_and_its_own_does_not(
    isolated: bool, at: Fixture
) -> None:
    at.create("a", task=PS0, isolate_session_state=isolated)
    state = at.parts_of("a").devices[0].resources
    state.variable("localhost", "v", TensorSpec(float32, TensorShape([]))).assign(np.float32(1))
    session: Any = at.mgr.remove("a")
    await session.aclose(CancelledError("the session is closed"))
    assert state.has_value("localhost", "v") is not isolated


def test_such_a_session_has_links_of_its_own_under_the_names_that_it_brought_along(at: Fixture) -> None:
    hosts = {"a": {PS0: "tcp://h:1", W1: "tcp://h:2"}, "b": {PS0: "tcp://h:1", W1: "tcp://g:2"}}
    for handle, peers in hosts.items():
        at.create(handle, task=PS0, peers=peers)
        session = at.mgr.find(handle)
        assert session.peers is not None
        session.peers.workers.push(W1, a_push())
    for handle, peers in hosts.items():
        own = at.cache.of_sessions[handle]
        assert (own.task, own.addresses, own.pushed) == (PS0, peers, [(W1, a_push())])
    assert at.cache.pushed == []


async def test_its_links_are_released_with_it(at: Fixture) -> None:
    at.create("a", task=PS0, peers={PS0: "tcp://h:1"})
    own, session = at.cache.of_sessions["a"], at.mgr.remove("a")
    assert session is not None
    assert own.released == 0
    await session.aclose(CancelledError("the session is closed"))
    assert (own.released, at.cache.released) == (1, 0)


def test_tasks_of_such_a_session_may_move_and_leave(at: Fixture) -> None:
    at.create("a", task=PS0, peers={PS0: "tcp://h:1", W1: "tcp://h:2"})
    own = at.cache.of_sessions["a"]
    assert at.mgr.update("a", {W1: "tcp://h:3"}, [])
    assert own.addresses == {PS0: "tcp://h:1", W1: "tcp://h:3"}
    assert at.mgr.update("a", {}, [W1])
    assert own.addresses == {PS0: "tcp://h:1"}


def test_tasks_of_other_sessions_are_the_workers_to_know(at: Fixture) -> None:
    at.create("a")
    assert not at.mgr.update("a", {W1: "tcp://h:3"}, [])


def test_another_life_of_a_master_leaves_its_earlier_sessions_to_be_dropped(at: Fixture) -> None:
    assert at.create("a1", master=W0, life=1) == []
    assert at.create("a2", master=W0, life=1) == []
    assert at.create("b", master=W1, life=5) == []
    assert at.create("a3", master=W0, life=2) == ["a1", "a2"]
    assert at.create("a4", master=W0, life=2) == []
    # Whoever is told to drop them does; what is gone already is not told again.
    for handle in ("a1", "a2", "a3"):
        at.mgr.remove(handle)
    assert at.create("a5", master=W0, life=3) == ["a4"]


def test_an_empty_master_is_nobody_whose_sessions_are_nobodys_to_collect(at: Fixture) -> None:
    assert at.create("anon1", master="", life=1) == []
    assert at.create("anon2", master="", life=2) == []
    assert at.create("anon3", master="", life=1) == []
    assert at.mgr.handles == ("anon1", "anon2", "anon3")
    for handle in at.mgr.handles:
        assert at.mgr.remove(handle) is not None
