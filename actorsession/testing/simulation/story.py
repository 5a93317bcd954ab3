"""Stories: clients that do what was drawn from a seed, against a cluster with faults.

A ``Story`` is plain data with a text form: the operations of the clients, the faults, and how the cluster is set up. So
it can be kept, shortened and performed again. A ``Performance`` is a simulated cluster on which real sessions carry it
out; ``checks`` judge its history.

The variables of a story are vectors that say which updates they have (``checks.initial``); each belongs to one client,
which alone gives it its initial value, as the chief of a training does. Elements of queues and contributions to sums
are numbers of their own. Everything else is compared with numpy.
"""

from __future__ import annotations

import asyncio
import random
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from actorsession.actors.supervision import Children
from actorsession.cluster.server.settings import ServerSettings
from actorsession.config import RunOptions
from actorsession.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnavailableError,
    WorkerRestartedError,
)
from actorsession.graph.device import task_name
from actorsession.graph.dtypes import int64, string
from actorsession.graph.graph import Graph, control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.placeholder import placeholder
from actorsession.ops.elements.division import floordiv
from actorsession.ops.queues.queues import FIFOQueue
from actorsession.ops.variables.checkpointing import restore_v2, save_v2
from actorsession.ops.variables.variable import Variable
from actorsession.opsets.collective.groups import Group, all_reduce
from actorsession.records import dataclass
from actorsession.session.async_session import AsyncSession
from actorsession.testing.simulation.checks import initial, updated
from actorsession.testing.simulation.cluster import SimulatedCluster, SimulatedProcess
from actorsession.testing.simulation.faults import KINDS as FAULTS
from actorsession.testing.simulation.faults import Fault, Schedule
from actorsession.testing.simulation.history import Disturbance, History, Operation, Outcome, Record, client_host
from actorsession.testing.simulation.host import SimulatedHost
from transports.host import current_host, on_host

__all__ = ["KINDS", "Kind", "Performance", "Setting", "Story"]

T = TypeVar("T")

# How often the power of machines fails, compared with other faults, where something is on their disks.
_POWER = 5.0
# How often clients are killed, and what there is to spoil with snapshots alone.
_OF_CLIENTS = {"kill": 2.0}
_OF_SNAPSHOTS = frozenset({"foreign", "stray"})
# The folder of checkpoints on the disk of each task.
_CHECKPOINTS = "/checkpoints"
# Pairs of tasks over which values go.
_WAYS = 2
# Members of the sums that several sessions make together, and the scope in which they find each other.
_MEETING = 2
_MEETS = RunOptions(experimental=RunOptions.Experimental(collective_graph_key=1))
# Tries of a client to do without an error what it does when all faults are over.
_TRIES = 5
# Virtual seconds by when nothing may be left; and where links may have been lost: values for a step that has not begun
# because its master was are kept for a minute.
_SETTLE, _SETTLE_AFTER_LOSS = 10.0, 75.0
_KEEPS_LINKS = frozenset({"slow", "fill", "fail", "lag", "drift", "jump"})
# What a fault is that ends a process; and which of these do nothing but that, so that they do nothing to a dead one.
_FORGETS = frozenset({"crash", "power", "end", "restart", "leave", "ghost"})
_ENDS = frozenset({"crash", "power", "end"})
# Leases after which a silent client is given up, those of clients being three times as long.
_CLIENT_LEASES = 4
# What a task counts that has to be 0 in the end.
_COUNTS = ("steps", "rendezvous", "waiting", "held", "unsettled", "sessions", "worker_sessions", "graphs")
# Seconds between two looks at what there is no event for.
_LOOK = 0.25
_SPOILS = frozenset({"power", "tear", "fill", "fail"})
# The job that is visited when it has grown.
_GROWS = "worker"


@dataclass(frozen=True, slots=True)
class Setting:
    """How the cluster of a story is set up.

    Attributes:
        jobs: the number of tasks of each job.
        clients: the number of clients.
        lanes: the number of operations that each client has under way at once.
        restart: how often the cluster starts a task again.
        down: seconds after which somebody does, if the cluster does not.
        snapshot_every: seconds between two snapshots; 0 for none.
        lease: seconds of silence after which a peer is examined.
        shuffle: whether callbacks of one process run in any order.
    """

    jobs: Mapping[str, int]
    clients: int = 3
    lanes: int = 2
    restart: int = 0
    down: float = 5.0
    snapshot_every: float = 0.0
    lease: float = 5.0
    shuffle: bool = False

    def __str__(self) -> str:
        jobs = ",".join(f"{job}:{count}" for job, count in self.jobs.items())
        return (
            f"jobs={jobs} clients={self.clients} lanes={self.lanes} restart={self.restart} down={self.down!r} "
            f"snapshot_every={self.snapshot_every!r} lease={self.lease!r} shuffle={int(self.shuffle)}"
        )

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return the setting that a line of text means, as ``str`` writes it."""
        fields = dict(word.split("=") for word in text.split())
        jobs = {job: int(count) for job, count in (pair.split(":") for pair in fields["jobs"].split(","))}
        return cls(
            jobs,
            int(fields["clients"]),
            int(fields["lanes"]),
            int(fields["restart"]),
            float(fields["down"]),
            float(fields["snapshot_every"]),
            float(fields["lease"]),
            fields["shuffle"] == "1",
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks."""
        return tuple(task_name(job, index) for job, count in self.jobs.items() for index in range(count))


