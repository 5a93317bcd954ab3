"""The answers to the paths of the page: what is asked of which tasks, and what becomes of it.

``Answers`` belongs to a ``DashboardServer``, which calls the function of a path with a ``Request`` and sends
what it returns as JSON. It asks tasks by way of the ``ClusterPoller``, and ``views`` make plain values of their
answers. Knows nothing of HTTP.

Invariants: nothing waits longer than its patience, and a task that is silent is left out. Every answer has a
limit in entries.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.cluster.server.memory import TaskVariable
from actorsession.cluster.server.statistics import OpenSession, ServerStatistics
from actorsession.cluster.wait_graphs import MOST, collect_wait_graphs
from actorsession.config.step_record import ErrorRecord, StepRecord, merge_records, without_fragments
from actorsession.dashboard.poller import UP, ClusterPoller
from actorsession.dashboard.step_views import shifted, step_row, step_view
from actorsession.dashboard.views import (
    cluster_view,
    error_view,
    graph_view,
    queue_view,
    sessions_view,
    summary_view,
    variable_view,
    why_view,
)
from actorsession.errors import InvalidArgumentError, NotFoundError, OpError
from actorsession.json_text import read_json_object
from actorsession.messages.inspection import (
    INSPECTOR,
    GraphPiece,
    ListQueues,
    QueuesFound,
    ReadGraph,
    ReadVariable,
    VariableSummarised,
)
from actorsession.messages.server import (
    SERVER,
    ErrorsRead,
    ListVariables,
    LogRead,
    ReadErrors,
    ReadLog,
    ReadSteps,
    StepsRead,
    VariablesListed,
)
from actorsession.messages.session import MASTER, ExplainStep, StepExplained
from actorsession.messages.worker import WORKER, AskWhy, WorkerWhy
from actorsession.runtime.hang_report import explain
from actorsession.runtime.inspection import ArraySummary, NodeRow, QueueRow
from actorsession.runtime.wait_graph import PartialWaits, TaskWaits

__all__ = ["Answer", "Answers", "Request"]

# Seconds for all tasks to answer what a page asks for, and for one task with more work.
_SOON, _PATIENT = 2.0, 10.0
# Entries of an answer: nodes of a graph, which arrive in pieces, steps, and others.
_NODES, _PIECE, _STEPS, _MOST, _LINES, _VARIABLES = 20_000, 4000, 200, 1000, 2000, 20_000
_HOUR = 3600
# Steps that all tasks together are asked for, and the least of each.
_ALL_STEPS, _LEAST_STEPS = 2000, 5
# Last steps of a session whose plans say how long nodes take.
_EXPLAINED = 5
# Tasks of which all are asked for their variables or errors; of more, those that have the most.
_MANY = 100
# Explanations that are kept, for a step that is looked at again and again while it runs.
_KEPT = 32


class Request(NamedTuple):
    """What a browser asks for.

    Attributes:
        parts: the parts of the path that are names.
        query: the values of each name of the query, in order.
    """

    parts: Mapping[str, str]
    query: Mapping[str, Sequence[str]]

    def text(self, name: str) -> str:
        """Return the first value of a name; "" for none."""
        return next(iter(self.query.get(name, ())), "")

    def texts(self, name: str) -> list[str]:
        """Return all values of a name, which may also stand in one, with commas between them."""
        return [text for value in self.query.get(name, ()) for text in value.split(",") if text]

    def number(self, name: str, default: int, most: int, least: int = 1) -> int:
        """Return a whole number within limits; the default for anything else."""
        text = self.text(name)
        return min(max(least, int(text)), most) if text.isascii() and text.isdigit() else min(default, most)

    def seconds(self, name: str) -> float:
        """Return a time; 0 for anything else."""
        try:
            seconds = float(self.text(name))
        except ValueError:
            return 0.0
        return seconds if 0.0 <= seconds < 1e9 else 0.0


Answer: TypeAlias = Callable[[Request], Awaitable[Any]]


class Answers:
    """The answers over the tasks of one cluster.

    Args:
        poller: knows the tasks.
        name: the name of the cluster, for people.
    """

    def __init__(self, poller: ClusterPoller, name: str) -> None:
        self._poller, self._name = poller, name
        self._started = time.time()
        self._explained: OrderedDict[tuple[Any, ...], dict[str, Any]] = OrderedDict()

    def by_path(self) -> dict[str, Answer]:
        """Return the function of each path; the names of its parts are in braces, with their forms."""
        answers: dict[str, Answer] = {
            "/api/cluster": self.cluster,
            "/api/history": self.history,
            "/api/sessions": self.sessions,
            "/api/steps": self.steps,
            "/api/steps/{key:.+}": self.step,
            "/api/explain": self.explain,
            "/api/graphs/{session}": self.graph,
            "/api/variables": self.variables,
            "/api/variables/{task:.+?}/{name:.+}": self.variable,
            "/api/queues": self.queues,
            "/api/why": self.why,
            "/api/errors": self.errors,
            "/api/logs/{task:.+}": self.log,
        }
        return {path: partial(self._answer, answer) for path, answer in answers.items()}

    async def _answer(self, answer: Answer, request: Request) -> Any:
        """Answer while the poller goes on, after its first round, so that the first answer is not empty."""
        with self._poller.looked_at():
            await self._poller.wait_for_round(_SOON)
            return await answer(request)

    # -- tasks and sessions --------------------------------------------------------------------

    async def cluster(self, request: Request) -> Any:
        """Return the tasks and their counters."""
        return cluster_view(self._name, self._poller, time.time(), self._started)

    async def history(self, request: Request) -> Any:
        """Return the rates of the last hour."""
        tasks = request.query.get("task") or None
        since = time.time() - request.number("seconds", _HOUR, _HOUR)
        read = self._poller.history.read(since, tasks, request.number("points", 300, 2000))
        return {"interval": self._poller.interval, **read}

    async def sessions(self, request: Request) -> Any:
        """Return the sessions of all masters."""
        return sessions_view(self._poller.tasks.values())

    def _session(self, handle: str) -> tuple[str, OpenSession]:
        """Return a session, and the task whose master has it.

        Raises:
            NotFoundError: if none has it.
        """
        for state in self._poller.tasks.values():
            for session in () if state.statistics is None else state.statistics.open_sessions:
                if session.session_handle == handle:
                    return state.task, session
        raise NotFoundError(f"no task has a session {handle!r:.200}")

    # -- steps ---------------------------------------------------------------------------------

    async def steps(self, request: Request) -> Any:
        """Return the steps that run, the oldest first, and the last ones, the latest first."""
        count = request.number("count", 50, _STEPS)
        message = ReadSteps(
            # Few of each task where there are many, so that their answers together stay small.
            count=min(count, max(_LEAST_STEPS, _ALL_STEPS // max(1, len(self._poller.tasks)))),
            slower_than=request.seconds("slower_than"),
            session=request.text("session"),
            running=True,
            steps=[],
        )
        records = without_fragments((await self._records(message, _SOON))[0])
        running = sorted((r for r in records if r.is_running), key=lambda r: r.began)
        ended = sorted((r for r in records if not r.is_running), key=lambda r: -r.ended)
        return {
            "running": [step_row(record) for record in running[:count]],
            "last": [step_row(record) for record in ended[:count]],
        }

    async def _records(self, message: ReadSteps, seconds: float) -> tuple[list[StepRecord], dict[str, str]]:
        """Return what the tasks remember, and why some have not answered in so many seconds."""
        answers, faults = await self._poller.ask_all(SERVER, message, seconds)
        read: dict[str, StepsRead] = answers
        records = [
            shifted(StepRecord.from_wire(step), self._poller.find(task).offset)
            for task, answer in read.items()
            for step in answer.steps
        ]
        return merge_records(records), faults

    async def step(self, request: Request) -> Any:
        """Return one step, with what all tasks know of it and what its plan says."""
        _, session, number = ["", "", *request.parts["key"].rsplit("/", 2)][-3:]
        if not (number.isascii() and number.isdigit()) or int(number) >= 2**63:
            raise InvalidArgumentError(f"the key of a step is TASK/SESSION/ID, got {request.parts['key']!r:.200}")
        message = ReadSteps(count=1, slower_than=0.0, session="", running=True, steps=[int(number)])
        records, faults = await self._records(message, _PATIENT)
        record = next((r for r in records if r.session == session), None)
        if record is None:
            silent = "".join(f"; {task} has not answered: {why}" for task, why in list(faults.items())[:3])
            raise NotFoundError(f"no task remembers step {number} of session {session!r:.200}{silent}")
        partial = await self._partial_run(record) if record.kind == "partial" and record.is_running else None
        return step_view(record, await self._plan_of(record), partial)

    async def _plan_of(self, record: StepRecord) -> dict[str, Any]:
        """Return the explanation of a step's plan; an empty one if its session cannot explain it any more."""
        try:
            return await self._explanation(record.session, record.fetches, record.feeds)
        except OpError:
            return {}

    async def _partial_run(self, record: StepRecord) -> PartialWaits | None:
        message = AskWhy(session_handle=record.session, most=MOST, steps=[], keys=[])
        try:
            answer: WorkerWhy = await self._poller.ask(record.task, WORKER, message, _SOON)
        except OpError:
            return None
        masters = TaskWaits.from_wire(answer.waits).masters
        return next((run for m in masters for run in m.partial_runs if run.step_id == record.step_id), None)

    async def explain(self, request: Request) -> Any:
        """Return the explanation of a run before it runs."""
        handle, fetches = request.text("session"), request.texts("fetches")
        if not fetches:
            raise InvalidArgumentError("explain needs fetches=NAME,...")
        return await self._explanation(handle, fetches, request.texts("feeds"))

    async def _explanation(self, handle: str, fetches: Sequence[str], feeds: Sequence[str]) -> dict[str, Any]:
        task, session = self._session(handle)
        key = (handle, session.nodes, *fetches, "", *feeds)
        if key in self._explained:
            self._explained.move_to_end(key)
            return self._explained[key]
        message = ExplainStep(
            session_handle=handle,
            feeds=list(feeds),
            types=[],
            fetches=[name for name in fetches if ":" in name],
            targets=[name for name in fetches if ":" not in name],
        )
        answer: StepExplained = await self._poller.ask(task, MASTER, message, _PATIENT)
        explanation = self._explained[key] = read_json_object(answer.explanation, "an explanation")
        if len(self._explained) > _KEPT:
            self._explained.popitem(last=False)
        return explanation

    # -- graphs, variables, queues -------------------------------------------------------------

    async def graph(self, request: Request) -> Any:
        """Return the graph of a session, which its master gives in pieces."""
        handle = request.parts["session"]
        (task, _), most = self._session(handle), request.number("nodes", _NODES, _NODES)
        rows: list[NodeRow] = []
        total = most
        while len(rows) < min(total, most):
            message = ReadGraph(session_handle=handle, first=len(rows), most=min(_PIECE, most - len(rows)))
            piece: GraphPiece = await self._poller.ask(task, INSPECTOR, message)
            total = piece.total if piece.nodes else 0
            rows += map(NodeRow.from_wire, piece.nodes)
        return graph_view(rows, total, await self._node_seconds(task, handle))

    async def _node_seconds(self, task: str, handle: str) -> dict[str, float]:
        """Return how long nodes take that the last steps of a session have run: measured, or else expected."""
        message = ReadSteps(count=_EXPLAINED, slower_than=0.0, session=handle, running=False, steps=[])
        seconds: dict[str, float] = {}
        try:
            answer: StepsRead = await self._poller.ask(task, SERVER, message, _SOON)
            records = [StepRecord.from_wire(step) for step in answer.steps]
            for fetches, feeds in dict.fromkeys((r.fetches, r.feeds) for r in records if r.is_whole):
                for node in (await self._explanation(handle, fetches, feeds))["nodes"]:
                    seconds[node["name"]] = node["seconds"]
        except OpError:  # the graph is shown without
            pass
        return seconds

    async def variables(self, request: Request) -> Any:
        """Return the variables of all tasks, the largest first."""
        having = self._having(lambda statistics: statistics.variables)
        answers, _ = await self._poller.ask_all(SERVER, ListVariables(), _SOON, having)
        listed: list[VariablesListed] = list(answers.values())
        rows = [variable_view(a.task, TaskVariable.from_wire(row)) for a in listed for row in a.variables]
        return sorted(rows, key=lambda row: (-row["bytes"], row["name"], row["task"]))[:_VARIABLES]

    def _having(self, count: Callable[[ServerStatistics], int]) -> list[str] | None:
        """Return the tasks to ask for what they have a number of; ``None`` for all, unless there are many tasks."""
        states = [state for state in self._poller.tasks.values() if state.state == UP and state.statistics is not None]
        if len(states) <= _MANY:
            return None
        counts = {state.task: count(state.statistics) for state in states if state.statistics is not None}
        return sorted((task for task, number in counts.items() if number), key=lambda task: -counts[task])[:_MANY]

    async def variable(self, request: Request) -> Any:
        """Return the distribution of a variable, which is made at its task."""
        task, name = request.parts["task"], request.parts["name"]
        where = {part: request.text(part) for part in ("device", "container", "session")}
        message = ReadVariable(name=name, bins=request.number("bins", 40, 200), **where)
        answer: VariableSummarised = await self._poller.ask(task, INSPECTOR, message, _PATIENT)
        return {"name": name, "task": task, **where, **summary_view(ArraySummary.from_wire(answer.summary))}

    async def queues(self, request: Request) -> Any:
        """Return the queues of all tasks."""
        answers, _ = await self._poller.ask_all(INSPECTOR, ListQueues(most=_MOST), _SOON)
        queues: dict[str, QueuesFound] = dict(sorted(answers.items()))
        rows = [queue_view(task, QueueRow.from_wire(row)) for task, answer in queues.items() for row in answer.queues]
        return rows[:_MOST]

    # -- what is wrong -------------------------------------------------------------------------

    async def why(self, request: Request) -> Any:
        """Return what the steps under way wait for, and the root cause."""
        states = self._poller.tasks.values()

        def asking(task: str) -> Callable[[AskWhy, Deadline], Awaitable[WorkerWhy]]:
            link = self._poller.find(task).link
            return lambda message, limit: link.ask(WORKER, message, limit)

        asks = {state.task: asking(state.task) for state in states if state.state == UP}
        graphs = await collect_wait_graphs(asks, "", Deadline.after(_SOON))
        silent = {state.task: state.fault for state in states if state.state != UP}
        return why_view(explain(graphs.waits, {**silent, **graphs.silent}), time.time())

    async def errors(self, request: Request) -> Any:
        """Return the last errors of all tasks, the latest first."""
        having = self._having(lambda statistics: sum(statistics.errors.values()))
        answers, _ = await self._poller.ask_all(SERVER, ReadErrors(), _SOON, having)
        read: list[ErrorsRead] = list(answers.values())
        records = [ErrorRecord.from_wire(error) for answer in read for error in answer.errors]
        return [error_view(record) for record in sorted(records, key=lambda record: -record.when)[:_MOST]]

    async def log(self, request: Request) -> Any:
        """Return the last lines of the log of a task."""
        lines, after = request.number("lines", 200, _LINES), request.number("after", 0, 2**53, least=0)
        read: LogRead = await self._poller.ask(request.parts["task"], SERVER, ReadLog(lines=lines, after=after))
        return {"task": read.task, "lines": read.lines, "next": read.last, "level": read.level}
