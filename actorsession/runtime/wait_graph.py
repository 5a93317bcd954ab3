"""What a task says of the steps that are under way there: who waits for what, and what runs.

Plain frozen values with a wire form, made by ``wait_reader`` and ``cluster.why``, read by ``session.why``.
Every list in them is cut at a limit, with the number of what was left out beside it, so that the answer of a
task with an enormous step stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Any, TypeVar

from actorsession.errors import ProtocolError
from actorsession.records import dataclass

__all__ = [
    "FOLLOWS", "HELD", "LOST", "NOBODY", "QUEUED", "READY", "RUNS", "SENT", "SILENT", "SUSPENDED", "UNBEGUN",
    "UNFED", "WAITS", "HeldPool", "KernelNow", "MasterWaits", "PartialWaits", "SentKey", "StepWaits",
    "TaskWaits", "Waiter",
]  # fmt: skip

WAITS = "waits"
"""The nodes that make a value wait for other values."""
FOLLOWS = "follows"
"""They wait for other nodes of the same device."""
READY = "ready"
"""They run in a moment."""
QUEUED = "queued"
"""They wait for a thread of the kernel pool."""
RUNS = "runs"
"""They run."""
SUSPENDED = "suspended"
"""They were begun, and wait without a thread for what comes from outside the step: a queue, say."""
SENT = "sent"
"""The value was sent."""
HELD = "held"
"""The step is not begun there until another task reads on."""
UNBEGUN = "unbegun"
"""The step has not begun there."""
NOBODY = "nobody"
"""Nothing of the step sends it there."""
LOST = "lost"
"""The value was sent, and has not arrived."""
UNFED = "unfed"
"""It is a feed of a partial run that nobody has given yet."""
SILENT = "silent"
"""The task does not answer."""

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelNow:
    """A node that runs at this moment, or waits for a thread to run in.

    Attributes:
        node: its name.
        op: its operation.
        device: where.
        source: the user's line that built it, ``file:line``.
        seconds: since when the nodes that run as one with it do; 0 if that is not known.
        step_id: the step; 0 for a run that needs no step.
        queued: whether it still waits for a thread of the kernel pool.
        suspended: whether it waits, without a thread, for what comes from outside the step.
    """

    node: str
    op: str
    device: str
    source: str
    seconds: float
    step_id: int
    queued: bool = False
    suspended: bool = False

    @property
    def state(self) -> str:
        """One of the states of this module."""
        return QUEUED if self.queued else SUSPENDED if self.suspended else RUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPool:
    """A kernel pool some of whose threads are held by kernels whose steps are over.

    Attributes:
        task: whose it is.
        threads: how many it has; those of its lane of first runs count if they are held so.
        held: how many of them are held so.
        kernels: the first few of those kernels, those that have run the longest first.
    """

    task: str
    threads: int
    held: int
    kernels: tuple[KernelNow, ...] = ()

    def __str__(self) -> str:
        kernels = [f"{k.node!r} ({k.op}) for {k.seconds:.3g} s" for k in self.kernels]
        left = [f"{self.held - len(kernels)} more"] if self.held > len(kernels) else []
        return (
            f"{self.held} of {self.threads} threads of the kernel pool are held by kernels whose steps are "
            f"over: {', '.join(kernels + left)}"
        )

    @property
    def is_full(self) -> bool:
        """Whether no thread is left for others."""
        return self.held >= self.threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """Nodes of one device that wait for the same values.

    Attributes:
        device: where.
        nodes: the first few of them.
        more_nodes: how many there are beside.
        keys: the first few rendezvous keys that they wait for.
        more_keys: how many there are beside.
    """

    device: str
    nodes: tuple[str, ...]
    more_nodes: int
    keys: tuple[str, ...]
    more_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWaits:
    """One step at one task.

    Attributes:
        step_id: the step.
        session: the handle of its session.
        task: the task, as that session calls it.
        state: ``runs``; ``held``; or ``unbegun``, where only values have come so far.
        link: for a step that is held, the task that does not read.
        seconds: since when.
        unfinished: how many groups of nodes have not run.
        waiters: the first few of those that wait for values from elsewhere.
        more_waiters: how many there are beside.
        kernels: what runs of it, or is queued.
        more_kernels: how many there are beside.
    """

    step_id: int
    session: str = ""
    task: str = ""
    state: str = RUNS
    link: str = ""
    seconds: float = 0.0
    unfinished: int = 0
    waiters: tuple[Waiter, ...] = ()
    more_waiters: int = 0
    kernels: tuple[KernelNow, ...] = ()
    more_kernels: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SentKey:
    """What has become of a value at the task that should send it.

    Attributes:
        step_id: the step.
        key: the rendezvous key.
        state: one of the states of this module.
        over: whether the task's part of the step has ended.
        node: what makes the value, or the first of the nodes that run as one with it.
        keys: the values that it waits for itself, the first few.
        kernel: what runs in its place.
        link: the task that does not read, where that holds it back.
    """

    step_id: int
    key: str
    state: str
    over: bool = False
    node: str = ""
    keys: tuple[str, ...] = ()
    kernel: KernelNow | None = None
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialWaits:
    """An open partial run.

    Attributes:
        handle: its name.
        step_id: its step.
        session: the handle of its session.
        seconds: since somebody has continued it last.
        feeds: what was not fed yet.
        fetches: what was not asked for yet.
        calls: how many calls wait for an answer.
    """

    handle: str
    step_id: int
    session: str
    seconds: float
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterWaits:
    """One session at its master.

    Attributes:
        session: its handle.
        task: the master's task, as the session calls it.
        steps: for each step under way, since when and the tasks whose part has not ended.
        registering: for each graph that is being registered, its tasks.
        in_flight: steps that were let in.
        waiting: steps that wait until fewer are in flight.
        partial_runs: the open partial runs.
        left_out: how many steps and partial runs there are beside.
    """

    session: str
    task: str
    steps: tuple[tuple[int, float, tuple[str, ...]], ...] = ()
    registering: tuple[tuple[str, ...], ...] = ()
    in_flight: int = 0
    waiting: int = 0
    partial_runs: tuple[PartialWaits, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWaits:
    """All that one task says.

    Attributes:
        task: the task, as it calls itself.
        names: by session, what that session calls the task.
        steps: its steps; those that are stuck the longest first.
        more_steps: how many there are beside.
        kernels: what runs of steps of no session, such as runs that need none.
        keys: what was asked about values that the task should send.
        masters: sessions that have their master there.
        pools: its kernel pool, if kernels whose steps are over hold threads of it.
    """

    task: str
    names: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[StepWaits, ...] = ()
    more_steps: int = 0
    kernels: tuple[KernelNow, ...] = ()
    keys: tuple[SentKey, ...] = ()
    masters: tuple[MasterWaits, ...] = ()
    pools: tuple[HeldPool, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        wire: dict[str, Any] = _plain(asdict(self))
        return wire

    @classmethod
    def from_wire(cls, value: Any) -> TaskWaits:
        """Read what ``to_wire`` made.

        Raises:
            ProtocolError: for any other form.
        """
        try:
            return _read(cls, value)
        except (TypeError, KeyError, ValueError, AttributeError) as exc:
            raise ProtocolError(
                f"not what a task says of its steps: {exc}: {value!r:.200}"
            ) from exc


_NESTED: Mapping[str, type[Any]] = {
    "waiters": Waiter, "kernels": KernelNow, "kernel": KernelNow, "partial_runs": PartialWaits,
    "masters": MasterWaits, "pools": HeldPool,
}  # fmt: skip


def _plain(value: Any) -> Any:
    """Without tuples, which do not travel."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _nested(cls: type[Any], name: str) -> type[Any] | None:
    if cls is TaskWaits and name in ("steps", "keys"):
        return StepWaits if name == "steps" else SentKey
    return _NESTED.get(name)