class Kind(NamedTuple):
    """A kind of operation.

    Attributes:
        weight: how often it is drawn, compared with others.
        draw: draws its arguments.
        act: does it; returns what is seen and what numpy computes in its place.
        waits: whether it may wait for another operation, so that it always has a limit or is cancelled.
        has_limit: whether all of it takes a limit: to ask for the devices of a session, as a visit does, takes none.
    """

    weight: float
    draw: Callable[[random.Random, Drawn], Mapping[str, int]]
    act: Callable[[Client, Operation], Awaitable[tuple[Any, Any]]]
    waits: bool = False
    has_limit: bool = True


@dataclass(slots=True)
class Drawn:
    """What is the same in all operations of a story, and what is numbered, while it is drawn.

    Attributes:
        tasks: the number of tasks.
        client: the client whose operation is drawn.
        ways: some pairs of tasks: planning a step takes longer than many runs of it, so most have one of these.
        numbers: how many numbers were given away, by what is numbered.
        saved: the checkpoints of each client, with their arguments.
    """

    tasks: int
    client: int
    ways: Sequence[tuple[int, int]]
    numbers: Counter[str]
    saved: dict[int, list[dict[str, int]]]

    def via(self, numbers: random.Random) -> int:
        """Draw a task by which a value comes; -1 for none."""
        return numbers.choice([-1, self.ways[0][0]])

    def next(self, what: str) -> int:
        """Return the next number."""
        self.numbers[what] += 1
        return self.numbers[what] - 1


