"""What the clients of a simulated cluster did and what they were told: an operation is invoked, then it ends.

The data of a story, without behaviour: clients append records, ``checks`` reads them. All times are seconds of the
simulation, of no host's clock. As in Jepsen's histories, the end of an operation says what is known of it: it was
done (``OK``), it was not (``REFUSED``), or nobody can say (``UNKNOWN``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["Disturbance", "History", "Operation", "Outcome", "Record", "client_host"]


def client_host(client: int) -> str:
    """Return the name of the host of a client."""
    return f"client-{client}"


class Outcome(Enum):
    """What is known of an operation."""

    PENDING = "pending"
    OK = "ok"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a client does.

    Attributes:
        client: the number of the client.
        lane: the operations of one lane of a client come one after the other; its lanes share a session.
        kind: a name of ``story.KINDS``.
        args: whole numbers by name; ``KINDS`` says which.
        pause: seconds that the client waits before it.
        limit: seconds that it may take, as a limit of the step; ``None`` for the default.
        cancel: seconds after which the client cancels it; ``None`` for never.
    """

    client: int
    lane: int
    kind: str
    args: Mapping[str, int]
    pause: float = 0.0
    limit: float | None = None
    cancel: float | None = None

    def __str__(self) -> str:
        words = [
            f"client {self.client}.{self.lane}: {self.kind}",
            *(f"{name}={value}" for name, value in self.args.items()),
        ]
        times = {"pause": self.pause or None, "limit": self.limit, "cancel": self.cancel}
        return " ".join([*words, *(f"{name}={value!r}" for name, value in times.items() if value is not None)])

    @classmethod
    def of_text(cls, text: str) -> Operation:
        """Return the operation that a line of text means, as ``str`` writes it.

        Raises:
            ValueError: if it means none.
        """
        who, _, what = text.partition(": ")
        kind, *pairs = what.split()
        client, _, lane = who.removeprefix("client ").partition(".")
        numbers = dict(pair.split("=") for pair in pairs)
        times = {name: float(numbers.pop(name)) for name in ("pause", "limit", "cancel") if name in numbers}
        args = {name: int(value) for name, value in numbers.items()}
        return cls(int(client), int(lane), kind, args, **times)


@dataclass(slots=True, eq=False)
class Record:
    """What came of an operation.

    Attributes:
        operation: what the client did.
        session: the number of the session among those of its client: each that it opens has another.
        began: when.
        ended: when; infinite while it has not.
        outcome: what is known of it.
        seen: what it returned; a kind of operation says in what form.
        expected: what numpy computes; ``None`` for an operation that computes nothing.
        error: what it raised.
        reset: the variables that it may have given their initial values, or those of a checkpoint.
        killed: whether its client was killed meanwhile, which saw nothing of its end.
    """

    operation: Operation
    session: int
    began: float
    ended: float = math.inf
    outcome: Outcome = Outcome.PENDING
    seen: Any = None
    expected: Any = None
    error: BaseException | None = None
    reset: tuple[int, ...] = ()
    killed: bool = False

    @property
    def kind(self) -> str:
        """The kind of the operation."""
        return self.operation.kind

    @property
    def args(self) -> Mapping[str, int]:
        """The arguments of the operation."""
        return self.operation.args

    def within(self, began: float, ended: float) -> bool:
        """Whether it was under way at some time between two times."""
        return self.began <= ended and self.ended >= began

    def __str__(self) -> str:
        end = "" if self.ended == math.inf else f" to {self.ended:.6f}"
        said = ""
        if self.error is not None:
            text = self.error.message if isinstance(self.error, OpError) else str(self.error)
            said = f" {type(self.error).__name__}: {text[:300]}"
        return f"{self.began:.6f}{end} [{self.operation}] {self.outcome.value}{said}"


@dataclass(slots=True, eq=False)
class Disturbance:
    """A fault that was in effect.

    Attributes:
        what: the fault as text.
        hosts: the tasks and clients that it concerns, by the names of their hosts; first the one that it strikes.
        began: when it began.
        ended: when it was over; infinite while it is not.
        forgets: whether the memory of its tasks was lost, with the state that it held.
        forgot: when it surely was, if it was not lost at once.
        spoils: whether the disks of its tasks may refuse or lose what is written.
    """

    what: str
    hosts: tuple[str, ...]
    began: float
    ended: float = math.inf
    forgets: bool = False
    spoils: bool = False
    forgot: float = -math.inf


@dataclass(slots=True, eq=False)
class History:
    """A run of a story.

    Attributes:
        tasks: the names of the tasks.
        variables: the task of each variable.
        queues: the task of each queue.
        snapshot_every: seconds between two snapshots; 0 for none.
        records: of all operations, in the order in which they began.
        disturbances: in the order in which they began.
        left: for each queue, the elements that were in it in the end.
        pending: what was left when nothing should be, in words.
        unhealed: what clients could not do although all faults were over, in words.
        unheard: errors of living hosts that nobody has awaited, in words.
    """

    tasks: tuple[str, ...]
    variables: tuple[str, ...]
    queues: tuple[str, ...]
    snapshot_every: float = 0.0
    records: list[Record] = field(default_factory=list)
    disturbances: list[Disturbance] = field(default_factory=list)
    left: dict[int, list[int]] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    unhealed: list[str] = field(default_factory=list)
    unheard: list[str] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Record]:
        """Yield the records of some kinds of operations."""
        return (record for record in self.records if record.kind in kinds)

    def losses(self, task: str) -> list[Disturbance]:
        """Return the disturbances that have cost a task its memory."""
        return [d for d in self.disturbances if d.forgets and task in d.hosts[:1]]

    def disturbed(self, began: float, ended: float, *hosts: str) -> list[Disturbance]:
        """Return what was in effect at some time between two times, on any host or on some of these."""
        return [
            d
            for d in self.disturbances
            if d.began <= ended and d.ended >= began and (not hosts or not set(hosts).isdisjoint(d.hosts))
        ]
