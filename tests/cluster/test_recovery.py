"""What comes back after a loss: tasks restarted at their address, in real processes and with both faces."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, errors, ops
from actorsession.cluster.server.snapshots import Snapshot, SnapshotStore
from actorsession.config import ConfigProto
from actorsession.train import GradientDescentOptimizer
from tests.cluster.kit import PS0, W0, W1, W2, on
from tests.cluster.process_cluster import FACES, ProcessCluster, process_cluster

pytestmark = pytest.mark.process


@pytest.fixture
def three(mortal: ProcessCluster) -> ProcessCluster:
    """One ps and two workers."""
    return mortal


class Regression:
    """Fits ``w * x`` to ``3 * x``, with the weight on the ps and the gradient on worker 1."""

    RATE = 0.1

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [4], name="x")
        with on(PS0):
            self.w = ops.Variable(0.0, name="w")
            self.other = ops.Variable([1.0, 2.0], name="other")
            self.new = ops.placeholder("float32", [])
            self.restore = self.w.assign(self.new).op
        loss = on(W1, lambda: ops.reduce_mean(ops.square(self.w * self.x - 3.0 * self.x)))
        self.step = GradientDescentOptimizer(self.RATE).minimize(loss)
        self.initial = ops.group(self.w.initializer, self.other.initializer)

    def batch(self, number: int) -> np.ndarray[Any, Any]:
        return np.arange(number % 3, number % 3 + 4, dtype=np.float32) / 4

    def expected(self, steps: int) -> float:
        w = np.float32(0)
        for number in range(steps):
            x = self.batch(number)
            w -= np.float32(self.RATE) * np.mean(2 * (w * x - 3 * x) * x, dtype=np.float32)
        return float(w)


def test_training_goes_on_with_the_right_values_after_a_restart_of_the_ps(three: ProcessCluster, graph: Graph) -> None:
    """1. Ten steps. 2. The ps is killed and started again. 3. The error lists what is lost. 4. The weight is
    restored from what the program had saved. 5. Ten more steps, and the weight is that of twenty."""
    model = Regression()
    for face in FACES:
        session = three.session(face, three.target("worker"), graph=graph)
        session.run(model.initial)
        for number in range(10):
            session.run(model.step, {model.x: model.batch(number)})
        saved = session.run(model.w)
        three.do(three.cluster.restart("ps"))
        for _ in range(2):
            with pytest.raises(errors.WorkerRestartedError) as info:
                session.run(model.step, {model.x: model.batch(10)})
            assert isinstance(info.value, errors.AbortedError)
            assert info.value.task == PS0
            assert "Variables lost: w, other" in info.value.message
        found = session.reattach(restore=restorer(face, model, saved))
        assert (found.restarted, found.lost, found.restored) == ((PS0,), ("w", "other"), ())
        with pytest.raises(errors.FailedPreconditionError, match="other"):
            session.run(model.other)
        for number in range(10, 20):
            session.run(model.step, {model.x: model.batch(number)})
        assert session.run(model.w) == pytest.approx(model.expected(20), rel=1e-5)
        session.close()
        three.until_empty()


def restorer(face: str, model: Regression, saved: Any) -> Any:
    """What ``reattach`` calls: a coroutine function for the one face, a plain one for the other."""
    if face == "sync":
        return lambda session: session.run(model.restore, {model.new: saved})

    async def restore(session: Any) -> None:
        await session.run(model.restore, {model.new: saved})

    return restore


def test_what_was_lost_is_said_by_the_reattach_that_succeeds(three: ProcessCluster, graph: Graph) -> None:
    """1. The master and the ps are lost. 2. The master is back, and a first attempt fails, because the ps is
    not. 3. The ps is back, too: the second attempt names what the session has lost."""
    kept = on(PS0, lambda: ops.Variable(5.0, name="kept"))
    hasty = ConfigProto(operation_timeout_in_ms=2000)
    session = three.session("sync", three.target("worker"), graph=graph, config=hasty)
    session.run(kept.initializer)
    three.cluster.process("ps").send_signal(signal.SIGKILL)
    three.do(three.cluster.restart("worker", 0))
    with pytest.raises(errors.UnavailableError):
        session.run(kept)
    with pytest.raises(errors.DeadlineExceededError, match=PS0):
        session.reattach()
    three.do(three.cluster.restart("ps"))
    assert session.reattach().lost == ("kept",)
    session.run(kept.initializer)
    assert session.run(kept) == 5.0
    session.close()


def saved_at(store: SnapshotStore, steps: int) -> Snapshot:
    """The first snapshot after some steps."""
    limit = time.monotonic() + 20
    while (found := store.latest()) is None or found.steps < steps:
        assert time.monotonic() < limit, "no snapshot is taken"
        time.sleep(0.01)
    return found


def test_variables_of_a_killed_process_come_back_from_its_last_snapshot(tmp_path: Path, graph: Graph) -> None:
    with on(W1):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(1.0).op
    seen = on(W0, lambda: v + 0.0)
    with process_cluster({"worker": 2}, snapshot_dir=tmp_path, snapshot_every=0.05) as held:
        session = held.session("sync", held.target("worker"), graph=graph)
        session.run(v.initializer)
        for _ in range(5):
            session.run(add)
        before = saved_at(SnapshotStore(tmp_path, W1), 6)
        process = held.cluster.process("worker", 1)
        process.send_signal(signal.SIGKILL)
        held.do(process.wait_ended())
        held.do(held.cluster.restart("worker", 1))
        with pytest.raises(errors.WorkerRestartedError, match="Variables lost: none") as info:
            session.run(add)
        assert f"back from the snapshot after {before.steps} steps: v" in info.value.message
        found = session.reattach()
        assert (found.restarted, found.lost, found.restored) == ((W1,), (), ("v",))
        assert session.run(seen) == 5.0
        session.run(add)
        assert session.run(seen) == 6.0
        session.close()


def test_tasks_are_added_to_a_cluster_of_processes_and_removed_from_it(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    here = on(W0, lambda: x + 1.0)
    with process_cluster({"worker": 2}) as held:
        session = held.session("sync", held.target("worker"), graph=graph)
        assert session.run(here, {x: 1.0}) == 2.0
        added = held.do(held.cluster.add("worker"))
        assert (added.task, added.alive) == (W2, True)
        there = on(W2, lambda: here * 10.0)
        assert session.run(there, {x: 1.0}) == 20.0
        held.do(held.cluster.remove("worker", 2))
        assert not added.alive
        assert sorted(held.cluster.spec.tasks()) == [W0, W1]
        with pytest.raises(errors.InvalidArgumentError, match="has left the cluster"):
            session.run(there, {x: 1.0})
        assert session.run(here, {x: 2.0}) == 3.0
        assert held.do(held.cluster.add("worker")).task == W2
        assert session.run(there, {x: 2.0}) == 30.0
        with pytest.raises(ValueError, match="no task 7 in job 'worker'"):
            held.do(held.cluster.remove("worker", 7))
        held.do(held.cluster.scale("worker", 1))
        assert sorted(held.cluster.status()) == [W0]
        assert session.run(here, {x: 3.0}) == 4.0
        session.close()


def test_tasks_that_are_added_at_once_have_indices_of_their_own(graph: Graph) -> None:
    with process_cluster({"worker": 1}) as held:
        held.do(held.cluster.scale("worker", 3))
        assert sorted(held.cluster.spec.tasks()) == [W0, W1, W2]
        sums = []
        for task in (W1, W2):
            with on(task):
                sums.append(ops.constant(1.0) + float(task[-1]))
        for index in range(3):  # each of them knows both
            session = held.session("sync", held.target("worker", index), graph=graph)
            assert session.run(sums) == [2.0, 3.0]
            session.close()


def test_the_last_task_of_a_cluster_is_not_removed() -> None:
    with process_cluster({"worker": 1}) as held:
        with pytest.raises(ValueError, match="is the last task; stop the cluster instead"):
            held.do(held.cluster.remove("worker"))
        assert held.cluster.process("worker").alive


def test_a_cluster_that_was_stopped_starts_no_processes() -> None:
    with process_cluster({"worker": 1}) as held:
        held.do(held.cluster.stop())
        for call in (held.cluster.restart("worker"), held.cluster.add("worker")):
            with pytest.raises(errors.FailedPreconditionError, match="the cluster was stopped"):
                held.do(call)
        assert not held.cluster.process("worker").alive