@dataclass(frozen=True, slots=True)
class Story:
    """What is to happen.

    Attributes:
        seed: of the simulation.
        setting: the cluster.
        operations: of all clients; those of one lane in their order.
        faults: what goes wrong.
    """

    seed: int
    setting: Setting
    operations: Sequence[Operation]
    faults: Schedule

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", f"setting {self.setting}", *map(str, self.operations)]
        return "\n".join([*lines, *(f"fault {fault}" for fault in self.faults)]) + "\n"

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return the story that a text means, as ``str`` writes it.

        Raises:
            ValueError: if a line means nothing.
        """
        seed, setting = 0, Setting({"worker": 2})
        operations, faults = [], []
        for line in filter(None, text.splitlines()):
            word, _, rest = line.partition(" ")
            if word == "seed":
                seed = int(rest)
            elif word == "setting":
                setting = Setting.of_text(rest)
            elif word == "fault":
                faults.append(Fault.parse(rest))
            else:
                operations.append(Operation.of_text(line))
        return cls(seed, setting, tuple(operations), Schedule(tuple(faults)))

    @classmethod
    def draw(cls, seed: int, steps: int = 200) -> Self:
        """Return the story of a seed.

        Args:
            seed: what it is drawn from.
            steps: how many operations it has.
        """
        numbers = random.Random(f"story {seed}")
        setting = _draw_setting(numbers)
        tasks = range(len(setting.tasks))
        ways = [(numbers.choice(tasks), numbers.choice(tasks)) for _ in range(_WAYS)]
        drawn = Drawn(len(tasks), 0, ways, Counter(), {})
        weights = [kind.weight for kind in KINDS.values()]
        pace = 10 ** numbers.uniform(-2.5, 0.0)
        operations = []
        for number in range(steps):
            (name,) = numbers.choices(list(KINDS), weights)
            kind = KINDS[name]
            client, lane = number % setting.clients, number // setting.clients % setting.lanes
            drawn.client = client
            operation = Operation(
                client,
                lane,
                name,
                kind.draw(numbers, drawn),
                _short(numbers.expovariate(1 / pace)),
                *_draw_end(numbers, kind),
            )
            if name != "meet":
                operations.append(operation)
            else:
                operations += _draw_meeting(operation, drawn)
        seconds = pace * steps / setting.clients / setting.lanes
        return cls(seed, setting, tuple(operations), _draw_faults(numbers, setting, seconds))


def _draw_setting(numbers: random.Random) -> Setting:
    jobs = numbers.choice([{"worker": 2}, {"ps": 1, "worker": 2}, {"ps": 2, "worker": 2}])
    return Setting(
        jobs,
        clients=numbers.choice([2, 3]),
        lanes=numbers.choice([1, 2, 3]),
        restart=numbers.choice([0, 3, 1000]),
        down=_short(numbers.uniform(0.1, 10.0)),
        snapshot_every=numbers.choice([0.0, _short(numbers.uniform(0.1, 4.0))]),
        lease=_short(numbers.uniform(2.0, 6.0)),
        shuffle=numbers.random() < 0.2,
    )


def _draw_end(numbers: random.Random, kind: Kind) -> tuple[float | None, float | None]:
    """Return the limit of an operation and when it is cancelled."""
    how = numbers.random()
    if how < 0.85 and not kind.waits:
        return None, None
    seconds = _short(10 ** numbers.uniform(-3.0, 1.0))
    return (seconds, None) if how < 0.93 and kind.has_limit else (None, seconds)


def _draw_meeting(first: Operation, drawn: Drawn) -> list[Operation]:
    """Return the operations of all members of a sum that several sessions make together."""
    return [replace(first, client=0)] + [
        replace(first, client=client, args={"at": drawn.next("at")}) for client in range(1, _MEETING)
    ]


def _draw_faults(numbers: random.Random, setting: Setting, seconds: float) -> Schedule:
    count = numbers.choice([0, 1, 2, 4, 8, 16])
    clients = [client_host(client) for client in range(setting.clients)]
    # Of the kinds of faults some are left out, so that others can be seen alone.
    weights = {name: kind.weight for name, kind in FAULTS.items() if kind.weight and numbers.random() < 0.6}
    weights |= {name: weight for name, weight in _OF_CLIENTS.items() if numbers.random() < 0.6}
    if setting.snapshot_every:
        weights["power"] = _POWER
    else:
        for name in _OF_SNAPSHOTS & weights.keys():
            del weights[name]
    return Schedule.draw(
        numbers, setting.jobs, count=count, seconds=seconds, clients=clients, weights=weights or {"crash": 1.0}
    )


def _short(seconds: float) -> float:
    return float(f"{seconds:.4g}")


class Model:
    """The graph of one client, which grows as its operations ask for more.

    Args:
        story: what it is for.
        client: the number of the client.
    """

    def __init__(self, story: Story, client: int) -> None:
        self.graph = Graph()
        self.tasks = story.setting.tasks
        self.newcomer = task_name(_GROWS, story.setting.jobs.get(_GROWS, 0))
        highest: Counter[str] = Counter()
        for operation in story.operations:
            for name, value in operation.args.items():
                what = {"k": f"v{operation.args.get('v')}", "l": f"v{operation.args.get('w')}", "at": "at"}.get(name)
                if what is not None and not (what == "at" and operation.kind != "meet"):
                    highest[what] = max(highest[what], value + 1)
        self._parts: dict[Any, Any] = {}
        self.updates = [highest[f"v{variable}"] for variable in range(len(self.tasks))]
        self.contributions = highest["at"]
        with self.graph.as_default():
            # First of all, because the members of a group find each other by the order in which they build it.
            device = self.tasks[-1 - client % _MEETING]
            self.contribution = placeholder(int64, [self.contributions], name="contribution")
            with self.graph.device(device):
                self.sum = all_reduce(self.contribution + 0, Group(_MEETING))
            self.x = placeholder(int64, [None], name="x")
            self.path = placeholder(string, [], name="path")
            self.amounts = [placeholder(int64, [2 + n], name=f"amount{v}") for v, n in enumerate(self.updates)]
            self.variables = []
            for variable, (task, count) in enumerate(zip(self.tasks, self.updates, strict=True)):
                with self.graph.device(task):
                    self.variables.append(Variable(initial(variable, count), name=f"v{variable}"))
            self.queues = []
            for number, task in enumerate(_queue_tasks(self.tasks)):
                with self.graph.device(task):
                    self.queues.append(FIFOQueue(100_000, int64, shapes=[[]], shared_name=f"q{number}"))

    def part(self, key: Any, build: Callable[[], T]) -> T:
        """Return what a part of the graph is for, and build it the first time."""
        if key not in self._parts:
            with self.graph.as_default():
                self._parts[key] = build()
        part: T = self._parts[key]
        return part

    def at(self, task: int, make: Callable[[], T]) -> T:
        """Build something on a task; on any for a number below 0, and on one that may join beyond the last."""
        if task < 0:
            return make()
        with self.graph.device(self.tasks[task] if task < len(self.tasks) else self.newcomer):
            return make()

    def moved(self, value: Tensor, via: int) -> Tensor:
        """Return a value that has been on a task."""
        return value if via < 0 else self.at(via, lambda: value + 0)

    def added(self, variable: int, via: int = -1) -> Any:
        """Return the variable after an update that comes by a task."""

        def build() -> Any:
            amount = self.moved(self.amounts[variable], via)
            return self.at(variable, lambda: self.variables[variable].assign_add(amount))

        return self.part(("add", variable, via), build)


def _queue_tasks(tasks: Sequence[str]) -> tuple[str, ...]:
    return tasks[0], tasks[-1]


class Client:
    """A program with one session, which goes on after every error.

    Args:
        story: what is to be done.
        number: its number.
        cluster: where it is done.
        history: where it is written down.
        former: the client of this number that was killed, if one was; this one goes on with what it had not begun.
    """

    def __init__(
        self, story: Story, number: int, cluster: SimulatedCluster, history: History, former: Client | None = None
    ) -> None:
        self._opened: int = 0 if former is None else former._opened
        self._random = random.Random(f"client {number} of {story.seed} {self._opened or ''}".rstrip())
        self._host = current_host()
        self._story = story
        self._number = number
        self._cluster = cluster
        self._history = history
        self._setting = story.setting
        self.model = Model(story, number)
        lanes = range(story.setting.lanes)
        self._lanes: Sequence[deque[Operation]] = (
            [deque(o for o in story.operations if (o.client, o.lane) == (number, lane)) for lane in lanes]
            if former is None
            else former._lanes
        )
        self.owned = [v for v in range(len(self.model.tasks)) if v % story.setting.clients == number]
        self.restoring = asyncio.Lock()
        self.session = self._new_session()

    def _new_session(self) -> AsyncSession:
        self._opened += 1
        # Several masters, each the task of its client's member of a sum.
        return self._cluster.session(self.model.graph, "worker", 1 - self._number % _MEETING)

    def living(self) -> Client:
        """Return this client, or the next one if its process was killed: with a new session, on the current host."""
        if not isinstance(self._host, SimulatedHost) or not self._host.is_dead:
            return self
        return Client(self._story, self._number, self._cluster, self._history, self)

    # -- the story -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the session, and give the variables that belong to this client their values; nothing fails yet."""
        for variable in self.owned:
            await self.session.run(self.model.variables[variable].initializer)

    async def act(self) -> None:
        """Do all operations."""
        async with asyncio.TaskGroup() as group:
            for operations in self._lanes:
                _ = group.create_task(self._act(operations))

    async def _act(self, operations: deque[Operation]) -> None:
        while operations:
            operation = operations.popleft()
            await asyncio.sleep(operation.pause)
            record = await self.do(operation)
            if record.error is not None:
                await self._recover(record.error)

    async def finish(self) -> None:
        """Compute something and read everything when nothing fails any more."""
        for kind, args in [
            ("compute", {"a": 0, "b": len(self.model.tasks) - 1, "x": 3}),
            *[("read", {"v": v}) for v in range(len(self.model.tasks))],
        ]:
            for _ in range(_TRIES):
                record = await self.do(Operation(self._number, 0, kind, args))
                if record.error is None:
                    break
                await self._recover(record.error, surely=True)
                await asyncio.sleep(1.0)
            else:
                self._history.unhealed.append(f"after {_TRIES} tries: {record}")

    async def close(self) -> None:
        """Close the session."""
        await self.session.close()

    async def drain(self, queue: int) -> list[int]:
        """Return what is in a queue."""
        size = self.model.part(("size", queue), lambda: self.model.queues[queue].size())
        take = self.model.part(("take", queue, -1), lambda: self.model.queues[queue].dequeue())
        elements = []
        while await self.session.run(size):
            elements.append(int(await self.session.run(take)))
        return elements

    # -- operations ----------------------------------------------------------------------------

    async def do(self, operation: Operation) -> Record:
        """Do one operation and write down what came of it."""
        # Variables get values from one place at a time. The wait for that is no part of the operation and of its limit.
        async with self.restoring if operation.kind == "restore" else nullcontext():
            record = self._begin(operation)
            try:
                async with asyncio.timeout(operation.cancel):
                    record.seen, record.expected = await KINDS[operation.kind].act(self, operation)
                record.outcome = Outcome.OK
            except Exception as error:
                if record.killed:  # what is raised when the simulation ends, and buries the dead
                    return record
                record.error = error
                record.outcome = _outcome_of(operation, error)
            record.ended = self._cluster.loop.now
        return record

    def _begin(self, operation: Operation) -> Record:
        record = Record(operation, self._opened, self._cluster.loop.now)
        if operation.kind == "restore":
            record.reset = tuple(self.owned)
        self._history.records.append(record)
        return record

    async def _recover(self, error: BaseException, *, surely: bool = False) -> None:
        """Do what a program does after an error."""
        if isinstance(error, WorkerRestartedError) or (
            isinstance(error, AbortedError | UnavailableError) and (surely or self._random.random() < 0.5)
        ):
            await self._reattach()
        elif isinstance(error, FailedPreconditionError | NotFoundError):
            async with self.restoring:
                for variable in self.owned:
                    await self._begin_anew(variable)

    async def _reattach(self) -> None:
        async with self.restoring:
            record = self._begin(Operation(self._number, 0, "reattach", {}))

            async def restore(session: AsyncSession, lost: Sequence[str]) -> None:
                record.reset = tuple(v for v in self.owned if f"v{v}" in lost)
                for variable in record.reset:
                    await session.run(self.model.variables[variable].initializer)

            try:
                record.seen = await self.session.reattach(restore)
                record.outcome = Outcome.OK
            except OpError as error:
                record.error, record.outcome = error, Outcome.UNKNOWN
            record.ended = self._cluster.loop.now

    async def _begin_anew(self, variable: int) -> None:
        """Give a variable its initial value if it has none; only this client does, and not twice at once."""
        record = self._begin(Operation(self._number, 0, "initialise", {"variable": variable}))
        try:
            try:
                await self.session.run(self.model.variables[variable])
            except (FailedPreconditionError, NotFoundError):
                record.reset = (variable,)
                await self.session.run(self.model.variables[variable].initializer)
            record.outcome = Outcome.OK
        except OpError as error:
            record.error, record.outcome = error, Outcome.UNKNOWN
        record.ended = self._cluster.loop.now

    async def run(
        self, fetches: Any, feeds: Mapping[Any, Any], limit: float | None, options: RunOptions | None = None
    ) -> Any:
        """Run a step of the session."""
        return await self.session.run(fetches, feeds, options, timeout=limit)


