"""The faults of a simulated cluster, as values: what fails, when, for how long, and how that is written down.

A ``Fault`` is one line of text, ``0.25 stall worker-0 for 0.4``, which ``Fault.parse`` reads again, so that the
story of a seed can be kept, shortened and replayed. A ``Schedule`` is a sequence of faults, drawn from random
numbers or parsed. ``KINDS`` says of each kind what it takes and which call of the cluster it is; nothing else
knows the kinds.
"""

from __future__ import annotations

import errno
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from actorsession.cluster.server.snapshots import SnapshotStore
from actorsession.testing.simulation.disk import SimulatedDisk
from actorsession.testing.simulation.host import SimulatedEntropy
from transports.host import Host, on_host

if TYPE_CHECKING:
    from actorsession.testing.simulation.cluster import SimulatedCluster

__all__ = ["KINDS", "SNAPSHOTS", "Fault", "FaultKind", "Schedule"]

SNAPSHOTS = "/snapshots"
"""The folder of the snapshots on the disk of each machine."""

# Kinds that strike two hosts.
_TWO = frozenset({"pair", "tasks"})
# Callbacks of a host between the time of a fault and the fault: enough for any await of a step of two workers.
_MOST_CALLBACKS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        kind: its kind, a name of ``KINDS``.
        whom: the host that it strikes, such as ``worker-0``, or the job that a task joins.
        other: the host at the other end, for faults of the network between two.
        at: virtual seconds after the beginning of the schedule.
        after: callbacks of the host ``whom`` that run after that time and before the fault, so that it comes between
            any two of them: at any await.
        by: how much: seconds of delay, rate of a clock, bytes; what it is depends on the kind.
        seconds: how long it lasts; 0 for a fault that nothing ends.
    """

    kind: str
    whom: str
    other: str = ""
    at: float = 0.0
    after: int = 0
    by: float = 0.0
    seconds: float = 0.0

    def __str__(self) -> str:
        words = [f"{self.at:.6g}", self.kind, self.whom]
        if self.other:
            words.append(self.other)
        if self.by:
            words += ["by", f"{self.by:.6g}"]
        if self.seconds:
            words += ["for", f"{self.seconds:.6g}"]
        if self.after:
            words += ["after", str(self.after)]
        return " ".join(words)

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read the text form.

        Raises:
            ValueError: for another form, or an unknown kind.
        """
        match line.split():
            case [at, kind, whom, *rest] if kind in KINDS:
                other = rest.pop(0) if rest and KINDS[kind].of in _TWO else ""
                keys = {"by": 0.0, "for": 0.0, "after": 0.0}
                while len(rest) > 1 and rest[0] in keys:
                    word, number, *rest = rest
                    keys[word] = float(number)
                if not rest:
                    return cls(
                        kind=kind,
                        whom=whom,
                        other=other,
                        at=float(at),
                        after=int(keys["after"]),
                        by=keys["by"],
                        seconds=keys["for"],
                    )
        raise ValueError(
            f"not a fault: {line!r:.200}; expected TIME KIND HOST [HOST] [by X] [for SECONDS] [after N] with a kind "
            f"of {', '.join(KINDS)}"
        )


class FaultKind(NamedTuple):
    """What a kind of fault is.

    Attributes:
        of: what it strikes: a ``task``, two ``tasks``, a ``client``, any ``host``, the two hosts of a ``pair``, or a
            ``job``.
        strike: begins it; gets the cluster and the fault.
        weight: how often it is drawn, compared with others; 0 for one that is drawn on request only.
        by: the least and the most of the amount that is drawn; ``None`` for a kind without one.
        seconds: the same of how long it lasts.
    """

    of: str
    strike: Callable[[SimulatedCluster, Fault], object]
    weight: float
    by: tuple[float, float] | None = None
    seconds: tuple[float, float] | None = None


def _stall(cluster: SimulatedCluster, fault: Fault) -> None:
    host = cluster.machine(fault.whom).host
    host.stall()
    cluster.end_later(fault, host.go_on)


def _part(cluster: SimulatedCluster, fault: Fault) -> None:
    cluster.network.part(fault.whom, fault.other, one_way=fault.kind == "mute")
    cluster.end_later(fault, lambda: cluster.network.heal(fault.whom, fault.other))


def _cut(cluster: SimulatedCluster, fault: Fault) -> None:
    cluster.network.cut(fault.whom, fault.other, silent=fault.kind == "vanish")


def _slow(cluster: SimulatedCluster, fault: Fault) -> None:
    if fault.kind == "narrow":
        cluster.network.slow(fault.whom, fault.other, 0.0, bandwidth=fault.by)
    else:
        cluster.network.slow(fault.whom, fault.other, fault.by)
    cluster.end_later(fault, lambda: cluster.network.slow(fault.whom, fault.other, 0.0))


