"""Wait graphs: a worker's report of what its steps wait for, and their collection from all tasks.

``own_wait_graph`` inspects the sessions of one worker; it waits for nothing, so a worker that is busy with
steps answers too. ``collect_wait_graphs`` asks all tasks at once, then the tasks that should send awaited
values, and so on along the chain. Called by workers, by master sessions and by ``admin_client``;
``runtime.hang_report`` interprets the result. Imports messages and reads steps of the runtime.

Invariants: The size of an answer is bounded by the limit in the request. A task that does not answer delays
the others by no more than the deadline, and is named.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.cluster.worker.backpressure import HeldStep
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.cluster.worker.worker_session import WorkerSession
from actorsession.errors import OpError, from_exception
from actorsession.messages.worker import AskWhy, WorkerWhy
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass
from actorsession.runtime.hang_report import Looks, awaited_keys
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.step_inspector import Stacks, held_pool, step_waits, what_became_of
from actorsession.runtime.wait_graph import HELD, NOBODY, SENT, UNBEGUN, MasterWaits, SentKey, StepWaits, TaskWaits
from transports.host import current_host

__all__ = ["MOST", "WaitGraphs", "collect_wait_graphs", "own_wait_graph"]

MOST = 50
"""The steps, and waiters of each, that a task reports unless it is asked for more."""

# Requests may ask for more, but only so many that the answer stays small.
_MOST_EVER = 1000
# Limit on the values in one request, and on the rounds in which chains are followed.
_MOST_KEYS = 2000
_ROUNDS = 8
# Share of the remaining time that one round may take: a task that hangs must not use up all of it.
_SHARE = 0.6
# Unsent bytes are told in units of 64 KiB.
_UNIT = 16

Ask: TypeAlias = Callable[[AskWhy, Deadline], Awaitable[WorkerWhy]]


# -- the answer of one worker ----------------------------------------------------------------------


def own_wait_graph(
    message: AskWhy,
    task: str,
    sessions: Sequence[WorkerSession],
    table: RendezvousTable,
    masters: Iterable[MasterWaits],
    pool: KernelPool | None = None,
) -> TaskWaits:
    """Return the report of a worker.

    Args:
        message: the request.
        task: the worker's own name.
        sessions: the sessions of the worker.
        table: the rendezvous of its steps.
        masters: the waits of the sessions whose master is at the same server.
        pool: the worker's threads for kernels.
    """
    most = max(1, min(message.most, _MOST_EVER))
    asked = [s for s in sessions if message.session_handle in ("", s.handle)]
    stacks = Stacks()
    if message.keys:
        keys = zip(message.steps[:_MOST_KEYS], message.keys[:_MOST_KEYS], strict=False)
        return TaskWaits(task=task, keys=tuple(_sent_keys(list(keys), asked, table, stacks)))
    steps = [s for session in asked for s in _steps(session, table, stacks, most)]
    under_way = sum(len(s.steps.running) + len(s.steps.held) for s in asked)
    if not message.session_handle:
        unbegun = _unbegun(table, {s.step_id for s in steps}, task)
        steps += unbegun
        under_way += len(unbegun)
    steps.sort(key=lambda s: -s.seconds)
    return TaskWaits(
        task=task,
        names={s.handle: s.task for s in asked},
        steps=tuple(steps[:most]),
        more_steps=max(0, under_way - most),
        masters=tuple([m for m in masters if message.session_handle in ("", m.session)]),
        pools=() if (held := held_pool(pool, task)) is None else (held,),
    )


def _steps(session: WorkerSession, table: RendezvousTable, stacks: Stacks, most: int) -> Iterable[StepWaits]:
    """Yield the steps of one session, the oldest first, because those are the ones that hang."""
    for step in list(session.steps.running.values())[:most]:
        yield step_waits(step, stacks, most, session=session.handle, task=session.task)
    now = current_host().clock.monotonic()
    for step_id, held in sorted(session.steps.held.steps.items(), key=lambda item: item[1].since)[:most]:
        yield StepWaits(
            step_id=step_id,
            session=session.handle,
            task=session.task,
            state=HELD,
            link=(link := _task_of_link(held)),
            unsent=_unsent(session, link),
            seconds=now - held.since,
        )


def _unsent(session: WorkerSession, task: str) -> int:
    """Return what a task has not read yet; in coarse units, so that heartbeats do not change it."""
    return session.workers.unsent_bytes(task) >> _UNIT


def _task_of_link(held: HeldStep) -> str:
    """Return the task whose link a step waits for; the key of a link may have its address, too."""
    return held.link.partition("@")[0]


def _unbegun(table: RendezvousTable, known: set[int], task: str) -> list[StepWaits]:
    """Return the steps that have not started here and for which only values have arrived.

    Their session is not known here: a value brings only the id of its step.
    """
    now = current_host().clock.monotonic()
    return [
        StepWaits(step_id=unbegun.step_id, task=task, state=UNBEGUN, seconds=now - unbegun.created)
        for unbegun in table.unbegun(MOST)
        if unbegun.step_id not in known
    ]


def _sent_keys(
    asked: Sequence[tuple[int, str]], sessions: Sequence[WorkerSession], table: RendezvousTable, stacks: Stacks
) -> Iterable[SentKey]:
    by_step: defaultdict[int, list[str]] = defaultdict(list)
    for step_id, key in asked:
        by_step[step_id].append(key)
    for step_id, keys in by_step.items():
        for session in sessions:
            step = session.steps.running.get(step_id)
            if step is not None:
                yield from _sent(what_became_of(step, keys, stacks), session)
                break
            held = session.steps.held.steps.get(step_id)
            if held is not None:
                link = _task_of_link(held)
                unsent = _unsent(session, link)
                for key in keys:
                    yield SentKey(step_id=step_id, key=key, state=HELD, link=link, unsent=unsent)
                break
        else:
            met = table.find(step_id)  # a partial run is held beyond the end of its partitions
            over = table.is_over(step_id) or (met is not None and met.begun)
            for key in keys:
                yield SentKey(step_id=step_id, key=key, state=SENT if over else UNBEGUN, over=over)


def _sent(sent_keys: Iterable[SentKey], session: WorkerSession) -> Iterable[SentKey]:
    """Yield the states of values; one that was sent may still wait because its link is backlogged."""
    for sent in sent_keys:
        state = SENT if sent.state == NOBODY else sent.state
        link = parse_key(sent.key).dst_task
        if state == SENT and session.workers.is_backlogged(link):
            yield replace(sent, state=HELD, link=link, unsent=_unsent(session, link))
        else:
            yield replace(sent, state=state)


# -- collection from all tasks ----------------------------------------------------------------------


@dataclass(slots=True)
class WaitGraphs:
    """The reports of the tasks.

    Attributes:
        waits: the report of each task about its steps, then what else was found out: states of values, and
            the steps that move.
        silent: for each task that does not answer, the error.
    """

    waits: list[TaskWaits] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)


async def collect_wait_graphs(asks: Mapping[str, Ask], session: str, deadline: Deadline) -> WaitGraphs:
    """Ask tasks what their steps wait for, trace awaited values to their senders, and see which steps move.

    Args:
        asks: by task name, the function that asks the task.
        session: the handle of the session in question; "" for all.
        deadline: the deadline for all answers.
    """
    return await _Collector(asks, session, deadline).collect()


class _Collector:
    def __init__(self, asks: Mapping[str, Ask], session: str, deadline: Deadline) -> None:
        self._asks = asks
        self._session = session
        self._deadline = deadline
        self._silent: dict[str, str] = {}
        self._reports: dict[str, TaskWaits] = {}
        self._known: dict[tuple[int, str], SentKey] = {}

    async def collect(self) -> WaitGraphs:
        looks = Looks(self._deadline.time_left)
        while (pause := looks.add(await self._look(), current_host().clock.monotonic())) is not None:  # noqa: ASYNC110
            await asyncio.sleep(pause)
        return WaitGraphs(list(looks.waits), self._silent)

    async def _look(self) -> Sequence[TaskWaits]:
        """Ask the tasks that answer for their steps, and what became of the values that these wait for."""
        message = AskWhy(session_handle=self._session, most=MOST, steps=[], keys=[])
        answering = [task for task in self._asks if task not in self._silent]
        self._reports = dict(await self._ask(dict.fromkeys(answering, message)))
        self._known = {}
        await self._follow()
        return [*self._reports.values(), TaskWaits(task="", keys=tuple(self._known.values()))]

    async def _follow(self) -> None:
        """Ask for the state of awaited values, until the chains end."""
        for _ in range(_ROUNDS):
            known = [*self._reports.values(), TaskWaits(task="", keys=tuple(self._known.values()))]
            questions = self._questions(awaited_keys(known))
            if not questions:
                break
            for _, waits in await self._ask(questions):
                self._known.update({(sent.step_id, sent.key): sent for sent in waits.keys})

    def _questions(self, awaited: Mapping[tuple[int, str], str]) -> dict[str, AskWhy]:
        """Return the request to each task about values of which nothing is known yet."""
        sessions = {s.step_id: s.session for r in self._reports.values() for s in r.steps}
        keys: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for (step_id, key), session in awaited.items():
            if (step_id, key) in self._known:
                continue
            task = self._task_named(parse_key(key).src_task, session or sessions.get(step_id, ""))
            if task is not None and len(keys[task]) < _MOST_KEYS:
                keys[task].append((step_id, key))
        return {
            task: AskWhy(
                session_handle=self._session,
                most=MOST,
                steps=[step for step, _ in values],
                keys=[key for _, key in values],
            )
            for task, values in keys.items()
        }

    def _task_named(self, name: str, session: str) -> str | None:
        """Return the task that has a name in a session, if it can be asked."""
        for task, report in self._reports.items():
            if report.names.get(session) == name and task not in self._silent:
                return task
        return None

    async def _ask(self, questions: Mapping[str, AskWhy]) -> list[tuple[str, TaskWaits]]:
        """Ask tasks concurrently; those that do not answer are recorded."""
        left = self._deadline.time_left
        limit = self._deadline if left is None else Deadline.after(left * _SHARE)
        calls = [self._ask_one(task, message, limit) for task, message in questions.items()]
        answers = await asyncio.gather(*calls)
        return [(task, waits) for task, waits in answers if waits is not None]

    async def _ask_one(self, task: str, message: AskWhy, limit: Deadline) -> tuple[str, TaskWaits | None]:
        try:
            answer = await limit.wait(self._asks[task](message, limit), what=f"an answer of {task}")
            return task, TaskWaits.from_wire(answer.waits)
        except (OpError, ValueError) as error:
            self._silent[task] = from_exception(error).message
            return task, None
