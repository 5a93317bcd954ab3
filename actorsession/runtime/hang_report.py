"""Why a session hangs: the wait-for graph of its steps over all tasks, down to the root causes.

Tasks report what their steps wait for (``runtime.wait_graph``), and ``explain`` joins the reports. It follows
each awaited value to the task that should send it, then to what that value waits for, and so on. A chain ends
at something that waits for nothing else: a running kernel, a value that was sent and has not arrived, a task
that does not answer, or a value that occurs earlier in the chain, which is a circle.

The reports of tasks are of different moments, so a step that runs may look like one that hangs: its value is
on its way, its next part is about to begin. ``Looks`` compares several collections of reports: a step of
which something has changed in between moves, and is not diagnosed.

Pure: no processes, no clock. Used by the session API, and by the command line for the reports of a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any

from actorsession.drawing.shown import ShownValue
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import short_device
from actorsession.plan.rendezvous_key import RendezvousKey, parse_key
from actorsession.records import dataclass
from actorsession.runtime.hang_report_format import format_cause, format_report, tensor
from actorsession.runtime.wait_graph import (
    COLLECTIVE,
    FOLLOWS,
    HELD,
    LOST,
    NOBODY,
    QUEUED,
    RUNS,
    SENT,
    SILENT,
    SUSPENDED,
    UNBEGUN,
    UNFED,
    WAITS,
    CollectiveWait,
    HeldPool,
    KernelNow,
    MasterWaits,
    PartialWaits,
    SentKey,
    StepWaits,
    TaskWaits,
)

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = ["CIRCLE", "Cause", "HangReport", "Looks", "StuckStep", "awaited_keys", "explain"]

CIRCLE = "circle"
"""A value that waits for itself through other values, or members of collectives that wait for each other."""

# Between a node or a tensor and its device, in the edges of a report.
_PLACE = re.compile(r" (?:on|of) (?=/job:)")
# Most causes reported of a step, values followed for it, and keys in the chain of a cause.
_CAUSES = 5
_FOLLOWED = 2000
_IN_A_ROW = 12
# Seconds for which a step stands still before it is diagnosed. Each look waits for a turn of the loop of each
# task, so a value that is on its way has arrived at the next but one; the rest is for large ones.
_STILL = 0.5
# The pauses between looks: what moves is seen to do so at once, and tasks have little work with what hangs.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1
# From the most to the least informative; causes of one kind are ordered by waiting time, longest first.
_ORDER = (LOST, CIRCLE, SILENT, HELD, UNFED, RUNS, QUEUED, SUSPENDED, COLLECTIVE, UNBEGUN, FOLLOWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Something that a step waits for and that itself waits for no other value.

    Attributes:
        kind: ``runs`` (a kernel), ``queued``, ``suspended``, ``lost``, ``circle``, ``silent`` (a task),
            ``collective``, ``held``, ``unfed``, ``unbegun``, ``ready`` or ``follows``.
        task: the task that has it.
        node: the node.
        op: the op type of a kernel.
        device: the device of the node.
        source: the user's source line.
        seconds: how long a kernel has been running or waiting.
        link: the task that does not read, for a step that is held.
        reason: why a task does not answer, or a kernel gets no thread.
        chain: rendezvous keys from the waiting node down to the cause: the first few and the last.
        more_chain: how many keys are left out.
        waiters: the nodes that wait for the first key.
        collectives: the member of a collective that waits; those that wait for each other in a circle.
    """

    kind: str
    task: str
    node: str = ""
    op: str = ""
    device: str = ""
    source: str = ""
    seconds: float = 0.0
    link: str = ""
    reason: str = ""
    chain: tuple[str, ...] = ()
    more_chain: int = 0
    waiters: tuple[str, ...] = ()
    collectives: tuple[CollectiveWait, ...] = ()

    @property
    def keys(self) -> tuple[RendezvousKey, ...]:
        """The parsed keys of the chain: edge, source device, destination device."""
        return tuple([parse_key(key) for key in self.chain])

    def __str__(self) -> str:
        return format_cause(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckStep:
    """A step that is under way.

    Attributes:
        step_id: the step.
        session: the handle of its session; "" for a session in this process.
        seconds: how long it has been under way.
        causes: its root causes, the most informative first.
        more_causes: how many causes are left out.
        tasks: the reports of the tasks on this step.
        unfinished: the tasks whose partitions have not ended, according to the master.
        partial: the partial run that the step belongs to, if any.
        moves: whether something of it has changed while it was looked at; then it has no causes.
    """

    step_id: int
    session: str
    seconds: float
    causes: tuple[Cause, ...] = ()
    more_causes: int = 0
    tasks: tuple[StepWaits, ...] = ()
    unfinished: tuple[str, ...] = ()
    partial: PartialWaits | None = None
    moves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HangReport(ShownValue):
    """What the steps of a session or of a cluster wait for. Its text begins with the root cause.

    Attributes:
        steps: the steps under way, the oldest first.
        more_steps: how many steps are left out.
        kernels: kernels that run without a step.
        masters: the reports of the masters on their sessions: queues, registrations.
        waiting: runs in this process that have not been sent yet.
        silent: the reason for each task that does not answer.
        pools: the kernel pools with threads that are held by kernels of steps that have ended.
    """

    steps: tuple[StuckStep, ...] = ()
    more_steps: int = 0
    kernels: tuple[KernelNow, ...] = ()
    masters: tuple[MasterWaits, ...] = ()
    waiting: int = 0
    silent: Mapping[str, str] = field(default_factory=dict)
    pools: tuple[HeldPool, ...] = ()

    @property
    def root(self) -> Cause | None:
        """The most informative cause of all steps."""
        causes = [cause for step in self.steps for cause in step.causes]
        return min(causes, key=_rank, default=None)

    def edges(self) -> Iterator[tuple[str, str, str]]:
        """Yield what waits for what, and for which tensor, from the nodes that wait down to each root cause."""
        for step in self.steps:
            for cause in step.causes:
                keys = cause.keys
                last = f"{cause.node or cause.kind} on {cause.device or cause.task}"
                at = f"step {step.step_id}"
                if keys:
                    at = f"{', '.join(cause.waiters) or at} on {keys[0].dst_device}"
                for key in keys:
                    value = f"{tensor(key.edge_name)} of {key.src_device}"
                    yield at, value, tensor(key.edge_name)
                    at = value
                if last != at:
                    yield at, last, cause.kind

    def _sheet(self) -> Sheet:
        from actorsession.drawing import Arrow, Box, Picture
        from actorsession.drawing.sheet import Sheet, Table

        edges = tuple(dict.fromkeys(self.edges()))
        reasons = {awaited for _, awaited, _ in edges} - {waits for waits, _, _ in edges}
        names = dict.fromkeys(name for waits, awaited, _ in edges for name in (waits, awaited))
        boxes = []
        for name in names:
            label, *place = _PLACE.split(name)
            lines = tuple(map(short_device, place))
            boxes.append(Box(name, lines, (), "error" if name in reasons else "", name, label))
        picture = Picture(tuple(boxes), tuple(Arrow(*edge) for edge in edges))
        causes = [(str(step.step_id), step.session, str(cause)) for step in self.steps for cause in step.causes]
        tables = [
            Table("steps", ("step", "session", "waits because"), causes, 3),
            Table("tasks without an answer", ("task", "reason"), list(self.silent.items()), 2),
        ]
        title, _, _ = str(self).partition("\n")
        return Sheet(title, {}, tables, {"what waits for what": picture.svg} if edges else {})

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values, with rendezvous keys parsed as well."""
        out = asdict(self)
        for step, entry in zip(self.steps, out["steps"], strict=True):
            for cause, plain in zip(step.causes, entry["causes"], strict=True):
                plain["keys"] = [{"edge": k.edge_name, "from": k.src_device, "to": k.dst_device} for k in cause.keys]
                plain["words"] = str(cause)
        return out

    def __str__(self) -> str:
        return format_report(self)


def _rank(cause: Cause) -> tuple[int, float]:
    place = _ORDER.index(cause.kind) if cause.kind in _ORDER else len(_ORDER)
    return place, -cause.seconds


def awaited_keys(waits: Iterable[TaskWaits]) -> dict[tuple[int, str], str]:
    """Return the awaited values, by step and key, with the session of each step.

    Callers that collect the reports query the senders of these values next.
    """
    senders: dict[tuple[int, str], str] = {}
    for task in waits:
        sessions = {step.step_id: step.session for step in task.steps}
        for step in task.steps:
            for waiter in step.waiters:
                senders.update({(step.step_id, key): step.session for key in waiter.keys})
        for sent in task.keys:
            for key in sent.keys:
                senders.setdefault((sent.step_id, key), sessions.get(sent.step_id, ""))
    return senders


def explain(waits: Sequence[TaskWaits], silent: Mapping[str, str] | None = None, *, waiting: int = 0) -> HangReport:
    """Join the reports of tasks into one report.

    Args:
        waits: the reports; several of one task are merged.
        silent: the reason for each task that did not answer.
        waiting: runs in this process that have not been sent yet.
    """
    return _Explainer(waits, silent or {}).explain(waiting)


class Looks:
    """Looks at the same steps, one after the other, until each has moved, is over, or stands still.

    A step stands still for ``_STILL``; for one look if it only waits for kernels that run.

    Args:
        within: seconds that all looks may take together; ``None`` for no limit.
    """

    def __init__(self, within: float | None) -> None:
        self._enough = _STILL if within is None else min(_STILL, within / 2)
        self._pause = _FIRST_PAUSE
        self._begun = 0.0
        # What was seen of the steps that have not moved since the first look.
        self._still: dict[int, list[Any]] | None = None
        self.waits: Sequence[TaskWaits] = ()

    def add(self, waits: Sequence[TaskWaits], now: float) -> float | None:
        """Add a look.

        Args:
            waits: the reports of all tasks at this moment.
            now: the time by a monotonic clock.

        Returns:
            The seconds after which to look again; ``None`` if nothing more would be learnt.
        """
        seen = _seen(waits)
        if self._still is None:
            self._still, self._begun, self.waits = seen, now, waits
            return self._pause if seen else None
        still = self._still = {s: was for s, was in self._still.items() if seen.get(s) == was}
        moving = tuple([step_id for step_id in seen if step_id not in still])
        self.waits = (*waits, TaskWaits(task="", moving=moving))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return self._pause if now < self._begun + self._enough and self._is_in_doubt() else None

    def _is_in_doubt(self) -> bool:
        """Return whether a step that may still move waits for something else than kernels that run."""
        steps = [step for step in explain(self.waits).steps if not step.moves]
        return any(not step.causes or {c.kind for c in step.causes} != {RUNS} for step in steps)

    def pauses(self, look: Callable[[], TaskWaits], clock: Callable[[], float]) -> Iterator[float]:
        """Look at steps of this process; yield the pauses between looks, which the caller waits."""
        while (pause := self.add([look()], clock())) is not None:
            yield pause


def _seen(waits: Iterable[TaskWaits]) -> dict[int, list[Any]]:
    """Return what is said of each step, apart from times, so that it differs once the step has moved."""
    seen: dict[int, list[Any]] = {}
    for task in waits:
        for step in task.steps:
            kernels = tuple([replace(kernel, seconds=0.0) for kernel in step.kernels])
            seen.setdefault(step.step_id, []).append(replace(step, seconds=0.0, kernels=kernels))
        for master in task.masters:
            for step_id, _, unfinished in master.steps:
                seen.setdefault(step_id, []).append(unfinished)
            for run in master.partial_runs:
                seen.setdefault(run.step_id, []).append(replace(run, seconds=0.0))
    for sent in [sent for task in waits for sent in task.keys if sent.step_id in seen]:
        kernel = None if sent.kernel is None else replace(sent.kernel, seconds=0.0)
        seen[sent.step_id].append(replace(sent, kernel=kernel))
    return seen


class _Explainer:
    def __init__(self, waits: Sequence[TaskWaits], silent: Mapping[str, str]) -> None:
        self.waits = waits
        self.silent = silent
        self.sent = {(s.step_id, s.key): s for task in waits for s in task.keys}
        self.of_step: dict[int, dict[str, StepWaits]] = {}
        for task in waits:
            for step in task.steps:
                self.of_step.setdefault(step.step_id, {})[step.task or task.task] = step
        self.collectives: dict[str, list[CollectiveWait]] = {}
        for step in [step for task in waits for step in task.steps]:
            for wait in step.collectives:
                self.collectives.setdefault(wait.device, []).append(wait)
        self.masters = {m.session: m for task in waits for m in task.masters}
        self.pools = {(pool.task, n): pool for t in waits for n, pool in enumerate(t.pools)}
        # Also by the sessions' own names for a task: a full pool there gives their kernels no thread.
        self.full = {
            name: pool
            for task in waits
            for pool in task.pools
            for name in (task.task, *task.names.values())
            if pool.is_full
        }
        self.moving = {step_id for task in waits for step_id in task.moving}
        self.partials = {p.step_id: p for m in self.masters.values() for p in m.partial_runs}

    def explain(self, waiting: int) -> HangReport:
        of_masters = {s: (m, t, p) for m in self.masters.values() for s, t, p in m.steps}
        steps = []
        for step_id in dict.fromkeys([*self.of_step, *of_masters, *self.partials]):
            parts = tuple(self.of_step.get(step_id, {}).values())
            master = of_masters.get(step_id)
            partial = self.partials.get(step_id)
            sessions = [p.session for p in parts] + ([master[0].session] if master else [])
            sessions += [partial.session] if partial else []
            seconds = max([p.seconds for p in parts] + ([master[1]] if master else []), default=0.0)
            unfinished = master[2] if master else ()
            moves = step_id in self.moving
            causes = [] if moves else self._causes(step_id, parts, unfinished)
            steps.append(
                StuckStep(
                    step_id=step_id,
                    session=next(filter(None, sessions), ""),
                    seconds=seconds,
                    causes=tuple(causes[:_CAUSES]),
                    more_causes=max(0, len(causes) - _CAUSES),
                    tasks=parts,
                    unfinished=unfinished,
                    partial=partial,
                    moves=moves,
                )
            )
        return HangReport(
            steps=tuple(sorted(steps, key=lambda s: -s.seconds)),
            more_steps=sum(task.more_steps for task in self.waits) + sum(m.left_out for m in self.masters.values()),
            kernels=tuple([k for task in self.waits for k in task.kernels]),
            masters=tuple(self.masters.values()),
            waiting=waiting,
            silent=dict(self.silent),
            pools=tuple(self.pools.values()),
        )

    # -- causes of one step ------------------------------------------------------------------------

    def _causes(self, step_id: int, parts: Sequence[StepWaits], unfinished: Sequence[str]) -> list[Cause]:
        causes: dict[tuple[str, ...], Cause] = {}
        for part in parts:
            for cause in self._causes_at(part):
                known = causes.setdefault(_identity(cause), cause)
                if len(cause.chain) < len(known.chain) or not known.chain:
                    causes[_identity(cause)] = cause
        spoken_of = {part.task for part in parts if part.state != UNBEGUN}
        for task in unfinished:
            if task in self.silent:
                cause = Cause(kind=SILENT, task=task, reason=self.silent[task])
                causes.setdefault(_identity(cause), cause)
            elif task not in spoken_of and not causes:
                causes.setdefault((task,), Cause(kind=UNBEGUN, task=task))
        return sorted(causes.values(), key=_rank)

    def _causes_at(self, part: StepWaits) -> Iterable[Cause]:
        if part.state == HELD:
            yield Cause(kind=HELD, task=part.task, link=part.link, seconds=part.seconds)
        for collective in part.collectives:
            yield self._collective_cause(collective, part.task)
        for kernel in part.kernels:
            # What a suspended collective waits for is said of it as a collective.
            if not (part.collectives and kernel.suspended and kernel.op.startswith("Collective")):
                yield self._with_reason(_of_kernel(kernel, part.task))
        followed: dict[str, tuple[str, ...]] = {}  # from each key to the nodes that wait for it
        for waiter in part.waiters:
            for key in waiter.keys:
                followed.setdefault(key, waiter.nodes)
        for key, nodes in list(followed.items())[:_FOLLOWED]:
            yield from self._follow(part.step_id, key, nodes)

    def _collective_cause(self, collective: CollectiveWait, task: str) -> Cause:
        """Return why a member of a collective waits: a task that is silent, a circle, or members to come."""
        for device in collective.awaits:
            other = device.rpartition("/")[0]
            if other in self.silent:
                return Cause(
                    kind=SILENT, task=other, reason=f"{self.silent[other]}; {collective}", collectives=(collective,)
                )
        circle = _circle(collective, self.collectives)
        kind = CIRCLE if circle else COLLECTIVE
        return Cause(kind=kind, task=task, device=collective.device, collectives=circle or (collective,))

    def _with_reason(self, cause: Cause) -> Cause:
        """Return a cause; if its kernel waits for a thread, with what holds all threads."""
        pool = self.full.get(cause.task)
        if cause.kind != QUEUED or pool is None:
            return cause
        return replace(cause, reason=str(pool))

    def _follow(self, step_id: int, first: str, nodes: tuple[str, ...]) -> Iterable[Cause]:
        """Yield the causes below one value, each with the chain to it; each value is visited once."""
        ways: list[tuple[str, ...]] = [(first,)]
        seen: set[str] = set()
        while ways and len(seen) < _FOLLOWED:
            way = ways.pop()
            key = way[-1]
            if key in way[:-1]:
                circle = way[way.index(key) :]
                yield _cause(CIRCLE, parse_key(key).src_task, circle, nodes)
                continue
            if key in seen:
                continue
            seen.add(key)
            sent = self.sent.get((step_id, key))
            if sent is not None and sent.state == WAITS and sent.keys:
                ways += [(*way, below) for below in reversed(sent.keys)]
                continue
            yield self._end_of(step_id, way, nodes, sent)

    def _end_of(self, step_id: int, way: tuple[str, ...], nodes: tuple[str, ...], sent: SentKey | None) -> Cause:
        """Return the cause at the end of a chain."""
        try:
            key = parse_key(way[-1])
        except InvalidArgumentError as error:
            return _cause(SILENT, "", way, nodes, reason=error.message)
        task = key.src_task
        partial = self.partials.get(step_id)
        feed = _fed_name(key) if partial is not None else ""
        if partial is not None and feed in partial.feeds:
            return _cause(UNFED, task, way, nodes, node=feed)
        if sent is None:
            reason = self.silent.get(task, "nothing was heard of this value from it")
            return _cause(SILENT, task, way, nodes, reason=reason)
        if sent.kernel is not None and sent.state != SENT:
            return self._with_reason(_of_kernel(sent.kernel, task, way, nodes))
        kind = LOST if sent.state in (SENT, NOBODY) else sent.state
        reason = "over" if sent.over else ""
        return _cause(kind, task, way, nodes, node=sent.node, link=sent.link, reason=reason)


def _fed_name(key: RendezvousKey) -> str:
    """Return the tensor that a key of a partial run feeds; "" for another key."""
    parts = key.edge_name.split("_", 2)
    return parts[2] if len(parts) == 3 and parts[0] == "feed" else ""


def _identity(cause: Cause) -> tuple[str, ...]:
    """Return the identity of a cause: its location, not the chain to it."""
    if cause.kind in (LOST, UNFED):
        return cause.kind, cause.chain[-1]
    if cause.kind == CIRCLE:
        return (cause.kind, *sorted({*cause.chain, *map(str, cause.collectives)}))
    if cause.kind == COLLECTIVE:
        return (cause.kind, str(cause.collectives[0]))
    return cause.kind, cause.task, cause.node, cause.device


def _circle(first: CollectiveWait, by_device: Mapping[str, Sequence[CollectiveWait]]) -> tuple[CollectiveWait, ...]:
    """Return the members of collectives that wait for each other, beginning with one; none if they do not.

    A device that has come to the same instance is not waited for: its values are on their way.
    """
    ways: list[tuple[CollectiveWait, ...]] = [(first,)]
    seen = {first}
    while ways:
        way = ways.pop()
        here = way[-1]
        for device in here.awaits:
            theirs = by_device.get(device, ())
            if any((o.group, o.instance) == (here.group, here.instance) for o in theirs):
                continue
            for other in theirs:
                if other == first:
                    return way
                if other not in seen:
                    seen.add(other)
                    ways.append((*way, other))
    return ()


def _cause(kind: str, task: str, way: tuple[str, ...], nodes: tuple[str, ...], **more: Any) -> Cause:
    return Cause(
        kind=kind, task=task, chain=_shortened(way), more_chain=max(0, len(way) - _IN_A_ROW), waiters=nodes, **more
    )


def _shortened(way: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first keys of a chain and the last one, where the cause is."""
    return way if len(way) <= _IN_A_ROW else (*way[: _IN_A_ROW - 1], way[-1])


def _of_kernel(kernel: KernelNow, task: str, way: tuple[str, ...] = (), nodes: tuple[str, ...] = ()) -> Cause:
    return _cause(
        kernel.state,
        task,
        way,
        nodes,
        node=kernel.node,
        op=kernel.op,
        device=kernel.device,
        source=kernel.source,
        seconds=kernel.seconds,
    )
