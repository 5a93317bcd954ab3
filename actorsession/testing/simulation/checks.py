"""What has to hold in every run of a story: each check is a function of the history that yields what is wrong.

``CHECKS`` is the table. A check knows the operations and the disturbances, and nothing of the runtime. A variable is a
vector: a mark of its own, the number of updates, and how often each update was applied; so each value that anybody
reads says which updates it has. The state of a task is lost with its process, back to its last snapshot if it has one,
which every session is told; between two losses all reads of a variable are ordered by inclusion.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from actorsession.errors import (
    AbortedError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnavailableError,
    WorkerRestartedError,
)
from actorsession.records import dataclass
from actorsession.testing.simulation.history import Disturbance, History, Outcome, Record, client_host

__all__ = ["CHECKS", "MARK", "Finding", "check", "initial", "updated", "updates"]

MARK = 1_000_003
"""The first element of variable ``v`` is ``MARK * (v + 1)``: no other variable or cluster has it."""

# Seconds beyond a limit by when an operation must have ended: the margin for the master's report, the way of the
# answer and the clock of the client, which may be slow.
_MARGIN = 2.0
# Seconds that an operation without a limit may take: it waits 30 s for absent tasks, and a task that is silent is lost
# after three leases.
_LONGEST = 75.0
# Seconds before an operation in which a disturbance may still be the reason of its error: what waits is told of a lost
# task within three leases, and a session that lost its state is told at its next use, however late.
_ECHO = 40.0
# Seconds within which all tasks know that a step has failed, if nothing holds the messages up.
_PASSING = 1.0
# What a task that has left is said to be.
_AWAY = "does not exist", "has left the cluster"
# Seconds that a snapshot may take: to wait for a moment without steps, to write and to sync.
_WRITING = 1.5

Check: TypeAlias = Callable[[History], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must never be.

    Attributes:
        check: the name of the check.
        what: what it found, in a sentence.
    """

    check: str
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.what}"


def check(history: History) -> list[Finding]:
    """Return what is wrong with a history."""
    return [Finding(name, what) for name, function in CHECKS.items() for what in function(history)]


# -- variables ---------------------------------------------------------------------------------------
def initial(variable: int, updates: int) -> np.ndarray:
    """Return the initial value of a variable with so many possible updates."""
    value = np.zeros(2 + updates, np.int64)
    value[0] = MARK * (variable + 1)
    return value


def updated(update: int, updates: int) -> np.ndarray:
    """Return what an update adds to a variable."""
    value = np.zeros(2 + updates, np.int64)
    value[1] = value[2 + update] = 1
    return value