def _outcome_of(operation: Operation, error: BaseException) -> Outcome:
    """Return what an error says of an operation: these are raised before anything of a step begins."""
    if isinstance(error, WorkerRestartedError | InvalidArgumentError):
        return Outcome.REFUSED
    if isinstance(error, FailedPreconditionError | NotFoundError) and "w" not in operation.args:
        return Outcome.REFUSED
    return Outcome.UNKNOWN


async def _add(client: Client, operation: Operation) -> tuple[Any, Any]:
    model, args = client.model, operation.args
    variable = args["v"]
    feeds = {model.amounts[variable]: updated(args["k"], model.updates[variable])}
    fetch = model.added(variable, args["via"])
    return {variable: await client.run(fetch, feeds, operation.limit)}, None


async def _pair(client: Client, operation: Operation) -> tuple[Any, Any]:
    model, args = client.model, operation.args
    pairs = [(args["v"], args["k"]), (args["w"], args["l"])]
    feeds = {model.amounts[variable]: updated(update, model.updates[variable]) for variable, update in pairs}
    values = await client.run([model.added(variable) for variable, _ in pairs], feeds, operation.limit)
    return dict(zip([variable for variable, _ in pairs], values, strict=True)), None


async def _guard(client: Client, operation: Operation) -> tuple[Any, Any]:
    """An update behind a node that fails, on any task."""
    model, args = client.model, operation.args
    variable = args["v"]

    def build() -> Any:
        failing = model.at(args["at"], lambda: floordiv(7, model.x))
        with control_dependencies([failing]):
            return model.at(variable, lambda: model.variables[variable].assign_add(model.amounts[variable]))

    feeds = {model.amounts[variable]: updated(args["k"], model.updates[variable]), model.x: [0]}
    fetch = model.part(("guard", variable, args["at"]), build)
    return {variable: await client.run(fetch, feeds, operation.limit)}, None


