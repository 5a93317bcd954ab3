"""The log of a worker's messages: set, retrieve, clear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, ops
from actorsession.actors import Deadline
from actorsession.cluster.worker.rpc_log import RpcEvent, RpcLog
from actorsession.errors import ProtocolError
from actorsession.messages.worker import WORKER, LoggingReply, LoggingRequest
from tests.cluster.kit import W0, W1, InProcess, on, soon


async def logging(cluster: InProcess, task: str, **asked: Any) -> LoggingReply:
    """What a worker answers to a request about its log."""
    request = LoggingRequest(**{"enable": None, "clear": False, "fetch": True, "steps": [], **asked})
    worker = cluster.server(task)._serves[WORKER]
    answer: LoggingReply = await worker.ask(request, Deadline.after(10))
    return answer


def events(reply: LoggingReply) -> list[RpcEvent]:
    return [RpcEvent.from_wire(event) for event in reply.events]


async def test_a_worker_logs_what_comes_and_goes_for_each_step_while_it_is_switched_on(
    cluster: InProcess, graph: Graph
) -> None:
    """1. Off: nothing. 2. On: each run is seen at both ends of its push. 3. Cleared: nothing again."""
    x = ops.placeholder("float32", [3])
    with on(W0):
        a = x * 2.0
    with on(W1):
        b = a + 1.0
    feeds = {x: np.ones(3, np.float32)}
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(b, feeds))
        assert (await logging(cluster, W0)).events == []
        for task in (W0, W1):
            assert (await logging(cluster, task, enable=True)).enabled
        for _ in range(2):
            await soon(session.run(b, feeds))
        sent, received = [events(await logging(cluster, task)) for task in (W0, W1)]
        one_step = [sent[0].step_id]
        only = events(await logging(cluster, W0, steps=one_step, clear=True))
        cleared = await logging(cluster, W0)
        after = await logging(cluster, W0, enable=False)
    assert [(e.what, e.outgoing) for e in sent] == [("RunGraph", False), ("PushTensors", True)] * 2
    assert {(e.what, e.outgoing) for e in received} == {("RunGraph", False), ("PushTensors", False)}
    pushed = [e for e in sent if e.outgoing]
    assert [(e.peer, e.tensors, e.nbytes) for e in pushed] == [(W1, 1, 12)] * 2
    assert [e.peer for e in received if e.what == "PushTensors"] == [W0, W0]
    assert {e.step_id for e in sent} == {e.step_id for e in received}
    assert [e.step_id for e in only] == one_step * 2
    assert cleared == LoggingReply(enabled=True, events=[])
    assert after == LoggingReply(enabled=False, events=[])


def test_the_log_is_bounded() -> None:
    log = RpcLog(kept=3)
    for step in range(5):
        log.note(step, "RunGraph", "peer", [])
    assert [e.step_id for e in log.events()] == [2, 3, 4]
    assert [e.step_id for e in log.events([4, 99])] == [4]
    log.clear()
    assert len(log) == 0


@pytest.mark.parametrize("wire", [None, [], [1, 2, "RunGraph", 0, "peer", 1, 1], [1] * 7])
def test_an_event_in_another_form_is_a_protocol_error(wire: Any) -> None:
    with pytest.raises(ProtocolError, match="an RPC event is"):
        RpcEvent.from_wire(wire)