def _of_disk(begin: Callable[[SimulatedDisk, Fault], Callable[[], None]]) -> Callable[[SimulatedCluster, Fault], None]:
    """Return what begins a fault of a disk; what begins it there returns what ends it."""
    return lambda cluster, fault: cluster.end_later(fault, begin(cluster.machine(fault.whom).disk, fault))


def _tear(cluster: SimulatedCluster, fault: Fault) -> None:
    def lose_power() -> None:  # whichever process of the task it is by then
        with on_host(cluster.client):
            cluster.strike(Fault(kind="power", whom=fault.whom, at=fault.at))

    disk = cluster.machine(fault.whom).disk
    cluster.end_later(fault, disk.crash_after(int(fault.by), lose_power))


def _snapshots(disk: SimulatedDisk) -> list[str]:
    """Return the paths of the snapshots on a disk, the latest last."""
    return [f"{SNAPSHOTS}/{name}" for name in sorted(disk.listdir(SNAPSHOTS)) if name.endswith(".snapshot")]


def _sync_snapshots(disk: SimulatedDisk) -> None:
    """Make the names of the snapshots durable: no loss of power brings one back that nobody removes once more."""
    folder = disk.open(SNAPSHOTS, os.O_RDONLY | os.O_DIRECTORY)
    disk.fsync(folder)
    disk.close(folder)


def _rot(cluster: SimulatedCluster, fault: Fault) -> None:
    disk, numbers = cluster.machine(fault.whom).disk, cluster.loop.random(str(fault))
    with disk.sound():
        if files := _snapshots(disk):
            disk.rot(numbers.choice(files), numbers)


def _foreign(cluster: SimulatedCluster, fault: Fault) -> None:
    """Put a snapshot of another owner beside those of a task: its last one with zeros, as that owner would write it."""
    machine, numbers = cluster.machine(fault.whom), cluster.loop.random(str(fault))
    disk, task = machine.disk, cluster.process_on(fault.whom).task
    owner = (task, "of another") if fault.kind == "foreign" else (f"{task}0", cluster.cluster_id)
    host = Host(clock=machine.host.clock, entropy=SimulatedEntropy(numbers), files=disk)
    with on_host(host), disk.sound():
        snapshot = SnapshotStore(SNAPSHOTS, task).latest()
        if snapshot is None:
            return
        variables = [replace(one, value=np.zeros_like(one.value)) for one in snapshot.variables]
        written = SnapshotStore(SNAPSHOTS, *owner).write(replace(snapshot, variables=variables))
        # By its name it is the next one of the task.
        path = re.sub(r"\d+(?=-\w+\.snapshot)", lambda number: f"{int(number[0]) + 1:0{len(number[0])}}", snapshot.path)
        disk.replace(written, path)
        _sync_snapshots(disk)

    def remove() -> None:
        with on_host(host), disk.sound(), suppress(FileNotFoundError):
            disk.unlink(path)
            _sync_snapshots(disk)

    cluster.end_later(fault, remove)


def _ghost(cluster: SimulatedCluster, fault: Fault) -> None:
    """Kill a process while it introduces itself to another task, which hears of that when a successor may be there."""
    process = cluster.process_on(fault.whom)
    # If it dies before that, its successor has a stream as any other: it would be late for good, and nobody killed.
    by = process.host or fault.whom
    take_back = cluster.network.hold_dial(by, fault.other, int(fault.by), fault.seconds, process.crash)
    cluster.network.cut(fault.whom, fault.other)  # so that it dials again

    def end() -> None:
        take_back()
        process.crash()

    cluster.end_later(fault, end)


def _drift(cluster: SimulatedCluster, fault: Fault) -> None:
    machine = cluster.machine(fault.whom)
    machine.host.drift(fault.by)
    cluster.end_later(fault, lambda: machine.host.drift(1.0))


def _restart(cluster: SimulatedCluster, fault: Fault) -> None:
    process = cluster.process_on(fault.whom)
    cluster.change(f"restart {fault.whom}", cluster.restart(process.job, process.index))


def _leave(cluster: SimulatedCluster, fault: Fault) -> None:
    process = cluster.process_on(fault.whom)
    cluster.change(f"leave {fault.whom}", cluster.remove(process.job, process.index))