async def _read(client: Client, operation: Operation) -> tuple[Any, Any]:
    variable = operation.args["v"]
    return {variable: await client.run(client.model.variables[variable], {}, operation.limit)}, None


def _computed(model: Model, args: Mapping[str, int], factor: int) -> Tensor:
    doubled = model.at(args["a"], lambda: model.x * 2)
    return model.at(args["b"], lambda: doubled * factor + model.x)


async def _compute(client: Client, operation: Operation) -> tuple[Any, Any]:
    """A value that goes over two tasks; a number of its own makes it a new part of the graph."""
    args, factor = operation.args, operation.args.get("n", 0) + 2
    x = np.arange(args["x"], dtype=np.int64)
    fetch = client.model.part(("compute", args["a"], args["b"], factor), lambda: _computed(client.model, args, factor))
    return [await client.run(fetch, {client.model.x: x}, operation.limit)], [x * 2 * factor + x]


async def _put(client: Client, operation: Operation) -> tuple[Any, Any]:
    model, args = client.model, operation.args

    def build() -> Any:
        element = model.moved(model.x[0], args["via"])
        return model.queues[args["q"]].enqueue(element)

    fetch = model.part(("put", args["q"], args["via"]), build)
    return await client.run(fetch, {model.x: [args["e"]]}, operation.limit), None


async def _take(client: Client, operation: Operation) -> tuple[Any, Any]:
    model, args = client.model, operation.args
    fetch = model.part(
        ("take", args["q"], args["via"]), lambda: model.moved(model.queues[args["q"]].dequeue(), args["via"])
    )
    return await client.run(fetch, {}, operation.limit), None


