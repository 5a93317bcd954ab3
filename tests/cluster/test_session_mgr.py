"""The session manager of a worker: handles, masters and their lives, borrowed and private devices."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession.cluster.worker.session_mgr import SessionMgr, peer_key
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.cluster.worker.worker_session import WorkerEnv
from actorsession.errors import AbortedError, InvalidArgumentError, OpError, UnavailableError
from actorsession.messages.worker import CreateWorkerSession, PushTensors
from actorsession.runtime.devices import make_devices
from actorsession.runtime.engine.executor import Executor
from tests.cluster.fakes import FakeWorkerCache
from tests.cluster.kit import PS0, W0, W1


class Fixture:
    def __init__(self) -> None:
        self.pushed: list[tuple[str, PushTensors]] = []
        self.lost: list[tuple[int, OpError]] = []
        devices = make_devices(W0, {"CPU": 2})
        executors = {d.name: Executor(d) for d in devices}
        table = RendezvousTable(W0, self.push)
        self.parts = WorkerEnv(W0, devices, executors, table, FakeWorkerCache(), None)
        self.mgr = SessionMgr(self.parts, self.push, lambda step, error: self._lose(step, error))

    def push(self, task: str, message: PushTensors) -> None:
        self.pushed.append((task, message))

    def _lose(self, step: int, error: OpError) -> None:
        self.lost.append((step, error))

    def create(self, handle: str, master: str = W1, life: int = 1, **more: Any) -> list[str]:
        settings = {"isolate_session_state": False, "peers": {}, "task": "", **more}
        return self.mgr.create(
            CreateWorkerSession(
                session_handle=handle, master_task=master, master_incarnation=life, **settings
            )
        )

    def parts_of(self, handle: str) -> WorkerEnv:
        return self.mgr.find(handle)._env


@pytest.fixture
def at() -> Fixture:
    return Fixture()


def a_push(step: int = 7) -> PushTensors:
    return PushTensors(step_id=step, keys=[], values=[], dead=[])


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
    removed = at.mgr.remove("s")
    assert removed is not None
    assert removed.handle == "s"
    assert "s" not in at.mgr


def test_sessions_without_isolation_borrow_the_workers_devices(at: Fixture) -> None:
    at.create("a")
    at.create("b")
    assert at.parts_of("a").devices is at.parts_of("b").devices is at.parts.devices


def test_an_isolated_session_has_devices_of_the_same_names_with_state_of_its_own(
    at: Fixture,
) -> None:
    at.create("a", isolate_session_state=True)
    ours, shared = at.parts_of("a").devices, at.parts.devices
    assert [d.attributes for d in ours] == [d.attributes for d in shared]
    assert not {id(d.resources) for d in ours} & {id(d.resources) for d in shared}
    assert [e.device for e in at.parts_of("a").executors.values()] == list(ours)


def test_a_session_with_a_cluster_of_its_own_sees_the_worker_under_another_name(
    at: Fixture,
) -> None:
    at.create("a", task=PS0, peers={PS0: "tcp://h:1", W1: "tcp://h:2"})
    parts = at.parts_of("a")
    assert parts.task == PS0
    assert [d.name for d in parts.devices] == [f"{PS0}/device:CPU:0", f"{PS0}/device:CPU:1"]
    known = [d.attributes.incarnation for d in at.parts.devices]
    assert [d.attributes.incarnation for d in parts.devices] == known
    assert not {id(d.resources) for d in parts.devices} & {
        id(d.resources) for d in at.parts.devices
    }


def test_what_such_a_session_pushes_goes_to_the_addresses_that_it_brought_along(
    at: Fixture,
) -> None:
    at.create("a", task=PS0, peers={PS0: "tcp://h:1", W1: "tcp://h:2"})
    at.create("b", task=PS0, peers={PS0: "tcp://h:1", W1: "tcp://g:2"})
    for handle in ("a", "b"):
        push = at.parts_of(handle).push
        assert push is not None
        push(W1, a_push())
    assert [to for to, _ in at.pushed] == [peer_key(W1, "tcp://h:2"), peer_key(W1, "tcp://g:2")]


def test_tasks_of_such_a_session_may_move_and_leave(at: Fixture) -> None:
    at.create("a", task=PS0, peers={PS0: "tcp://h:1", W1: "tcp://h:2"})
    push = at.parts_of("a").push
    assert push is not None
    assert at.mgr.update("a", {W1: "tcp://h:3"}, [])
    push(W1, a_push())
    assert at.mgr.update("a", {}, [W1])
    push(W1, a_push(step=8))
    assert [to for to, _ in at.pushed] == [peer_key(W1, "tcp://h:3")]
    ((step, error),) = at.lost
    assert step == 8
    assert isinstance(error, UnavailableError)
    assert error.message == f"{W1} has left the session's cluster"


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
