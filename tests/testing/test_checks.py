"""The checks of a story find what they are for, and only that, in histories that are written down by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import errors
from actorsession.testing.simulation.checks import CHECKS, check, initial, updated
from actorsession.testing.simulation.history import Disturbance, History, Operation, Outcome, Record

A, B = "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"
UPDATES = 4
# What a torn write of the first update lacks: the count.
HALF = np.eye(2 + UPDATES, dtype=np.int64)[1]


def value(variable: int, *updates: int) -> np.ndarray[Any, Any]:
    return sum((updated(update, UPDATES) for update in updates), initial(variable, UPDATES))


class Writer:
    """Writes a history: one operation a second, unless it says when."""

    def __init__(self, **more: Any) -> None:
        self.history = History((A, B), (A, B), (A,), **more)

    def did(self, kind: str, seen: Any = None, error: BaseException | None = None, **args: Any) -> Writer:
        client, session = args.pop("client", 0), args.pop("session", 1)
        began = args.pop("began", float(len(self.history.records)))
        times = {name: args.pop(name) for name in ("limit", "cancel") if name in args}
        ended = args.pop("ended", began + 0.5)
        refused = isinstance(error, errors.WorkerRestartedError | errors.InvalidArgumentError)
        outcome = Outcome.OK if error is None else Outcome.REFUSED if refused else Outcome.UNKNOWN
        reset, expected, killed = args.pop("reset", ()), args.pop("expected", None), args.pop("killed", False)
        operation = Operation(client, 0, kind, args, **times)
        record = Record(operation, session, began, ended, outcome, seen, expected, error, reset, killed)
        self.history.records.append(record)
        return self

    def add(self, update: int, *updates: int, **more: Any) -> Writer:
        seen = None if "error" in more else {0: value(0, *updates)}
        return self.did("add", seen, v=0, k=update, **more)

    def read(self, *updates: int, **more: Any) -> Writer:
        return self.did("read", {0: value(0, *updates)}, v=0, **more)

    def lost(self, at: float, *, ended: float = math.inf, host: str = A, what: str = "crash") -> Writer:
        self.history.disturbances.append(Disturbance(what, (host,), at, ended, forgets=True))
        return self

    def wrong(self, at: float, ended: float, host: str = A) -> Writer:
        self.history.disturbances.append(Disturbance("stall", (host,), at, ended))
        return self

    def left(self, *elements: int) -> Writer:
        self.history.left[0] = list(elements)
        return self


def given_up(writer: Writer) -> Writer:
    """Has a client give a restore up, of which nobody may know that while messages are held up."""
    late = errors.DeadlineExceededError("late", task=A)
    return writer.did("restore", error=late, n=0, at=1, reset=(0,), began=1.2, ended=1.3, limit=0.1)


def in_doubt(writer: Writer, saved: Any = None, at: float = 1.0) -> Writer:
    """Has an update be in doubt, a checkpoint be made, or perhaps, and the variable begin anew at 100 s."""
    save = _came_of(saved)
    return (
        writer.lost(0.0)
        .add(0, error=LOST)
        .did("save", n=0, at=1, began=at, **save)
        .did("reattach", began=100.0, reset=(0,))
    )


def restored(writer: Writer, saved: Any = None) -> Writer:
    """Has a client restore that checkpoint, or try to."""
    return writer.did("restore", n=0, at=1, reset=(0,), began=102.0, **_came_of(saved))


def _came_of(saved: Any) -> dict[str, Any]:
    """Return what is known of a save or restore: its error, or what it has seen, the update if nothing is said."""
    return {"error": saved} if isinstance(saved, BaseException) else {"seen": SAVED if saved is None else saved}


def once_lost(writer: Writer) -> Writer:
    """Has a client use its session, and the task be lost and started again."""
    return writer.read(began=0.0).lost(1.0, ended=2.0)


LOST = errors.UnavailableError("gone", task=A)
AWAY = errors.InvalidArgumentError(f"'x' is on {A}/device:CPU:0, which has left the cluster")
SAVED, BARE = {0: value(0, 0)}, {0: value(0)}
TOLD = errors.WorkerRestartedError("restarted", task=A)

RIGHT: dict[str, Callable[[Writer], Writer]] = {
    "nothing happened": lambda w: w,
    "updates in order": lambda w: w.add(0, 0).add(1, 0, 1).read(0, 1),
    "an unknown update that was applied": lambda w: w.wrong(0, 1).add(0, error=LOST).read(0),
    "an unknown update that was not": lambda w: w.wrong(0, 1).add(0, error=LOST).read(),
    "two at once": lambda w: w.add(0, 0, 1, began=0.0, ended=2.0).add(1, 1, began=0.0, ended=2.0),
    "a loss that was told": lambda w: (
        w.add(0, 0).lost(1.0).add(1, error=TOLD, began=2.0).did("reattach", reset=(0,)).add(2, 2, began=4.0)
    ),
    "a loss that another session had mended": lambda w: (
        w.add(0, 0).lost(1.0).did("reattach", began=2.0, reset=(0,)).read(client=1, session=7, began=3.0)
    ),
    "an element that was taken": lambda w: w.did("put", q=0, e=1).did("take", 1, q=0).left(),
    "an element that is there": lambda w: w.did("put", q=0, e=1).left(1),
    "an element that was lost with its task": lambda w: w.did("put", q=0, e=1).lost(1.0).left(),
    "an element that came twice over a broken link": lambda w: (
        w.did("put", q=0, e=1).did("take", 1, q=0).wrong(1.0, 1.2, B).did("take", 1, q=0).left()
    ),
    "a sum": lambda w: w.did("meet", np.array([1, 1]), at=0, began=0.0).did(
        "meet", np.array([1, 1]), at=1, began=0.1, client=1
    ),
    "a limit that passed": lambda w: w.did("take", error=errors.DeadlineExceededError("late"), q=0, limit=0.1),
    "an operation that was cancelled": lambda w: w.did("take", error=TimeoutError(), q=0, cancel=0.1),
    "a session that was closed": lambda w: w.did(
        "read", error=errors.CancelledError("closed"), v=0, began=0.0, ended=2.0
    ).did("reopen", began=1.0),
    "a task that has left": lambda w: w.lost(0.0).did("compute", error=AWAY, a=0, b=0),
    "what was saved": lambda w: (
        w.add(0, 0).did("save", SAVED, n=0, at=1).add(1, 0, 1).did("restore", SAVED, n=0, at=1, reset=(0,)).read(0)
    ),
    "a checkpoint that was not saved for certain": lambda w: (
        w.wrong(0, 1).did("save", error=LOST, n=0, at=1).did("restore", error=errors.NotFoundError("0"), n=0, at=1)
    ),
    "an element that was lost with its client": lambda w: (
        w.did("put", q=0, e=1).did("take", error=LOST, q=0, killed=True).wrong(0, 9).left()
    ),
    "an update in doubt that was saved, and restored": lambda w: restored(in_doubt(w)).read(0, began=104.0),
    "an update in doubt that was saved, and perhaps restored": lambda w: restored(in_doubt(w), LOST).read(
        0, began=104.0
    ),
    "an update in doubt that was perhaps saved and restored": lambda w: restored(in_doubt(w, LOST), LOST).read(
        0, began=104.0
    ),
    "a restore that was given up and came late": lambda w: (
        given_up(w.wrong(1.0, 4.0)).add(0, 0, began=2.0).read(began=5.0)
    ),
    "a loss that was told late": lambda w: once_lost(w).add(0, error=LOST, began=60.0),
    "a loss that was told late, after another client had gone on": lambda w: (
        once_lost(w).read(client=1, began=50.0).add(0, error=LOST, began=60.0)
    ),
    "a loss that was told late, after another task was disturbed": lambda w: (
        once_lost(w).wrong(50.0, 51.0, B).add(0, error=LOST, began=60.0)
    ),
    "a loss that was told late, after nothing had been saved": lambda w: (
        once_lost(w).did("save", {}, n=0, at=1, began=50.0).add(0, error=LOST, began=60.0)
    ),
    "a loss that was told late, at the first use after the session was opened": lambda w: (
        w.lost(1.0, ended=2.0).read(client=1, began=50.0).add(0, error=LOST, began=60.0)
    ),
    "a node that fails": lambda w: w.did("guard", error=errors.InvalidArgumentError("0"), v=0, k=1).read(),
}
SNAPSHOTS: dict[str, Any] = {"snapshot_every": 1.0}
WRONG: dict[str, tuple[str, Callable[[Writer], Writer]]] = {
    "an update twice": ("whole values", lambda w: w.did("add", {0: value(0, 1, 1)}, v=0, k=1)),
    "a value of another": ("whole values", lambda w: w.did("read", {0: value(1)}, v=0)),
    "a torn value": ("whole values", lambda w: w.add(0, 0).did("read", {0: value(0, 0) - HALF}, v=0, began=0.0)),
    "an update that nobody had sent": ("no refused updates", lambda w: w.read(2).add(2, 2)),
    "an update that was refused": ("no refused updates", lambda w: w.lost(0.0).add(0, error=TOLD).read(0)),
    "an update behind a node that failed": (
        "no refused updates",
        lambda w: w.did("guard", error=errors.InvalidArgumentError("0"), v=0, k=1).read(1),
    ),
    "an update that is gone": ("acknowledged updates", lambda w: w.add(0, 0).read()),
    "an update that is gone after a restore that was over": (
        "acknowledged updates",
        lambda w: given_up(w.wrong(1.0, 1.4)).add(0, 0, began=3.0).read(began=5.0),
    ),
    "updates in two orders": (
        "acknowledged updates",
        lambda w: w.add(0, 0, began=0.0, ended=9.0).add(1, 1, began=0.0, ended=9.0),
    ),
    "a loss that nobody told": ("told losses", lambda w: w.add(0, 0).lost(1.0, ended=1.5).read(began=2.0)),
    "a variable that was reset without need": (
        "healthy variables",
        lambda w: w.lost(0.0, ended=0.1).add(0, 0, began=1.0).did("reattach", began=2.0, reset=(0,)),
    ),
    "an update of another life": ("late updates", lambda w: in_doubt(w).read(0, began=101.0)),
    "an update of another life that is there before it was restored": (
        "late updates",
        lambda w: restored(in_doubt(w).read(0, began=101.0)),
    ),
    "an update of another life whose restore was refused": (
        "late updates",
        lambda w: restored(in_doubt(w), TOLD).read(0, began=104.0),
    ),
    "an update of another life that was not in what was restored": (
        "late updates",
        lambda w: restored(in_doubt(w, BARE), BARE).read(0, began=104.0),
    ),
    "an update of another life that was perhaps saved since": (
        "late updates",
        lambda w: restored(in_doubt(w, LOST, at=101.0), LOST).read(0, began=104.0),
    ),
    "an update of another life whose client restores nothing": (
        "late updates",
        lambda w: in_doubt(w).did("restore", {}, reset=(0,), began=102.0).read(0, began=104.0),
    ),
    "an update of another life that was restored in one between": (
        "late updates",
        lambda w: restored(in_doubt(w)).lost(103.0).did("reattach", began=104.0, reset=(0,)).read(0, began=105.0),
    ),
    "a checkpoint that has become another": (
        "checkpoints",
        lambda w: w.add(0, 0).did("save", SAVED, n=0, at=1).did("restore", BARE, n=0, at=1, reset=(0,)),
    ),
    "a checkpoint that is gone": (
        "checkpoints",
        lambda w: w.add(0, 0).did("save", SAVED, n=0, at=1).did("restore", error=errors.NotFoundError("0"), n=0, at=1),
    ),
    "a task that has left and was there": (
        "named causes",
        lambda w: w.wrong(0, 1, B).did("compute", error=AWAY, a=0, b=0),
    ),
    "an element twice": ("queue elements", lambda w: w.did("put", q=0, e=1).did("take", 1, q=0).left(1)),
    "an element that nobody has put in": ("queue elements", lambda w: w.did("take", 1, q=0).left()),
    "an element that is gone": ("queue elements", lambda w: w.did("put", q=0, e=1).left()),
    "two sums of one contribution": (
        "collectives",
        lambda w: (
            w.did("meet", np.array([1, 1, 0]), at=0, began=0.0, ended=9.0)
            .did("meet", np.array([1, 1, 0]), at=1, began=0.0, ended=9.0)
            .did("meet", np.array([1, 0, 1]), at=2, began=0.0, ended=9.0)
        ),
    ),
    "a sum twice": ("collectives", lambda w: w.did("meet", np.array([2]), at=0)),
    "a wrong value": ("right values", lambda w: w.did("compute", [np.array([1])], expected=[np.array([2])])),
    "an operation without an end": (
        "ends in time",
        lambda w: w.did("read", error=LOST, v=0, ended=math.inf).wrong(0, 1),
    ),
    "a limit that was not kept": (
        "ends in time",
        lambda w: w.did("take", error=errors.DeadlineExceededError("late"), q=0, limit=1.0, ended=9.0),
    ),
    "an error without a reason": ("named causes", lambda w: w.add(0, error=LOST)),
    "a loss that was told to a session which had gone on": (
        "named causes",
        lambda w: once_lost(w).did("reattach", began=3.0).add(0, error=LOST, began=60.0),
    ),
    "a loss that was told to the session of a client's next process": (
        "named causes",
        lambda w: once_lost(w).add(0, error=LOST, began=3.0, killed=True).add(1, error=LOST, session=2, began=60.0),
    ),
    "an error that names another task": ("named causes", lambda w: w.wrong(0, 1, B).add(0, error=LOST)),
    "an error that names nobody": (
        "named causes",
        lambda w: w.wrong(0, 1).add(0, error=errors.UnavailableError("gone")),
    ),
    "a restart that was none": ("named causes", lambda w: w.wrong(0, 1).add(0, error=TOLD)),
    "an error of no class that a fault has": (
        "named causes",
        lambda w: w.wrong(0, 1).add(0, error=errors.InternalError("?")),
    ),
    "an exception": ("named causes", lambda w: w.wrong(0, 1).add(0, error=KeyError("?"))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_where_nothing_is_wrong(name: str) -> None:
    assert check(RIGHT[name](Writer()).history) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str) -> None:
    expected, write = WRONG[name]
    assert {finding.check for finding in check(write(Writer()).history)} == {expected}


def test_a_snapshot_has_what_was_there_for_long() -> None:
    early = Writer(**SNAPSHOTS).add(0, 0, began=0.0).lost(1.0, ended=2.0).add(1, error=TOLD).read(began=3.0)
    assert check(early.history) == []
    late = (
        Writer(**SNAPSHOTS).add(0, 0, began=0.0).lost(10.0, ended=11.0).add(1, error=TOLD, began=12.0).read(began=13.0)
    )
    (finding,) = check(late.history)
    assert finding.check == "snapshots"
    assert "no snapshot of variable 0 had update 0" in str(finding)


def test_what_is_left_is_found() -> None:
    history = Writer().history
    history.pending.append("a step")
    history.unhealed.append("a read")
    history.unheard.append("an error")
    assert [(finding.check, finding.what) for finding in check(history)] == [
        ("goes on", "a read"),
        ("nothing pending", "a step"),
        ("no unheard errors", "an error"),
    ]


def test_every_check_is_tried() -> None:
    tried = {name for name, _ in WRONG.values()} | {"snapshots", "goes on", "nothing pending", "no unheard errors"}
    assert tried == CHECKS.keys()


def test_an_operation_is_what_its_text_says() -> None:
    operation = Operation(1, 2, "add", {"v": 1, "k": 3, "via": -1}, 0.25, None, 1e-05)
    assert str(operation) == "client 1.2: add v=1 k=3 via=-1 pause=0.25 cancel=1e-05"
    assert Operation.of_text(str(operation)) == operation