async def _reduce(client: Client, operation: Operation) -> tuple[Any, Any]:
    """A sum over all tasks in one step: all members get it, or nobody."""
    model, tasks = client.model, range(len(client.model.tasks))

    def build() -> list[Tensor]:
        group = Group(len(tasks))
        return [model.at(task, partial(all_reduce, model.x * (task + 1), group)) for task in tasks]

    x = np.arange(operation.args["x"], dtype=np.int64)
    total = x * sum(task + 1 for task in tasks)
    return await client.run(model.part("reduce", build), {model.x: x}, operation.limit), [total for _ in tasks]


async def _meet(client: Client, operation: Operation) -> tuple[Any, Any]:
    """A sum of which another session makes the other half; each contribution is an element of its own."""
    model = client.model
    contribution = np.zeros(model.contributions, np.int64)
    contribution[operation.args["at"]] = 1
    return await client.run(model.sum, {model.contribution: contribution}, operation.limit, _MEETS), None


async def _partial(client: Client, operation: Operation) -> tuple[Any, Any]:
    model, args = client.model, operation.args

    def build() -> tuple[Tensor, Tensor, Tensor]:
        late = placeholder(int64, [None])
        first = model.at(args["a"], lambda: model.x * 3)
        return late, first, model.at(args["b"], lambda: first + late)

    late, first, second = model.part(("partial", args["a"], args["b"]), build)
    x = np.arange(args["x"], dtype=np.int64)
    session = client.session
    handle = await session.partial_run_setup([first, second], [model.x, late])
    values = [await session.partial_run(handle, first, {model.x: x})]
    values.append(await session.partial_run(handle, second, {late: x + 1}))
    return values, [x * 3, x * 4 + 1]


def _saved_names(client: Client) -> list[str]:
    return [f"v{variable}" for variable in client.owned]


def _path(client: Client, args: Mapping[str, int]) -> dict[Any, Any]:
    return {client.model.path: f"{_CHECKPOINTS}/{args['n']}"}


async def _save(client: Client, operation: Operation) -> tuple[Any, Any]:
    """Write the variables of a client to a file of some task, each as one step has read it."""
    model, args, names = client.model, operation.args, _saved_names(client)

    def build() -> Any:
        values = [model.at(variable, model.variables[variable].read_value) for variable in client.owned]
        return model.at(args["at"], partial(save_v2, model.path, names, [""] * len(names), values)), values

    if not names:
        return {}, None
    fetches = model.part(("save", args["at"]), build)
    _, values = await client.run(fetches, _path(client, args), operation.limit)
    return dict(zip(client.owned, values, strict=True)), None


async def _restore(client: Client, operation: Operation) -> tuple[Any, Any]:
    """Read a checkpoint, and give the variables of the client the values that it has."""
    model, args, names = client.model, operation.args, _saved_names(client)

    def build() -> Any:
        types = [int64] * len(names)
        values = model.at(args["at"], partial(restore_v2, model.path, names, [""] * len(names), types))
        for variable, value in zip(client.owned, values, strict=True):
            value.set_shape([2 + model.updates[variable]])
        assigned = [
            model.at(variable, partial(model.variables[variable].assign, value))
            for variable, value in zip(client.owned, values, strict=True)
        ]
        return [one.op for one in assigned], values

    if not names or not args:
        return {}, None
    fetches = model.part(("restore", args["at"]), build)
    _, values = await client.run(fetches, _path(client, args), operation.limit)
    return dict(zip(client.owned, values, strict=True)), None


async def _visit(client: Client, operation: Operation) -> tuple[Any, Any]:
    """A value that goes over a task which may have joined; no other run of a graph that asks for more would do."""
    if not any(device.name.startswith(f"{client.model.newcomer}/") for device in await client.session.list_devices()):
        return None, None
    return await _compute(client, replace(operation, args={**operation.args, "b": len(client.model.tasks)}))


async def _reopen(client: Client, operation: Operation) -> tuple[Any, Any]:
    """Close the session, with whatever it has under way, and go on with a new one."""
    before, client.session = client.session, client._new_session()
    await before.close()
    return None, None


def _task(numbers: random.Random, drawn: Drawn) -> int:
    return numbers.randrange(drawn.tasks)


def _draw_update(numbers: random.Random, drawn: Drawn, **more: int) -> dict[str, int]:
    variable = _task(numbers, drawn)
    return {"v": variable, "k": drawn.next(f"v{variable}"), **more}


def _draw_pair(numbers: random.Random, drawn: Drawn) -> dict[str, int]:
    one, other = numbers.sample(range(drawn.tasks), 2)
    return {"v": one, "k": drawn.next(f"v{one}"), "w": other, "l": drawn.next(f"v{other}")}


def _draw_compute(numbers: random.Random, drawn: Drawn, **more: int) -> dict[str, int]:
    first, second = numbers.choice(drawn.ways)
    return {"a": first, "b": second, "x": numbers.choice([1, 3, 100]), **more}


def _draw_save(numbers: random.Random, drawn: Drawn) -> dict[str, int]:
    args = {"n": drawn.next("checkpoint"), "at": _task(numbers, drawn)}
    drawn.saved.setdefault(drawn.client, []).append(args)
    return args