KINDS: Mapping[str, FaultKind] = {
    "crash": FaultKind("task", lambda cluster, fault: cluster.process_on(fault.whom).crash(), 4.0),
    "power": FaultKind("task", lambda cluster, fault: cluster.process_on(fault.whom).power_off(), 1.0),
    "end": FaultKind("task", lambda cluster, fault: cluster.process_on(fault.whom).terminate(), 0.5),
    "restart": FaultKind("task", _restart, 2.0),
    "stall": FaultKind("host", _stall, 3.0, seconds=(0.001, 20.0)),
    "cut": FaultKind("pair", _cut, 3.0),
    "vanish": FaultKind("pair", _cut, 1.0),
    "part": FaultKind("pair", _part, 2.0, seconds=(0.01, 20.0)),
    "mute": FaultKind("pair", _part, 2.0, seconds=(0.01, 20.0)),
    "slow": FaultKind("pair", _slow, 2.0, by=(0.001, 1.0), seconds=(0.1, 20.0)),
    "narrow": FaultKind("pair", _slow, 1.0, by=(3e3, 1e6), seconds=(0.1, 20.0)),
    "fill": FaultKind(
        "task", _of_disk(lambda disk, fault: disk.fill(int(fault.by))), 0.5, by=(1.0, 1e5), seconds=(0.1, 20.0)
    ),
    "fail": FaultKind("task", _of_disk(lambda disk, _: disk.fail(errno.EIO)), 0.5, seconds=(0.1, 20.0)),
    "tear": FaultKind("task", _tear, 1.0, by=(0.5, 40.0), seconds=(0.1, 20.0)),
    "lag": FaultKind(
        "task", _of_disk(lambda disk, fault: disk.slow(fault.by)), 0.5, by=(1e-5, 2e-3), seconds=(0.1, 20.0)
    ),
    "ghost": FaultKind("tasks", _ghost, 1.0, by=(1.0, 2.99), seconds=(0.5, 10.0)),
    "rot": FaultKind("task", _rot, 0.0),
    "foreign": FaultKind("task", _foreign, 1.0, seconds=(0.1, 20.0)),
    "stray": FaultKind("task", _foreign, 1.0, seconds=(0.1, 20.0)),
    "kill": FaultKind("client", lambda cluster, fault: cluster.kill_client(fault.whom), 0.0, seconds=(0.01, 5.0)),
    "drift": FaultKind("host", _drift, 1.0, by=(0.9, 1.1), seconds=(0.1, 20.0)),
    "jump": FaultKind(
        "host", lambda c, fault: c.machine(fault.whom).host.clock.jump(fault.by), 0.5, by=(0.001, 3600.0)
    ),
    "join": FaultKind("job", lambda cluster, fault: cluster.change(str(fault), cluster.add(fault.whom)), 1.0),
    "leave": FaultKind("task", _leave, 1.0),
}
"""What each kind of fault is."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The faults of one run.

    Attributes:
        faults: the faults.
    """

    faults: Sequence[Fault] = field(default=())

    def __str__(self) -> str:
        return "".join(f"{fault}\n" for fault in self.faults)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form, a line for each fault; empty lines and comments behind ``#`` are left out.

        Raises:
            ValueError: for a line that is no fault.
        """
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        return cls(tuple(Fault.parse(line) for line in lines if line))

    @classmethod
    def draw(
        cls,
        numbers: random.Random,
        jobs: Mapping[str, int],
        *,
        count: int,
        seconds: float,
        clients: Sequence[str] = ("client",),
        weights: Mapping[str, float] | None = None,
    ) -> Self:
        """Draw a schedule.

        Args:
            numbers: where the random numbers come from.
            jobs: the number of tasks of each job.
            count: how many faults.
            seconds: the time within which they come.
            clients: the hosts of clients.
            weights: how often each kind is drawn; by default as ``KINDS`` says. A kind that is left out is not drawn.

        Raises:
            ValueError: for an unknown kind.
        """
        if weights is None:
            weights = {name: kind.weight for name, kind in KINDS.items()}
        if unknown := weights.keys() - KINDS.keys():
            raise ValueError(f"unknown kinds of faults: {sorted(unknown)}; the kinds are {', '.join(KINDS)}")
        names = list(weights)
        kinds = numbers.choices(names, [weights[name] for name in names], k=count)
        faults = [_drawn(numbers, kind, jobs, clients, seconds) for kind in kinds]
        return cls(tuple(sorted(faults, key=lambda fault: fault.at)))


def _drawn(numbers: random.Random, name: str, jobs: Mapping[str, int], clients: Sequence[str], seconds: float) -> Fault:
    kind = KINDS[name]
    tasks = [f"{job}-{index}" for job, count in jobs.items() for index in range(count)]
    hosts, other = [*tasks, *clients], ""
    if kind.of in _TWO:
        whom, other = numbers.sample(tasks if kind.of == "tasks" and len(tasks) > 1 else hosts, 2)
    else:
        whom = numbers.choice({"task": tasks, "client": clients, "host": hosts, "job": list(jobs)}[kind.of])
    return Fault(
        kind=name,
        whom=whom,
        other=other,
        at=_rounded(numbers.uniform(0.0, seconds)),
        after=numbers.randrange(_MOST_CALLBACKS) if kind.of == "task" else 0,
        by=_between(numbers, kind.by),
        seconds=_between(numbers, kind.seconds),
    )


def _between(numbers: random.Random, limits: tuple[float, float] | None) -> float:
    """Return a number between two, each order of magnitude as often as the others; 0 without limits."""
    if limits is None:
        return 0.0
    least, most = limits
    return _rounded(least * (most / least) ** numbers.random())


def _rounded(number: float) -> float:
    """Return the number as its text form has it."""
    return float(f"{number:.6g}")