def _read(cls: type[V], value: Mapping[str, Any]) -> V:
    """A value of a class of this module; each field is of the type of its default or example."""
    found: dict[str, Any] = {}
    for known in fields(cls):  # type: ignore[arg-type]  # V is one of the classes above
        if known.name not in value:
            continue
        given, inner = value[known.name], _nested(cls, known.name)
        if inner is not None and isinstance(given, list):
            given = tuple([_read(inner, item) for item in given])
        elif inner is not None and given is not None:
            given = _read(inner, given)
        elif known.name != "kernel":
            given = _checked(known.name, str(known.type), given)
        found[known.name] = given
    return cls(**found)


def _checked(name: str, hint: str, given: Any) -> Any:
    kinds: dict[str, tuple[type[Any], ...]] = {
        "str": (str,), "int": (int,), "float": (int, float), "bool": (bool,),
    }  # fmt: skip
    if hint in kinds:
        if not isinstance(given, kinds[hint]):
            raise TypeError(f"{name} is {hint}, got {type(given).__name__}")
        return given
    if hint.startswith("Mapping"):
        return {str(key): str(item) for key, item in given.items()}
    if not isinstance(given, list):
        raise TypeError(f"{name} is a list, got {type(given).__name__}")
    if hint == "tuple[str, ...]":
        return tuple([str(item) for item in given])
    if name == "registering":
        return tuple([tuple([str(task) for task in tasks]) for tasks in given])
    return tuple([(int(s), float(since), tuple(map(str, tasks))) for s, since, tasks in given])
