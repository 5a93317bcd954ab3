"""A task's report on its steps under way: which nodes wait for what, and what runs.

Plain frozen values with a wire form. ``step_inspector`` and ``cluster.wait_graphs`` make them;
``runtime.hang_report`` reads them. Every list has a limit and the number of omitted entries beside it, so
that the report of a task with an enormous step stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Any, TypeVar

from actorsession.errors import ProtocolError
from actorsession.records import dataclass

__all__ = [
    "COLLECTIVE", "FOLLOWS", "HELD", "LOST", "NOBODY", "QUEUED", "READY", "RUNS", "SENT", "SILENT",
    "SUSPENDED", "UNBEGUN", "UNFED", "WAITS", "CollectiveWait", "HeldPool", "KernelNow", "MasterWaits",
    "PartialWaits", "SentKey", "StepWaits", "TaskWaits", "Waiter",
]  # fmt: skip

WAITS = "waits"
"""The nodes that compute the value wait for other values."""
FOLLOWS = "follows"
"""The nodes wait for other nodes of the same device."""
READY = "ready"
"""The nodes are ready and run next."""
QUEUED = "queued"
"""The nodes wait for a thread of the kernel pool."""
RUNS = "runs"
"""The nodes run."""
SUSPENDED = "suspended"
"""The nodes were begun and wait, without a thread, for something outside the step, such as a queue."""
COLLECTIVE = "collective"
"""The nodes take part in a collective whose other members have not come."""
SENT = "sent"
"""The value was sent."""
HELD = "held"
"""The step does not begin at the task until another task reads on."""
UNBEGUN = "unbegun"
"""The step has not begun at the task."""
NOBODY = "nobody"
"""No partition of the step at the task sends the value."""
LOST = "lost"
"""The value was sent and has not arrived."""
UNFED = "unfed"
"""The value is a feed of a partial run that was not given yet."""
SILENT = "silent"
"""The task does not answer."""

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelNow:
    """A node that is running, or waits for a thread.

    Attributes:
        node: name of the node.
        op: its op type.
        device: its device.
        source: the user's line that built it, ``file:line``.
        seconds: how long it, or the nodes that run as one with it, have been running or waiting; 0 if
            unknown.
        step_id: the step; 0 for a run without a step.
        queued: whether it waits for a thread of the kernel pool.
        suspended: whether it waits, without a thread, for something outside the step.
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
    """A kernel pool with threads that are held by kernels of steps that are over.

    Attributes:
        task: the task of the pool.
        threads: number of its threads, including those of the lane of first runs that are held.
        held: number of threads that are held.
        kernels: the first few of these kernels, longest running first.
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
        """Whether no thread is left for other work."""
        return self.held >= self.threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """Nodes of one device that wait for the same values.

    Attributes:
        device: the device.
        nodes: the first few nodes.
        more_nodes: number of nodes left out.
        keys: the first few rendezvous keys that they wait for.
        more_keys: number of keys left out.
    """

    device: str
    nodes: tuple[str, ...]
    more_nodes: int
    keys: tuple[str, ...]
    more_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveWait:
    """A device that takes part in a collective and waits for other members.

    Attributes:
        device: the device.
        group: key of the group.
        instance: key of the instance.
        awaits: the devices that it waits for; none while its group is not complete.
    """

    device: str
    group: int
    instance: int
    awaits: tuple[str, ...]

    def __str__(self) -> str:
        others = ", ".join(self.awaits) or "its group to be complete"
        return f"{self.device} waits in instance {self.instance} of group {self.group} for {others}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWaits:
    """One step at one task.

    Attributes:
        step_id: the step.
        session: the handle of its session; "" for an unbegun step.
        task: the session's name for the task; for an unbegun step the task's own name.
        state: ``runs``, ``held``, or ``unbegun`` if only values have arrived so far.
        link: for a held step, the task that does not read.
        unsent: what that task has not read yet, in units of 64 KiB.
        seconds: time since the step was made or held at the task, or its first value arrived there.
        unfinished: number of segments and suspended nodes that have not run.
        waiters: the first few groups of nodes that wait for values from elsewhere.
        more_waiters: number of groups left out.
        kernels: its kernels that are running or queued.
        more_kernels: number of kernels left out.
        collectives: its collectives that wait for other members.
    """

    step_id: int
    session: str = ""
    task: str = ""
    state: str = RUNS
    link: str = ""
    unsent: int = 0
    seconds: float = 0.0
    unfinished: int = 0
    waiters: tuple[Waiter, ...] = ()
    more_waiters: int = 0
    kernels: tuple[KernelNow, ...] = ()
    more_kernels: int = 0
    collectives: tuple[CollectiveWait, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentKey:
    """The state of a value at the task that should send it.

    Attributes:
        step_id: the step.
        key: the rendezvous key.
        state: one of the states of this module.
        over: whether the task's partitions of the step have ended.
        node: the node that computes the value, or the first of the nodes that run as one with it.
        keys: the first few values that it waits for itself.
        kernel: the kernel that computes it or runs before it, if there is one.
        link: the task that does not read, if that holds the step.
        unsent: what that task has not read yet, in units of 64 KiB.
    """

    step_id: int
    key: str
    state: str
    over: bool = False
    node: str = ""
    keys: tuple[str, ...] = ()
    kernel: KernelNow | None = None
    link: str = ""
    unsent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialWaits:
    """An open partial run.

    Attributes:
        handle: its handle.
        step_id: its step.
        session: the handle of its session.
        seconds: time since it was last continued.
        feeds: the feeds that were not given yet.
        fetches: the fetches that were not requested yet.
        calls: number of calls made so far.
        waiting: how many of them wait for an answer.
        given: the feeds that were given, each with the seconds from the set-up of the run to its call.
        requested: the fetches that were requested, likewise.
    """

    handle: str
    step_id: int
    session: str
    seconds: float
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    calls: int
    waiting: int = 0
    given: Mapping[str, float] = field(default_factory=dict)
    requested: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterWaits:
    """One session at its master.

    Attributes:
        session: its handle.
        task: the session's name for the master's task.
        steps: for each step under way its id, its time under way, and the tasks whose partitions have not
            ended.
        registering: for each graph that is being registered, its tasks.
        in_flight: admitted steps.
        waiting: steps that wait until fewer are in flight.
        partial_runs: the open partial runs.
        left_out: number of steps and partial runs left out.
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
    """The report of one task.

    Attributes:
        task: the task's own name.
        names: for each session, its name for the task.
        steps: its steps, those stuck for longest first.
        more_steps: number of steps left out.
        kernels: kernels that run for no step of a session, such as those of runs without a step.
        keys: the states of values that the task should send.
        masters: the sessions whose master is at the task.
        pools: its kernel pool, if threads of it are held by kernels of steps that are over.
        moving: the steps that were seen to move, in the report of whoever has looked more than once.
    """

    task: str
    names: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[StepWaits, ...] = ()
    more_steps: int = 0
    kernels: tuple[KernelNow, ...] = ()
    keys: tuple[SentKey, ...] = ()
    masters: tuple[MasterWaits, ...] = ()
    pools: tuple[HeldPool, ...] = ()
    moving: tuple[int, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Return the report as plain values."""
        wire: dict[str, Any] = _plain(asdict(self))
        return wire

    @classmethod
    def from_wire(cls, value: Any) -> TaskWaits:
        """Return the report that ``to_wire`` has encoded.

        Raises:
            ProtocolError: for any other form.
        """
        try:
            return _read(cls, value)
        except (TypeError, KeyError, ValueError, AttributeError) as exc:
            raise ProtocolError(f"not what a task says of its steps: {exc}: {value!r:.200}") from exc


_NESTED: Mapping[str, type[Any]] = {
    "waiters": Waiter,
    "kernels": KernelNow,
    "kernel": KernelNow,
    "partial_runs": PartialWaits,
    "masters": MasterWaits,
    "pools": HeldPool,
    "collectives": CollectiveWait,
}


def _plain(value: Any) -> Any:
    """Return a value with lists in place of tuples, which the wire does not have."""
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
    """Return a decoded value of a class of this module, with checked fields."""
    values: dict[str, Any] = {}
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
        values[known.name] = given
    return cls(**values)


def _checked(name: str, hint: str, given: Any) -> Any:
    kinds: dict[str, tuple[type[Any], ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
    if hint in kinds:
        if not isinstance(given, kinds[hint]):
            raise TypeError(f"{name} is {hint}, got {type(given).__name__}")
        return given
    if hint == "Mapping[str, float]":
        return {str(key): float(item) for key, item in given.items()}
    if hint.startswith("Mapping"):
        return {str(key): str(item) for key, item in given.items()}
    if not isinstance(given, list):
        raise TypeError(f"{name} is a list, got {type(given).__name__}")
    if hint == "tuple[str, ...]":
        return tuple([str(item) for item in given])
    if hint == "tuple[int, ...]":
        return tuple([int(item) for item in given])
    if name == "registering":
        return tuple([tuple([str(task) for task in tasks]) for tasks in given])
    return tuple([(int(s), float(since), tuple(map(str, tasks))) for s, since, tasks in given])
