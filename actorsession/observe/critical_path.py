"""The critical path of a step: what took the time from its beginning to its end, without a gap.

The path is followed backwards, from the end of the step: each part of it began when the last thing was there
that it needed. A node needs its inputs, and the nodes before it in its segment, which run one after the other;
a value of another process needs the frame that has brought it; a part of the step at a task needs the request
of the master, and that the request of the client. What no part accounts for is time in which something was
ready and did not run, or was on its way. Times of other processes are as exact as ``StepStats.clocks`` says.

Pure functions on ``StepStats``; the trace marks the path, users print it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from actorsession.config import FrameStats, NodeStats, PhaseStats, StepStats, TransferStats
from actorsession.drawing import text
from actorsession.drawing.chart import Lane, Span, lanes
from actorsession.drawing.sheet import Sheet, Table
from actorsession.drawing.shown import ShownValue
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import device_in_task, device_task
from actorsession.observe.labels import parse_label
from actorsession.plan.rendezvous_key import RendezvousKey, parse_key
from actorsession.records import dataclass

__all__ = ["CriticalPath", "PathRow", "critical_path", "short_task"]

T = TypeVar("T")

# Seconds by which two times of one process may contradict each other: floats of seconds since 1970 resolve a
# quarter of a microsecond.
_ROUNDING = 1e-6
_HEADINGS = ("kind", "where", "what", "took", "share")
# Share of the step below which rows of the printed table are summed up in one.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class PathRow:
    """A part of the critical path.

    Attributes:
        kind: ``work`` of a node or of the runtime, ``wire`` for bytes on their way, ``wait`` for something that
            others have to do, such as to enqueue, ``queue`` for what is ready and does not run, or is not sent.
        where: the device, the task, or the two tasks of a link.
        what: the node, the tensor, or what is done.
        began: wall-clock seconds.
        ended: wall-clock seconds.
        node: name of the node, if it is one.
        device: full name of its device.
    """

    kind: str
    where: str
    what: str
    began: float
    ended: float
    node: str = ""
    device: str = ""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.began


@dataclass(frozen=True, slots=True, repr=False)
class CriticalPath(ShownValue):
    """The critical path of a step; prints as a table of what took at least a hundredth of the time.

    Attributes:
        began: wall-clock seconds at the beginning of the step.
        ended: at its end.
        rows: its parts, in order; each begins where the one before it has ended.
    """

    began: float
    ended: float
    rows: tuple[PathRow, ...]

    @property
    def seconds(self) -> float:
        """How long the step took."""
        return self.ended - self.began

    def share(self, row: PathRow) -> float:
        """Return the part of the time of the step that a row took, between 0 and 1."""
        return row.seconds / self.seconds if self.seconds else 0.0

    @property
    def kinds(self) -> dict[str, float]:
        """The seconds of each kind, the most first."""
        sums: dict[str, float] = defaultdict(float)
        for row in self.rows:
            sums[row.kind] += row.seconds
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def to_wire(self) -> list[Any]:
        """Return the path as plain values."""
        rows = [[r.kind, r.where, r.what, r.began, r.ended, r.node, r.device] for r in self.rows]
        return [self.began, self.ended, rows]

    @classmethod
    def from_wire(cls, value: Any) -> CriticalPath:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        try:
            began, ended, rows = value
            return cls(began, ended, tuple([PathRow(*row) for row in rows]))
        except (TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"invalid critical path: {value!r:.100}") from exc

    def _summary(self) -> str:
        kinds = ", ".join(f"{text.duration(seconds)} {kind}" for kind, seconds in self.kinds.items())
        return f"critical path of {text.duration(self.seconds)}: {kinds or 'nothing was recorded'}"

    def _table(self) -> list[tuple[str, str, str, str, str]]:
        def cells(share: float, seconds: float, *words: str) -> tuple[str, str, str, str, str]:
            kind, where, what = words
            return kind, where, what, text.duration(seconds), f"{100 * share:.1f} %"

        shown = [row for row in self.rows if self.share(row) >= _LEAST_SHARE]
        table = [cells(self.share(row), row.seconds, row.kind, row.where, row.what) for row in shown]
        if others := len(self.rows) - len(shown):
            left = sum([row.seconds for row in self.rows if self.share(row) < _LEAST_SHARE])
            table.append(cells(left / self.seconds if self.seconds else 0.0, left, "", "", f"{others} shorter parts"))
        return table

    def __str__(self) -> str:
        lines = text.table([_HEADINGS, *self._table()], names=3)
        return "\n".join([self._summary(), *lines])

    def to_svg(self) -> str:
        """Return a drawing of the path, with a lane for each place and a colour for each kind."""
        spans: dict[str, list[Span]] = defaultdict(list)
        for row in self.rows:
            title = f"{row.kind}: {row.what}\n{text.duration(row.seconds)}"
            spans[row.where].append(Span(row.began - self.began, row.ended - self.began, row.what, row.kind, title))
        return lanes([Lane(where, tuple(here)) for where, here in spans.items()], caption=self._summary())

    def _sheet(self) -> Sheet:
        table = Table("parts", _HEADINGS, self._table(), 3)
        return Sheet(self._summary(), tables=[table], drawings={"time": self.to_svg} if self.rows else {})


def critical_path(stats: StepStats) -> CriticalPath:
    """Return the critical path of a step.

    Args:
        stats: of a run with ``RunOptions.trace_level`` set.
    """
    return _Walk(_Step(stats)).path()


def short_task(task: str) -> str:
    """Return the name of a task without its replica, of which there is one."""
    return task.replace("/replica:0", "")


def _short_device(device: str) -> str:
    return f"{short_task(device_task(device))} {device_in_task(device)}"


class _Latest(Generic[T]):
    """Things by their key, of which the last one before a moment is looked up."""

    def __init__(self, things: Iterable[tuple[Any, T]], when: Callable[[T], float]) -> None:
        self._things: dict[Any, list[T]] = defaultdict(list)
        for key, thing in things:
            self._things[key].append(thing)
        for of_key in self._things.values():
            of_key.sort(key=when)
        self._times = {key: list(map(when, of_key)) for key, of_key in self._things.items()}

    def __contains__(self, key: Any) -> bool:
        return key in self._things

    def before(self, key: Any, moment: float) -> T | None:
        """Return the last one of a key that was there at a moment."""
        number = bisect_right(self._times.get(key, ()), moment + _ROUNDING)
        return self._things[key][number - 1] if number else None


class _Step:
    """The statistics of a step, as the path is followed through them."""

    def __init__(self, stats: StepStats) -> None:
        self.stats = stats
        self.runs = _Latest([((n.device, n.node), n) for n in stats.nodes], lambda n: n.end)
        self.of_task = _Latest([(device_task(n.device), n) for n in stats.nodes], lambda n: n.end)
        self.of_segment = _Latest([(_segment(n), n) for n in stats.nodes], lambda n: n.end)
        self.of_thread = _Latest([((device_task(n.device), n.thread), n) for n in stats.nodes], lambda n: n.end)
        ends = [(t, parse_key(t.key)) for t in stats.transfers]
        self.arrivals = _Latest(
            [((t.device, sent_tensor(key)), t) for t, key in ends if t.kind == "recv"], lambda t: t.time
        )
        self.sends = _Latest([(t.key, t) for t, _ in ends if t.kind == "send"], lambda t: t.time)
        self.pushes = _Latest(
            [(key, f) for f in stats.frames if f.kind == "push" for key in f.keys], lambda f: f.arrived
        )
        self.on_link = _Latest([((f.source, f.target), f) for f in stats.frames], lambda f: f.arrived)
        self.quickest: dict[tuple[str, str], float] = {}  # seconds on the way, by link
        for frame in stats.frames:
            link, took = (frame.source, frame.target), frame.arrived - frame.sent
            self.quickest[link] = min(took, self.quickest.get(link, took))
        self.frames = _Latest([((f.kind, f.target), f) for f in stats.frames], lambda f: f.arrived)
        self.phases = {(p.kind, p.task): p for p in stats.phases}
        self.run = next((p for p in stats.phases if p.kind == "run"), None)
        self.step = next((p for p in stats.phases if p.kind == "step"), None)
        times = [time for n in stats.nodes for time in (n.start, n.end)] + [t.time for t in stats.transfers]
        whole = self.run or self.step
        self.began = whole.began if whole else min(times, default=0.0)
        self.ended = whole.ended if whole else max(times, default=0.0)


def _segment(node: NodeStats) -> tuple[Any, ...]:
    """Return what the nodes of one run of a segment have in common, and no others."""
    return node.device, node.thread, node.detail.scheduled_nanos if node.detail is not None else node.start


def sent_tensor(key: RendezvousKey) -> str:
    """Return the tensor of a key by the name that it has in labels of nodes."""
    return key.edge_name.split("_", 2)[-1].removesuffix(":0")


@dataclass(frozen=True, slots=True)
class _Cause:
    """What a node needs: since when it is there, and where the path goes on from there."""

    time: float
    follow: Callable[[], None]
    in_segment: bool = False
    begins: bool = False  # whether it is the beginning of a part


class _Walk:
    """The way from the end of a step to its beginning."""

    def __init__(self, step: _Step) -> None:
        self._step = step
        self._rows: list[PathRow] = []
        self._cursor = step.ended
        self._next: Callable[[], None] | None = None
        self._seen: set[int] = set()  # nodes, which clocks that are wrong might lead to twice

    def path(self) -> CriticalPath:
        """Return the path."""
        step = self._step
        self._end()
        while self._next is not None and self._cursor > step.began:
            follow, self._next = self._next, None
            follow()
        whole = step.run or step.step
        self._add("work", short_task(whole.task) if whole else "", "begins the step", step.began)
        return CriticalPath(step.began, step.ended, tuple(self._rows[::-1]))

    def _add(self, kind: str, where: str, what: str, began: float, node: NodeStats | None = None) -> None:
        """Add the part of the path that ends where the path is now; nothing if it takes no time."""
        began = max(began, self._step.began)
        if began < self._cursor:
            name, device = (node.node, node.device) if node is not None else ("", "")
            self._rows.append(PathRow(kind, where, what, began, self._cursor, name, device))
            self._cursor = began

    def _follow(self, cause: Callable[[], None]) -> None:
        self._next = cause

    # -- the end -------------------------------------------------------------------------------

    def _end(self) -> None:
        step = self._step
        if step.run is not None:
            self._wire(step.frames.before(("done", step.run.task), self._cursor), "answer to the client")
        if step.step is None:
            last = max(step.stats.nodes, key=lambda n: n.end, default=None)
            if last is not None:
                self._follow(lambda: self._node(last))
            return
        master = step.step.task
        done, own = step.frames.before(("done", master), self._cursor), step.phases.get(("part", master))
        if done is not None and not (own is not None and done.arrived < own.ended <= self._cursor):
            self._add("work", short_task(master), "answers the client", done.arrived)
            self._wire(done, "answer of its part")
            self._end_of_part(done.source)
        else:
            self._add("work", short_task(master), "answers the client", own.ended if own else self._cursor)
            self._end_of_part(master)

    def _end_of_part(self, task: str) -> None:
        last = self._step.of_task.before(task, self._cursor)
        if last is None:
            self._follow(lambda: self._part(task))
        else:
            self._add("work", short_task(task), "returns the values", last.end)
            self._follow(lambda: self._node(last))

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, node: NodeStats) -> None:
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        where, what = _short_device(node.device), f"{node.node} ({node.op})"
        causes = [cause for cause in self._causes(node) if cause.time <= node.start + _ROUNDING]
        task = device_task(node.device)
        last = max(causes, key=lambda cause: cause.time, default=_Cause(node.start, lambda: self._part(task)))
        # Between the nodes of a segment only their times are taken.
        self._add("wait" if node.waited else "work", where, what, last.time if last.in_segment else node.start, node)
        ready = node.start if node.detail is None else node.detail.scheduled_nanos / 1e9
        if last.time < ready < node.start:
            self._add("queue", where, f"{node.node} is ready{self._behind(node, ready)}", ready)
        if last.begins:
            self._add("work", short_task(task), "begins its part", last.time)
        elif causes:
            self._add("queue", where, f"{node.node} has its inputs, which are not taken yet", last.time)
        self._follow(last.follow)

    def _behind(self, node: NodeStats, ready: float) -> str:
        """Return what ran in the thread of a node while that was ready, as words."""
        before = self._step.of_thread.before((device_task(node.device), node.thread), node.start)
        return f", behind {before.node}" if before is not None and before.end > ready else ", and waits to run"

    def _causes(self, node: NodeStats) -> Iterable[_Cause]:
        """Yield what a node needs, as far as it was recorded."""
        step, start = self._step, node.start
        label = "" if node.detail is None else node.detail.timeline_label
        for name in parse_label(label)[1]:
            arrival = step.arrivals.before((node.device, name), start)
            if arrival is not None:
                yield self._arrival(arrival)
                continue
            source = step.runs.before((node.device, name.removeprefix("^").partition(":")[0]), start)
            if source is not None and source is not node:
                yield _Cause(source.end, _bound(self._node, source), _segment(source) == _segment(node))
        before = step.of_segment.before(_segment(node), start)
        if before is not None and before is not node:
            yield _Cause(before.end, _bound(self._node, before), in_segment=True)
        task = device_task(node.device)
        if (part := step.phases.get(("part", task))) is not None:
            held = step.phases.get(("backpressure", task))
            yield _Cause(part.began if held is None else held.ended, lambda: self._part(task), begins=True)

    def _arrival(self, arrival: TransferStats) -> _Cause:
        frame = self._step.pushes.before(arrival.key, arrival.time)
        key = parse_key(arrival.key)
        if frame is None:
            return _Cause(arrival.time, lambda: self._handed_over(arrival, key))
        return _Cause(frame.arrived, lambda: self._pushed(frame, arrival, key))

    # -- between devices and tasks -------------------------------------------------------------

    def _pushed(self, frame: FrameStats, arrival: TransferStats, key: RendezvousKey) -> None:
        tensor = key.tensor or key.edge_name
        self._wire(frame, f"{tensor}, {text.byte_size(arrival.nbytes)}")
        sent = self._step.sends.before(arrival.key, self._cursor)
        if sent is not None:
            words = f"{tensor} is held until nothing else is ready there"
            self._add("queue", _short_device(key.src_device), words, sent.time)
        self._sender(key)

    def _handed_over(self, arrival: TransferStats, key: RendezvousKey) -> None:
        sent = self._step.sends.before(arrival.key, self._cursor)
        if sent is not None:
            words = f"{key.tensor or key.edge_name} is handed over by {device_in_task(key.src_device)}"
            self._add("queue", _short_device(arrival.device), words, sent.time)
        self._sender(key)

    def _sender(self, key: RendezvousKey) -> None:
        """Go on from the node that has sent a value, or else from the one that has made it."""
        step, device = self._step, key.src_device
        name = sent_tensor(key).removeprefix("^").partition(":")[0]
        sender = step.runs.before((device, f"_send/{key.edge_name}"), self._cursor)
        sender = sender or step.runs.before((device, name), self._cursor)
        if sender is None:
            self._follow(lambda: self._part(device_task(device)))
            return
        self._add("queue", _short_device(device), f"{name} is there, and its segment goes on", sender.end)
        self._follow(lambda: self._node(sender))

    def _wire(self, frame: FrameStats | None, what: str) -> None:
        """Add the way of a frame, and before it the time until what was sent before it had left."""
        if frame is None:
            return
        step, link = self._step, f"{short_task(frame.source)} > {short_task(frame.target)}"
        self._add("queue", link, f"{what}: read, not taken yet", frame.arrived)
        before = step.on_link.before((frame.source, frame.target), frame.arrived - 2 * _ROUNDING)
        if before is not None and before.sent <= frame.sent:
            # Its end has left as long before it arrived as the quickest frame was on its way.
            self._add("wire", link, what, max(before.arrived - step.quickest[frame.source, frame.target], frame.sent))
            self._add("queue", link, f"{what}: behind {text.byte_size(before.nbytes)}", frame.sent)
        self._add("wire", link, what, frame.sent)

    # -- the beginning -------------------------------------------------------------------------

    def _part(self, task: str) -> None:
        """Go on from the beginning of the part of a task."""
        step, who = self._step, short_task(task)
        part, held = step.phases.get(("part", task)), step.phases.get(("backpressure", task))
        if held is not None:
            self._add("work", who, "begins its part", held.ended)
            self._add("wait", who, f"until the link to {short_task(held.what)} has room", held.began)
        elif part is not None:
            self._add("work", who, "begins its part", part.began)
        request = step.frames.before(("RunGraph", task), self._cursor)
        if request is not None:
            self._wire(request, "request of its part")
            # The master has run what it could of its own part before it sends the requests.
            if (own := step.of_task.before(request.source, self._cursor)) is not None:
                self._add("work", short_task(request.source), "requests the other parts", own.end)
                self._follow(lambda: self._node(own))
                return
        self._follow(self._request)

    def _request(self) -> None:
        """Go on from the request of the step at its master."""
        step = self._step
        if step.step is None:
            return
        master, admission = step.step.task, step.phases.get(("admission", step.step.task))
        self._admission(admission, master, "begins the parts")
        self._wire(step.frames.before(("RunStep", master), self._cursor), "request of the step")
        if step.run is not None:
            self._admission(step.phases.get(("admission", step.run.task)), step.run.task, "sends the request")

    def _admission(self, admission: PhaseStats | None, task: str, what: str) -> None:
        if admission is not None:
            self._add("work", short_task(task), what, admission.ended)
            self._add("wait", short_task(task), "for its plan, its turn, or the clocks of the tasks", admission.began)


def _bound(follow: Callable[[NodeStats], None], node: NodeStats) -> Callable[[], None]:
    return lambda: follow(node)