def updates(record: Record) -> Iterator[tuple[int, int]]:
    """Yield the variables that an operation updates, each with the number of the update."""
    for variable, update in (("v", "k"), ("w", "l")):
        if update in record.args:
            yield record.args[variable], record.args[update]


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What an operation saw of a variable.

    Attributes:
        record: of the operation.
        value: the vector.
        updates: those that it has.
    """

    record: Record
    value: np.ndarray
    updates: frozenset[int]

    @classmethod
    def of(cls, record: Record, value: np.ndarray) -> Read:
        """Return the read of a vector."""
        return cls(record, value, frozenset(np.flatnonzero(value[2:]).tolist()))


def _reads(history: History) -> dict[int, list[Read]]:
    """Return the reads of each variable, in the order in which they ended."""
    reads: dict[int, list[Read]] = {variable: [] for variable in range(len(history.variables))}
    for record in sorted(history.records, key=lambda record: record.ended):
        if record.outcome is Outcome.OK and isinstance(record.seen, Mapping):
            for variable, value in record.seen.items():
                reads[variable].append(Read.of(record, value))
    return reads


def whole_values(history: History) -> Iterator[str]:
    """Each value of a variable is one that it had: its own mark, each update at most once, all of them counted."""
    for variable, reads in _reads(history).items():
        for read in reads:
            value = read.value
            if value[0] != MARK * (variable + 1):
                yield f"variable {variable} has the mark {value[0]}, which is not its own: {read.record}"
            elif value[2:].max(initial=0) > 1 or value[2:].min(initial=0) < 0:
                twice = (np.flatnonzero((value[2:] > 1) | (value[2:] < 0))).tolist()
                yield f"variable {variable} has the updates {twice} more than once: {read.record}"
            elif value[1] != value[2:].sum():
                yield f"variable {variable} counts {value[1]} updates and has {value[2:].sum()}: {read.record}"


def no_refused_updates(history: History) -> Iterator[str]:
    """What was refused was never applied, and nothing is there before it was sent."""
    sent: dict[tuple[int, int], Record] = {at: record for record in history.records for at in updates(record)}
    for variable, reads in _reads(history).items():
        for read in reads:
            for update in sorted(read.updates):
                record = sent.get((variable, update))
                if record is None or record.began > read.record.ended:
                    yield f"variable {variable} has update {update}, which nobody had sent: {read.record}"
                elif record.outcome is Outcome.REFUSED:
                    yield f"variable {variable} has update {update}, which was refused: {record}"


def acknowledged_updates(history: History) -> Iterator[str]:
    """What was acknowledged is there until the memory of its task is lost, in the order in which all see it."""
    for variable, reads in _reads(history).items():
        breaks = _breaks(history, variable)
        for life in _lives(reads, breaks):
            before: Read | None = None
            for read in sorted(life, key=lambda read: (len(read.updates), read.record.ended)):
                if before is not None and not before.updates <= read.updates:
                    missing = sorted(before.updates - read.updates)
                    yield f"variable {variable} lost the updates {missing} between {before.record} and {read.record}"
                before = read
            yield from _out_of_order(history, variable, life, breaks)


def _out_of_order(
    history: History, variable: int, life: Sequence[Read], breaks: Sequence[tuple[float, float]]
) -> Iterator[str]:
    acknowledged = [
        (record, update)
        for record in history.records
        for at, update in updates(record)
        if at == variable and record.outcome is Outcome.OK
    ]
    for read in life:
        for record, update in acknowledged:
            if update in read.updates or record.ended > read.record.began:
                continue
            if not any(began <= read.record.ended and ended >= record.began for began, ended in breaks):
                yield f"variable {variable} lacks update {update}: {record}, then {read.record}"


def _breaks(history: History, variable: int) -> list[tuple[float, float]]:
    """Return when a variable may have lost its value: with its task, and while a client initialised it."""
    losses = [(d.began, max(d.began, d.forgot)) for d in history.losses(history.variables[variable])]
    resets = [(record.began, _over(history, record)) for record in history.records if variable in record.reset]
    return sorted(losses + resets)


def _over(history: History, record: Record) -> float:
    """Return by when nothing of an operation can arrive at a task any more.

    What a client has sent before it was killed may arrive later, and so may a step that was given up, until the news of
    that has come.
    """
    if record.killed:
        return record.ended + _ECHO
    if record.outcome is not Outcome.UNKNOWN:
        return record.ended
    held_up = [d.ended for d in history.disturbed(record.began, record.ended) if not d.forgets]
    return max([record.ended, *held_up]) + _PASSING


def _lives(reads: Sequence[Read], breaks: Sequence[tuple[float, float]]) -> Iterator[list[Read]]:
    """Yield the reads between two breaks; those during a break are of no life."""
    lives: dict[int, list[Read]] = defaultdict(list)
    for read in reads:
        record = read.record
        if not any(began <= record.ended and ended >= record.began for began, ended in breaks):
            lives[sum(began < record.began for began, _ in breaks)].append(read)
    yield from lives.values()


def told_losses(history: History) -> Iterator[str]:
    """A session that goes on with a variable whose task has lost its memory was told so, or asks at that time."""
    told: dict[tuple[int, int], list[Record]] = defaultdict(list)
    for record in history.records:
        if record.kind == "reattach" or isinstance(record.error, WorkerRestartedError):
            told[record.operation.client, record.session].append(record)
    last: dict[tuple[int, int, int], Record] = {}
    for variable, reads in _reads(history).items():
        for read in reads:
            record = read.record
            key = (record.operation.client, record.session, variable)
            before = last.get(key)
            last[key] = record
            for loss in history.losses(history.variables[variable]) if before is not None else []:
                between = (
                    before is not None and before.ended < loss.began and max(loss.began, loss.forgot) < record.began
                )
                if between and not any(other.within(loss.began, record.ended) for other in told[key[:2]]):
                    yield f"nobody told the session that variable {variable} was lost by {loss.what}: {record}"


def healthy_variables(history: History) -> Iterator[str]:
    """No variable gets its initial value that had a value, because a session restores what was lost alone."""
    for variable, reads in _reads(history).items():
        losses = history.losses(history.variables[variable])
        for record in history.records:
            if variable not in record.reset or record.kind != "reattach":
                continue
            used = [read.record for read in reads if read.record.ended < record.began]
            if used and not any(used[-1].began <= d.ended and d.began <= record.ended for d in losses):
                yield f"variable {variable} had a value and was reset: {used[-1]}, then {record}"


def snapshots(history: History) -> Iterator[str]:
    """An update that was there for longer than two snapshots are apart outlives its process; others were never late."""
    if not history.snapshot_every:
        return
    every = history.snapshot_every + _WRITING
    for variable, reads in _reads(history).items():
        task = history.variables[variable]
        losses = history.losses(task)
        for record, update in [(r, k) for r in history.records for at, k in updates(r) if at == variable]:
            lost = next((d for d in losses if max(d.began, d.forgot) >= record.began), None)
            if record.outcome is not Outcome.OK or lost is None or record.ended + every > lost.began:
                continue
            if any(d is not lost for d in history.disturbed(record.ended, lost.began, task)):
                continue
            restored = [r for r in history.of("restore") if variable in r.reset and r.ended >= record.began]
            for read in reads:
                if any(r.began <= read.record.ended for r in restored):
                    continue
                if read.record.began > max(lost.began, lost.forgot) and update not in read.updates:
                    yield f"no snapshot of variable {variable} had update {update}: {record}, then {read.record}"
                    return


def late_updates(history: History) -> Iterator[str]:
    """An update of a step that had failed is not there after the variable has begun anew, unless it was restored."""
    for variable, reads in _reads(history).items():
        resets = [record for record in history.records if variable in record.reset and record.kind != "restore"]
        failed = {
            k: r for r in history.records for at, k in updates(r) if at == variable and r.outcome is Outcome.UNKNOWN
        }
        for read in reads:
            reset = max((r.began for r in resets if r.ended < read.record.began), default=-np.inf)
            for update in sorted(read.updates & failed.keys()):
                late = failed[update].ended + _ECHO < reset
                if late and not _restored(history, variable, update, reset, read.record.ended):
                    yield f"variable {variable} began anew and has update {update} of {failed[update]}: {read.record}"


def _restored(history: History, variable: int, update: int, reset: float, ended: float) -> bool:
    """Whether a variable may have got an update from a checkpoint after a reset."""
    return any(
        variable in record.reset
        and record.outcome is not Outcome.REFUSED
        and record.began <= ended
        and _over(history, record) >= reset
        and _may_hold(history, record, variable, update, reset)
        for record in history.of("restore")
    )


def _may_hold(history: History, restore: Record, variable: int, update: int, reset: float) -> bool:
    """Whether the checkpoint of a restore may hold an update that a variable can have had before a reset alone.

    Whoever has made it or read it knows. Otherwise nobody can say, if it was begun before the reset.
    """
    if "n" not in restore.args:  # of a client that had made none
        return False
    uses = [r for r in history.of("save", "restore") if r.args.get("n") == restore.args["n"]]
    known = [r.seen for r in uses if r.outcome is Outcome.OK]
    if known:
        return any(bool(seen[variable][2 + update]) for seen in known)
    return any(r.kind == "save" and r.began < reset for r in uses)


def checkpoints(history: History) -> Iterator[str]:
    """What is restored is what was saved, all of it, and what was saved for certain is there."""
    saves = {record.args["n"]: record for record in history.of("save") if record.outcome is Outcome.OK}
    for record in history.of("restore"):
        save = saves.get(record.args.get("n", -1))
        if save is None or save.ended > record.began:
            continue
        disks = history.disturbed(record.began, record.ended, history.tasks[record.args["at"]])
        if isinstance(record.error, NotFoundError | DataLossError) and not any(d.spoils for d in disks):
            yield f"a checkpoint is gone: {save}, then {record}"
        if record.outcome is not Outcome.OK:
            continue
        if record.seen.keys() != save.seen.keys() or any(
            not np.array_equal(value, save.seen[variable]) for variable, value in record.seen.items()
        ):
            yield f"{save.seen} was saved and {record.seen} restored: {save}, then {record}"


# -- queues ------------------------------------------------------------------------------------------
def queue_elements(history: History) -> Iterator[str]:
    """Each element comes out once, or is there in the end; none that was not put in."""
    for queue, task in enumerate(history.queues):
        puts = {r.args["e"]: r for r in history.of("put") if r.args["q"] == queue}
        takes = [r for r in history.of("take") if r.args["q"] == queue and r.outcome is Outcome.OK]
        taken = Counter(int(r.seen) for r in takes)
        there = Counter(history.left.get(queue, ()))
        losses = history.losses(task)
        for element, count in sorted((taken + there).items()):
            put = puts.get(element)
            if put is None:
                yield f"queue {queue} gave {element}, which nobody has put in"
            elif put.outcome is Outcome.REFUSED:
                yield f"queue {queue} gave {element}, which was refused: {put}"
            elif count > 1 and not any(_unconfirmed(history, r) for r in takes if int(r.seen) == element):
                yield f"queue {queue} gave {element} {count} times: {[str(r) for r in takes if int(r.seen) == element]}"
        if queue not in history.left:
            continue
        gone = [
            put
            for element, put in puts.items()
            if put.outcome is Outcome.OK
            and not (taken[element] or there[element])
            and not any(max(d.began, d.forgot) >= put.began for d in losses)
        ]
        # A client may be killed after it has got an element, and before it has written that down.
        if len(gone) > sum(r.killed and r.args["q"] == queue for r in history.of("take")):
            yield from (f"queue {queue} has lost {put.args['e']}: {put}" for put in gone)


def _unconfirmed(history: History, record: Record) -> bool:
    """Whether the word that an element has arrived may have been lost: then the queue has it again."""
    return bool(history.disturbed(record.began, record.ended + _ECHO))


# -- collectives -------------------------------------------------------------------------------------
def collectives(history: History) -> Iterator[str]:
    """Members that get a sum get the same one, of contributions that were made; an error has a reason."""
    sums: dict[int, tuple[int, ...]] = {}
    runs = {record.args["at"]: record for record in history.of("meet")}
    for record in runs.values():
        if record.outcome is not Outcome.OK:
            continue
        took_part = tuple(np.flatnonzero(record.seen).tolist())
        if record.args["at"] not in took_part or (record.seen[list(took_part)] != 1).any():
            yield f"a sum is {record.seen}: {record}"
        for contribution in took_part:
            if sums.setdefault(contribution, took_part) != took_part:
                yield f"contribution {contribution} is in two sums, {sums[contribution]} and {took_part}: {record}"
            other = runs.get(contribution)
            if other is None:
                yield f"contribution {contribution} is of nobody: {record}"
            elif not other.within(record.began - _PASSING, record.ended) and not _held_up(history, other, record):
                yield f"two runs have met that were not under way together: {record} and {other}"


def _held_up(history: History, before: Record, record: Record) -> bool:
    """Whether the news that an operation has failed may have been held up until another one."""
    return any(not d.forgets for d in history.disturbed(before.began, record.began))


# -- values, ends and errors -------------------------------------------------------------------------
def right_values(history: History) -> Iterator[str]:
    """What was computed is what numpy computes."""
    for record in history.records:
        if record.outcome is not Outcome.OK or record.expected is None:
            continue
        if len(record.seen) != len(record.expected) or not all(map(np.array_equal, record.seen, record.expected)):
            yield f"got {record.seen} in place of {record.expected}: {record}"


def ends_in_time(history: History) -> Iterator[str]:
    """Every operation ends, within its limit if it has one; time in which its client stood still does not count."""
    for record in history.records:
        operation = record.operation
        limit = min(operation.limit or _LONGEST, operation.cancel or _LONGEST)
        still = history.disturbed(record.began, record.ended, client_host(operation.client))
        held = sum(min(d.ended, record.ended) - max(d.began, record.began) for d in still)
        if record.ended - record.began - held > limit * 1.1 + _MARGIN:
            yield f"{record.ended - record.began:.3f} s are more than {limit} s: {record}"


def named_causes(history: History) -> Iterator[str]:
    """An error is of a class that somebody expects, and names a task that was disturbed."""
    for record in history.records:
        error = record.error
        if error is None or _own_doing(history, record, error):
            continue
        if not isinstance(error, OpError):
            yield f"{type(error).__name__} is no error of the runtime: {record}"
        elif isinstance(error, AbortedError | UnavailableError | DeadlineExceededError):
            if not _left_alone(history, record):
                yield from _not_disturbed(history, record, error)
        elif not _without_value(history, record, error):
            yield f"{type(error).__name__} is not what a fault ends with: {record}"


def _own_doing(history: History, record: Record, error: BaseException) -> bool:
    """Whether the client itself has ended an operation: cancelled it, or closed its session meanwhile."""
    if isinstance(error, TimeoutError):
        return record.operation.cancel is not None
    closes = [r for r in history.of("reopen") if r.operation.client == record.operation.client]
    return isinstance(error, CancelledError | RuntimeError) and any(
        r.within(record.began, record.ended) for r in closes
    )


def _left_alone(history: History, record: Record) -> bool:
    """Whether an operation is one half of a sum, and a client has ended another half."""
    ends = [r for r in history.of("meet") if r.outcome is Outcome.UNKNOWN]
    return record.kind == "meet" and any(r.within(record.began - _ECHO, record.ended) for r in ends)


def _without_value(history: History, record: Record, error: OpError) -> bool:
    """Whether an operation was refused as it had to be: something was not there, or its node fails always."""
    if record.kind in ("save", "restore") and "at" in record.args:
        task = history.tasks[record.args["at"]]
        if any(d.spoils and task in d.hosts and d.began <= record.ended for d in history.disturbances):
            return True
        if record.kind == "restore" and isinstance(error, NotFoundError):
            return True  # ``checkpoints`` knows whether it should be there
    if isinstance(error, FailedPreconditionError | NotFoundError):
        variables = [record.args[name] for name in ("v", "w") if name in record.args]
        if record.kind == "save":  # of all variables of the client, of which the error names one
            variables = [v for v in range(len(history.variables)) if f"variable 'v{v}' " in error.message]
        lost = [d for v in variables for d in history.losses(history.variables[v])]
        return any(d.began <= record.ended for d in lost)
    if not isinstance(error, InvalidArgumentError):
        return False
    away = [d for d in history.disturbed(record.began - _ECHO, record.ended) if d.forgets]
    return record.kind == "guard" or (
        any(how in error.message for how in _AWAY) and any(_names_one(error, d) for d in away)
    )


def _not_disturbed(history: History, record: Record, error: OpError) -> Iterator[str]:
    if isinstance(error, DeadlineExceededError) and record.operation.limit is not None:
        return
    if isinstance(error, WorkerRestartedError):  # told at the next use, however late
        if error.task is not None and not any(d.began <= record.ended for d in history.losses(error.task)):
            yield f"{error.task} is said to have restarted and has not: {record}"
        return
    own = client_host(record.operation.client)  # which the errors of its own session do not name
    disturbed = history.disturbed(record.began - _ECHO, record.ended) + _told_late(history, record, error)
    if not disturbed:
        yield f"nothing was wrong: {record}"
    elif not any(own in d.hosts or _names_one(error, d) for d in disturbed):
        yield f"disturbed was {', '.join(sorted({d.what for d in disturbed}))}, which the error does not say: {record}"


def _told_late(history: History, record: Record, error: OpError) -> list[Disturbance]:
    """Return what a session is told of at its next use, however late: the loss of its master, until ``reattach``.

    That was after its last use that went well, or after the client had its former session.
    """
    if not isinstance(error, UnavailableError):
        return []
    own = [r for r in history.records if r.operation.client == record.operation.client and r.began < record.began]
    before = [r.began for r in own if r.session != record.session or (r.outcome is Outcome.OK and not _asks_nobody(r))]
    last = max(before, default=-np.inf)
    return [d for d in history.disturbed(last, record.began) if _names_one(error, d)]


def _asks_nobody(record: Record) -> bool:
    """Whether an operation is no use of its session: a client without variables saves and restores none."""
    return isinstance(record.seen, Mapping) and not record.seen


def _names_one(error: OpError, disturbance: Disturbance) -> bool:
    """Whether an error names a host that was disturbed."""
    return any(_names(error, host) for host in disturbance.hosts)


def _names(error: OpError, host: str) -> bool:
    """Whether an error names a host: as its task, or in its message, by the name of the task or by its address."""
    job, _, index = host.removeprefix("/job:").partition("/replica:0/task:")
    return host == error.task or host in error.message or f"//{job}-{index}:" in error.message


def goes_on(history: History) -> Iterator[str]:
    """When all faults are over every client computes and reads again, once its session was told what was lost."""
    yield from history.unhealed


def nothing_pending(history: History) -> Iterator[str]:
    """Nothing is left of any step, session or client in the end."""
    yield from history.pending


def no_unheard_errors(history: History) -> Iterator[str]:
    """Every error has somebody who hears of it, or drops it knowingly: asyncio has none to tell of."""
    yield from history.unheard


CHECKS: dict[str, Check] = {
    "whole values": whole_values,
    "no refused updates": no_refused_updates,
    "acknowledged updates": acknowledged_updates,
    "told losses": told_losses,
    "healthy variables": healthy_variables,
    "snapshots": snapshots,
    "late updates": late_updates,
    "checkpoints": checkpoints,
    "queue elements": queue_elements,
    "collectives": collectives,
    "right values": right_values,
    "ends in time": ends_in_time,
    "named causes": named_causes,
    "goes on": goes_on,
    "nothing pending": nothing_pending,
    "no unheard errors": no_unheard_errors,
}
"""What every run of a story has to meet, by name."""
