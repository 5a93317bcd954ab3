"""What comes back after a loss: tasks restarted at their address, in real processes and with both faces."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, errors, ops
from actorsession.config import ConfigProto
from actorsession.train import GradientDescentOptimizer
from tests.cluster.kit import PS0, W1, on
from tests.cluster.process_cluster import FACES, ProcessCluster

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
