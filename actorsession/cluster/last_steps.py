"""The last steps of a server as an answer, and those of a session put together from the answers of its tasks.

Called by workers, by the administration of servers and by master sessions. Imports messages and the log of the
runtime.

Invariant: the size of an answer is bounded, whatever is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.config.step_record import StepRecord, merge_records
from actorsession.errors import FailedPreconditionError, OpError
from actorsession.messages.server import ReadSteps, StepsRead
from actorsession.runtime.step_log import StepLog

__all__ = ["collect_steps", "read_steps"]

_log = logging.getLogger("actorsession.cluster")
# Steps in one answer; some kilobytes each at most.
_MOST = 1000


def read_steps(log: StepLog | None, message: ReadSteps, task: str) -> StepsRead:
    """Return the answer of a server to a request for its last steps.

    Args:
        log: its last steps; ``None`` if it keeps none.
        message: the request.
        task: its task.
    """
    if log is None:
        return StepsRead(task=task, kept=0, steps=[])
    if message.steps:
        steps = log.of_steps(message.steps[:_MOST])
    else:
        steps = log.last(min(message.count, _MOST), message.slower_than, message.session, running=message.running)
    return StepsRead(task=task, kept=log.kept, steps=[step.to_wire() for step in steps])


async def collect_steps(
    log: StepLog | None, session: str, count: int, slower_than: float, workers: Mapping[str, Ref], deadline: Deadline
) -> list[StepRecord]:
    """Return the last steps of a session, with what its workers remember of them.

    A worker that does not answer in time leaves its parts out.

    Args:
        log: the last steps of the server of its master; ``None`` if it keeps none.
        session: the handle of the session.
        count: how many steps at most.
        slower_than: only steps that took so many seconds or more.
        workers: the workers of the session by task, without that of the master's own task.
        deadline: until when to wait for them.

    Raises:
        FailedPreconditionError: if the server keeps none.
    """
    if log is None:
        raise FailedPreconditionError("the server of the session keeps no steps: kept_steps of its settings is 0")
    own = log.last(min(count, _MOST), slower_than, session)
    if not own:
        return []
    chosen = [step.step_id for step in own]
    message = ReadSteps(count=len(chosen), slower_than=0.0, session=session, running=False, steps=chosen)
    answers = await asyncio.gather(*[_ask(task, worker, message, deadline) for task, worker in workers.items()])
    records = [StepRecord.from_wire(wire) for answer in answers for wire in answer]
    return merge_records([*own, *_of_session(records, session, chosen)])


def _of_session(records: Iterable[StepRecord], session: str, chosen: list[int]) -> list[StepRecord]:
    """Return the records that were asked for, whatever else a worker has sent."""
    step_ids = frozenset(chosen)
    return [record for record in records if record.session == session and record.step_id in step_ids]


async def _ask(task: str, worker: Ref, message: ReadSteps, deadline: Deadline) -> list[object]:
    try:
        answer: StepsRead = await worker.ask(message, deadline)
    except OpError as error:
        _log.info("no last steps of %s: %s", task, error)
        return []
    return answer.steps