def _draw_restore(numbers: random.Random, drawn: Drawn) -> Mapping[str, int]:
    """Draw one of the last checkpoints that the client has made by then, or is making; nothing if there is none."""
    saved = drawn.saved.get(drawn.client)
    return numbers.choice(saved[-2:]) if saved else {}


KINDS: dict[str, Kind] = {
    "add": Kind(8, lambda n, d: _draw_update(n, d, via=d.via(n)), _add),
    "pair": Kind(2, _draw_pair, _pair),
    "guard": Kind(2, lambda n, d: _draw_update(n, d, at=d.ways[0][1]), _guard),
    "read": Kind(2, lambda n, d: {"v": _task(n, d)}, _read),
    "compute": Kind(4, _draw_compute, _compute),
    "extend": Kind(1, lambda n, d: _draw_compute(n, d, n=d.next("part")), _compute),
    "put": Kind(4, lambda n, d: {"q": n.randrange(2), "e": d.next("element"), "via": d.via(n)}, _put),
    "take": Kind(4, lambda n, d: {"q": n.randrange(2), "via": d.via(n)}, _take, waits=True),
    "reduce": Kind(1, lambda n, d: {"x": n.choice([1, 50])}, _reduce),
    "meet": Kind(1, lambda n, d: {"at": d.next("at")}, _meet, waits=True),
    "partial": Kind(1, _draw_compute, _partial, has_limit=False),
    "save": Kind(1, _draw_save, _save),
    "restore": Kind(0.7, _draw_restore, _restore),
    "visit": Kind(0.5, lambda n, d: {"a": _task(n, d), "x": n.choice([1, 50])}, _visit, has_limit=False),
    "reopen": Kind(0.1, lambda n, d: {}, _reopen, has_limit=False),
}
"""What clients do."""


class Strike(NamedTuple):
    """What a fault that ends a process has struck.

    Attributes:
        disturbance: what is written down of it.
        process: the process that was there.
        change: the change of the cluster that it is, if it is one. That may have to wait for another change, and end
            the process which that has started.
    """

    disturbance: Disturbance
    process: SimulatedProcess
    change: asyncio.Task[None] | None

    def ends(self, process: SimulatedProcess) -> bool:
        """Whether it may be what has ended a process now."""
        if self.change is None:
            return process is self.process
        return process.task == self.process.task and not self.change.done()


class Performance(SimulatedCluster):
    """The cluster of a story, which writes down what was wrong with it and when.

    Args:
        story: the story.

    Attributes:
        story: the story.
        history: what has come of it.
    """

    def __init__(self, story: Story) -> None:
        setting = story.setting
        super().__init__(
            story.seed,
            setting.jobs,
            settings=ServerSettings(lease=setting.lease, beat=setting.lease / 4, file_roots=(_CHECKPOINTS,)),
            restart=setting.restart,
            snapshot_every=setting.snapshot_every or None,
            shuffle=setting.shuffle,
        )
        tasks = setting.tasks
        self.story = story
        self.history = History(tasks, tasks, _queue_tasks(tasks), setting.snapshot_every)
        self._watches = asyncio.TaskGroup()
        self._watched: list[asyncio.Task[None]] = []
        self._strikes: list[Strike] = []
        self._actors: list[Client] = []
        self._deaths: dict[str, asyncio.Future[float]] = {}
        self.loop.set_exception_handler(self._unheard)

    # -- faults --------------------------------------------------------------------------------

    def strike(self, fault: Fault) -> None:
        """See ``SimulatedCluster.strike``."""
        process = self._struck(fault)
        # Of a tear the loss of power that follows, if any, is what disturbs.
        if fault.kind == "tear" or (fault.kind in _ENDS and (process is None or process.has_ended)):
            super().strike(fault)
            return
        hosts = tuple(self._named_host(host) for host in (fault.whom, fault.other) if host)
        now = self.loop.now
        disturbance = Disturbance(str(fault), hosts, now, now + fault.seconds, spoils=fault.kind in _SPOILS)
        self.history.disturbances.append(disturbance)
        changes = len(self._under_way)
        super().strike(fault)
        if process is not None:
            change = self._under_way[-1] if len(self._under_way) > changes else None
            strike = Strike(disturbance, process, change)
            self._strikes.append(strike)
            disturbance.ended = np.inf
            with on_host(self.client):
                self._watched.append(self._watches.create_task(self._watch(strike)))
        if fault.kind == "kill":
            self._killed(fault)

    def _struck(self, fault: Fault) -> SimulatedProcess | None:
        """Return the process on the machine that a fault strikes, dead or alive, if the fault ends processes."""
        if fault.kind in _FORGETS:
            with suppress(ValueError):
                return self.process_on(fault.whom)
        return None

    def hear_loss(self, process: SimulatedProcess) -> None:
        """Note which fault has cost a task its memory.

        A process loses it once, however many faults strike it, and one that has not served had none. Of several faults
        it is the first, because sessions may be told of a task that is about to end before the others strike it.
        """
        for strike in self._strikes:
            if strike.ends(process):
                strike.disturbance.forgets, strike.disturbance.forgot = True, self.loop.now
                return

    def _killed(self, fault: Fault) -> None:
        """Take it that a client saw no end of what it had under way; let its next process start after a while."""
        for record in self.history.records:
            if client_host(record.operation.client) == fault.whom and record.outcome is Outcome.PENDING:
                record.outcome, record.ended, record.killed = Outcome.UNKNOWN, self.loop.now, True
        death = self._deaths.get(fault.whom)
        if death is not None and not death.done():
            death.set_result(fault.seconds)

    async def _watch(self, strike: Strike) -> None:
        """Note when a task is there again whose process was struck, and start it when nobody else does."""
        if strike.change is None:
            await strike.process.wait_ended()
        else:
            await asyncio.wait({strike.change})
        overdue = self.loop.now + self.story.setting.down
        while not self.serves(strike.process.task):
            if self.loop.now >= overdue:
                await self.bring_back(strike.process.job, strike.process.index)
            await asyncio.sleep(_LOOK)
        strike.disturbance.ended = self.loop.now

    def _named_host(self, host: str) -> str:
        """Return the name of the task of a host, or that which joins a job, or that of the host of a client."""
        job, _, index = host.rpartition("-")
        if not job and host != "client":
            return task_name(host, self.story.setting.jobs[host])
        return host if job in ("client", "") else task_name(job, int(index))

    def _unheard(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note an error that nobody has awaited, with its notes, and what it is an error of."""
        future = context.get("task", context.get("future"))
        error = "".join(traceback.format_exception_only(context.get("exception")))
        words = f"{self.loop.now:.6f}", context["message"], getattr(future, "host", None), future, error
        self.history.unheard.append(" ".join(map(str, words)))

    @property
    def _loses(self) -> bool:
        """Whether streams end of which nobody is told."""
        return any(fault.kind == "vanish" for fault in self.story.faults)

    async def settle(self) -> None:
        """End all faults, and wait until every task is there again."""
        await self.recover()
        for disturbance in self.history.disturbances:
            disturbance.ended = min(disturbance.ended, self.loop.now)
        if self._loses:
            # What was handed out over a stream that nobody knows to be gone is put back when its lease is over.
            await asyncio.sleep(_CLIENT_LEASES * self.story.setting.lease)

    # -- the story -----------------------------------------------------------------------------

    async def perform(self) -> None:
        """Carry the story out from beginning to end."""
        async with self._watches:
            async with self:
                self._actors = [
                    self._of_client(n, Client, self.story, n, self, self.history)
                    for n in range(self.story.setting.clients)
                ]
                await self._all(Client.open)
                self.begin(self.story.faults)
                await self._all(Client.act)
                await self.settle()
                await self._all(Client.finish)
                for queue in range(len(self.history.queues)):
                    self.history.left[queue] = await self._of_client(0, self._actors[0].drain, queue)
                await self._all(Client.close)
                await self._look_at_what_is_left()
            for watch in self._watched:
                watch.cancel()

    def _of_client(self, number: int, do: Callable[..., T], *args: Any, **more: Any) -> T:
        with on_host(self.client_host(client_host(number))):
            return do(*args, **more)

    async def _all(self, do: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(len(self._actors)):
                _ = group.create_task(self._live(number, do))

    async def _live(self, number: int, do: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
        """Let a client do something; where its process is killed, another one goes on with it."""
        name = client_host(number)
        while True:
            death = self._deaths[name] = self.loop.create_future()
            client = self._actors[number] = self._of_client(number, self._actors[number].living)
            # The children of a process that was killed never end, so nobody waits for them.
            process = Children(name)
            work = self._of_client(number, process.start, do(client), name=name, awaited=True)
            _ = await asyncio.wait({work, death}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
                return
            await asyncio.sleep(death.result())

    async def _look_at_what_is_left(self) -> None:
        lost = any(d.what.split()[1] not in _KEEPS_LINKS for d in self.history.disturbances)
        end = self.loop.now + (_SETTLE_AFTER_LOSS if lost else _SETTLE)
        while (left := self._left()) and self.loop.now < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)
        self.history.pending += left

    def _left(self) -> list[str]:
        left = []
        for task, process in self.processes.items():
            assert process.server is not None
            assert process.host is not None
            with on_host(process.host):
                seen = process.server.statistics()
            if not seen.idle or seen.sessions or seen.worker_sessions or seen.graphs:
                counts = {name: getattr(seen, name) for name in _COUNTS}
                counts["requests"] = sum(link.pending + link.serving for link in seen.links)
                words = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
                left.append(f"{task} has something left: {words}")
        return left
