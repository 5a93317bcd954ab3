"""The base of ``AsyncSession`` and ``Session``: running requests, default sessions and argument checks."""

from __future__ import annotations

import contextlib
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from actorsession.actors import ownership
from actorsession.actors.deadline import Deadline
from actorsession.actors.ownership import Owner
from actorsession.config import (
    CallableOptions,
    ConfigProto,
    RPCOptions,
    RunMetadata,
    RunOptions,
    SessionMetadata,
    StepStats,
)
from actorsession.drawing.shown import Shown
from actorsession.durations import checked_seconds, in_seconds
from actorsession.errors import InvalidArgumentError, OpError, UnimplementedError
from actorsession.graph.default_session import DEFAULT_SESSIONS, get_default_session
from actorsession.graph.graph import Graph, default_graphs, get_default_graph
from actorsession.graph.held_arrays import large_arrays
from actorsession.plan.wiring import check_devices
from actorsession.process_bound import ProcessBound
from actorsession.runtime.debug.dump import DebugDump, DebugReport, DumpStore
from actorsession.session.callables import Arguments, AsyncCallable, MakeError, closed_error
from actorsession.session.callables import Callable as PreparedCallable
from actorsession.session.factory import SessionOptions, get_factory
from actorsession.session.handles import HandleKeeper
from actorsession.session.request import Request, Requests
from actorsession.session.run_tally import KEPT, RunTally
from actorsession.session.session_interface import LocalSession, SessionInterface, SessionPlan
from actorsession.session.statistics import SessionStatistics, session_sheet
from actorsession.spans import has_current_span, has_spans, run_span

__all__ = [
    "BaseSession",
    "check_hang_report",
    "check_last_steps",
    "check_run_arguments",
    "check_wait_for",
    "container_names",
    "get_default_session",
    "in_time",
    "local_session",
    "own_limit",
    "reset_options",
    "rpc_options_of",
]

T = TypeVar("T")

# Names of fetches and targets that a span tells.
_NAMED = 20


def reset_options(target: str, config: ConfigProto | None) -> SessionOptions:
    """Return the options by which ``reset`` selects the session factory.

    Raises:
        TypeError: for an argument of a wrong type.
    """
    if not isinstance(target, str):
        raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
    if config is not None and not isinstance(config, ConfigProto):
        raise TypeError(f"config is a ConfigProto, got {type(config).__name__}")
    return SessionOptions(target, config or ConfigProto())


def container_names(containers: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the containers that ``reset`` must clear.

    Raises:
        TypeError: unless ``containers`` is a sequence of strings. A single string is refused.
    """
    if containers is None:
        return ()
    if isinstance(containers, (str, bytes)) or not isinstance(containers, Sequence):
        raise TypeError(f"containers is a list of names, got {type(containers).__name__}: {containers!r:.100}")
    for name in containers:
        if not isinstance(name, str):
            raise TypeError(f"the name of a container is a string, got {name!r:.100}")
    return tuple(containers)


def check_run_arguments(options: object, run_metadata: object) -> None:
    """Check the types of the options and metadata of a run before anything runs.

    Raises:
        TypeError: for an argument of a wrong type.
    """
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(f"options is a RunOptions, got {options!r:.100}")
    if run_metadata is not None and not isinstance(run_metadata, RunMetadata):
        raise TypeError(f"run_metadata is a RunMetadata, got {run_metadata!r:.100}")


def check_hang_report(within: float) -> None:
    """Check the argument of ``why``.

    Raises:
        ValueError: unless it is a number of seconds above 0.
    """
    if not 0.0 < within < float("inf"):
        raise ValueError(f"within is a number of seconds above 0, got {within!r}")


def check_last_steps(count: int, slower_than: float) -> None:
    """Check the arguments of ``last_steps``.

    Raises:
        ValueError: for a negative number of steps or seconds.
    """
    if count < 0 or not 0.0 <= slower_than < float("inf"):
        raise ValueError(f"count and slower_than are numbers of 0 or more, got {count!r} and {slower_than!r}")


def check_wait_for(tasks: object, count: object, timeout: float) -> None:
    """Check the arguments of ``wait_for``.

    Raises:
        TypeError: for an argument of a wrong type.
        ValueError: for a number that is not positive.
    """
    if not isinstance(tasks, str):
        raise TypeError(f"tasks is a partial device name such as '/job:worker', got {tasks!r:.100}")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
        raise TypeError(f"count is an integer or None, got {count!r:.100}")
    if count is not None and count < 1:
        raise ValueError(f"count is at least 1, got {count}")
    _ = checked_seconds("timeout", timeout)


def in_time(preparing: Coroutine[Any, Any, T], limit: float | None) -> Coroutine[Any, Any, T]:
    """Return what prepares a plan within the limit of the run that needs it, such as reaching a master."""
    return preparing if limit is None else Deadline.after(limit).wait(preparing, what="the plan of the run")


def _with_rest(options: RunOptions | None, seconds: float) -> RunOptions:
    """Return the options of a run of whose limit so many seconds are left."""
    return replace(options or RunOptions(), timeout_in_ms=max(1, math.ceil(seconds * 1000)))


def own_limit(options: RunOptions | None) -> float | None:
    """Return the limit of a run's own options in seconds; ``None`` for the session's."""
    return None if options is None else in_seconds(options.timeout_in_ms) or None


def _with_name(config: ConfigProto, name: str) -> ConfigProto:
    """Return settings in which a session has a name, unless that is empty.

    Raises:
        TypeError: unless it is a string.
        ValueError: if the settings have another one.
    """
    if not isinstance(name, str):
        raise TypeError(f"name is a string, got {name!r:.100}")
    metadata = config.experimental.session_metadata or SessionMetadata()
    if name in ("", metadata.name):
        return config
    if metadata.name:
        raise ValueError(f"name is {name!r} and the session_metadata of config say {metadata.name!r}; give one of them")
    return replace(config, experimental=replace(config.experimental, session_metadata=replace(metadata, name=name)))


def _new_session(graph: Graph, options: SessionOptions, requests: Requests) -> SessionInterface[Any]:
    """Return a session of the factory that accepts the options.

    Raises:
        TypeError: if the factory is one of another distribution and makes something else.
    """
    factory = get_factory(options)
    session = factory.new_session(graph, options, requests.evict)
    if not isinstance(session, SessionInterface):
        raise TypeError(f"{type(factory).__name__}.new_session returns a SessionInterface, got {session!r:.100}")
    return session


def local_session(session: BaseSession) -> LocalSession[Any] | None:
    """Return what runs the steps of a session in this process; ``None`` if a master does."""
    return session._local


def rpc_options_of(session: BaseSession) -> RPCOptions:
    """Return how a session connects to its master."""
    return session._config.rpc_options


class BaseSession(Shown, ProcessBound, ABC):
    """The part of a session that does not depend on how callers wait for it.

    Args:
        target: as for ``Session``.
        graph: the graph to run; the default graph if left out.
        config: settings.
        name: its name in status reports and in the ``RunMetadata`` of its runs, which no other open session of
            its process, or of its master, may have; the one of ``config`` if left out.

    Raises:
        TypeError: for an argument of a wrong type.
        ValueError: for a name if ``config`` has another one.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
        InvalidArgumentError: for a malformed address in the target, and settings that cannot be met.
    """

    instead = "make a session in the other process; of a cluster, send its target there"

    # Whether large feeds are converted in a thread, so that an event loop stays responsive.
    _converts_in_thread = True
    # The session, if a run without options stays in the thread of its caller unless its plan needs a loop.
    _blocking: LocalSession[Any] | None = None

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None, *, name: str = ""
    ) -> None:
        if not isinstance(target, str):
            raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph is a Graph, got {type(graph).__name__}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config is a ConfigProto, got {type(config).__name__}")
        self._target = target
        self._graph = graph if graph is not None else get_default_graph()
        self._config = _with_name(config or ConfigProto(), name)
        self._limit = self._config.operation_timeout  # of a run without options, in seconds
        self._requests = Requests(self._graph)
        self._owner = Owner("session")
        self._forks = ownership.forks
        self._closed = False
        self._entered = False
        self._callables: weakref.WeakKeyDictionary[PreparedCallable | AsyncCallable, None] | None = None
        self._run_tally = RunTally()
        options = SessionOptions(self._target, self._config)
        # The session understands its plans itself, so their type is nobody else's concern.
        self._session: SessionInterface[Any] = _new_session(self._graph, options, self._requests)
        self._local = self._session.local
        if has_spans():
            vars(self)["_run_request"] = partial(_run_in_span, weakref.ref(self))
        if self._local is not None:  # only sessions in this process keep tensor handles
            self._requests.handles = HandleKeeper(self._local, self._check_open)

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def target(self) -> str:
        """The target of the session, as it was given."""
        return self._target

    @property
    def name(self) -> str:
        """The name of the session; "" if it has none."""
        metadata = self._config.experimental.session_metadata
        return "" if metadata is None else metadata.name

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._closed

    def as_default(self) -> AbstractContextManager[object]:
        """Return a context manager that makes this the default session of the calling thread or asyncio
        child. Leaving it does not close the session."""
        return DEFAULT_SESSIONS.entered(self)

    def _enter_defaults(self) -> None:
        self._owner.check_process()
        if self._entered:
            raise RuntimeError(f"{type(self).__name__} context managers are not re-entrant: use as_default()")
        self._entered = True
        DEFAULT_SESSIONS.push(self)
        default_graphs().push(self._graph)

    def _leave_defaults(self) -> None:
        """Undo ``_enter_defaults``; also in another thread or child, which has its own defaults."""
        if self._entered:
            self._entered = False
            default_graphs().remove(self._graph)
            DEFAULT_SESSIONS.remove(self)

    def statistics(self) -> SessionStatistics:
        """Return the session's counters: plans, steps and variables, or traffic with the master."""
        return replace(
            self._session.statistics(),
            runs=self._run_tally.succeeded,
            errors=self._run_tally.errors,
            cancelled=self._run_tally.cancelled,
            latency=self._run_tally.latency(),
            run_seconds=self._run_tally.run_seconds(),
            callables=len(self._callables or ()),
            growths=self._requests.mutations.growths,
            grown_nodes=self._requests.mutations.nodes,
        )

    def timelines(self) -> list[StepStats]:
        """Return the last steps, at most eight, that were traced for ``timeline_step``, oldest first.

        Raises:
            UnimplementedError: for a kind of session of another distribution that keeps none.
        """
        return self._session.timelines()

    def _name_operation(self, error: OpError) -> None:
        """Set ``error.op`` to the operation of the graph that failed, and the line that has built it."""
        if error.op is None and error.node:
            with contextlib.suppress(KeyError, ValueError):
                error.op = self._graph.get_operation_by_name(error.node)
                error.locate(source=error.op.source)

    @contextlib.contextmanager
    def _naming_operations(self) -> Iterator[None]:
        """Set ``op`` on every error that leaves the ``with`` block."""
        try:
            yield
        except OpError as error:
            self._name_operation(error)
            raise

    def _local_only(self, lacks: str) -> UnimplementedError:
        return UnimplementedError(f"a session of {self._target!r} {lacks}: only sessions in this process do")

    # -- debugging -----------------------------------------------------------------------------

    def debug_dumps(self) -> list[DebugDump]:
        """Return the watched values that were dumped to ``memory://``, in the order of dumping.

        They are kept until ``clear_debug_dumps``, even after the session is closed.

        Raises:
            UnimplementedError: for a kind of session that watches no tensors.
        """
        return self._dump_store().dumps()

    def debug_reports(self) -> list[DebugReport]:
        """Return the reports of the last 1024 debugged runs, in the order in which the runs ended.

        Raises:
            UnimplementedError: for a kind of session that watches no tensors.
        """
        return self._dump_store().reports()

    def clear_debug_dumps(self) -> None:
        """Release what debugged runs left in memory.

        Raises:
            UnimplementedError: for a kind of session that watches no tensors.
        """
        self._dump_store().clear()

    def _dump_store(self) -> DumpStore:
        store = self._session.debug_store
        if store is None:
            raise UnimplementedError(f"a session of {self._target!r} watches no tensors")
        return store

    _sheet = session_sheet

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<{type(self).__name__} target={self._target!r} {state} {self._graph!r}>"

    # -- running -------------------------------------------------------------------------------

    def _begin_run(self, make_closed_error: MakeError = closed_error) -> None:
        """Check that the session is usable, count a run, and handle a graph that was changed."""
        if self._closed or self._forks != ownership.forks:
            self._check_usable(make_closed_error)
        requests = self._requests
        requests.runs += 1
        if self._graph.version != requests.mutations.version:
            requests.check_graph()

    async def _run_request(
        self, request: Request, values: Sequence[Any], options: RunOptions | None, run_metadata: RunMetadata | None
    ) -> Any:
        """Run a request and return the caller's structure.

        Both sessions run this coroutine. In an ``AsyncSession`` it may suspend; a ``Session`` completes it
        without a loop, as what it awaits blocks the thread there.
        """
        tally = self._run_tally
        now = tally.now  # looked up first: a call of an attribute that holds a function is not specialised by CPython
        begin = now()
        try:
            if options is not None or run_metadata is not None:
                check_run_arguments(options, run_metadata)
            plan = request.plan
            if request.has_nothing:
                raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
            if plan is None and request.needs_step:
                limit = own_limit(options)
                try:
                    plan = await self._bound_plan(request, limit)
                except InvalidArgumentError:
                    # What is wrong with a value is said before what is wrong with the graph.
                    request.feeds(values)
                    raise
                if limit is not None and self._target:  # reaching a master is a part of the run
                    options = _with_rest(options, limit - (now() - begin))
            if not values:
                feeds: list[Any] = []
            elif self._converts_in_thread and large_arrays(values) and request.converts_much(values):
                feeds = await self._session.offload(partial(request.feeds, values))
            else:
                feeds = request.feeds(values)
            if plan is None:
                if run_metadata is not None:
                    run_metadata.clear()
                fetched: Sequence[Any] = ()
            elif options is None and self._blocking is not None and not plan.needs_loop:
                fetched = self._blocking.run_here(plan, feeds, None, run_metadata)
            else:
                fetched = await self._run_plan(plan, feeds, options, run_metadata)
            result = request.result(feeds, fetched)
        except BaseException as error:
            if isinstance(error, OpError):
                self._name_operation(error)
            tally.failure(error)
            raise
        recent = tally.recent
        recent.append(now() - begin)
        if len(recent) >= KEPT:
            tally.count()
        return result

    def _own_options(self, options: Any) -> Any:
        """Return the options of a run, which are not checked; a derived class converts others."""
        return options

    async def _bound_plan(self, request: Request, limit: float | None = None) -> SessionPlan:
        """Return the plan of a request, and bind it; see ``_prepare``."""
        with self._naming_operations():
            plan = request.plan or await self._prepare(request, limit)
        request.bind(plan)
        return plan

    @abstractmethod
    async def _prepare(self, request: Request, limit: float | None) -> SessionPlan:
        """Return the plan of a request from the session.

        Args:
            request: the request.
            limit: seconds, if it is of a run that has a limit of its own; a master may have to be reached first.
        """

    @abstractmethod
    async def _run_plan(
        self, plan: SessionPlan, feeds: Sequence[Any], options: RunOptions | None, run_metadata: RunMetadata | None
    ) -> Sequence[Any]:
        """Run a plan of the session and return the fetched values in its order."""

    def _prepared_from(self, options: CallableOptions) -> tuple[Request, Arguments]:
        """Return the request of a callable that options describe, and its feed arguments."""
        request, arguments = self._requests.of_options(options)
        if self._local is not None and not self._closed:
            devices = [d.name for d in self._local.list_devices()]
            check_devices(request.signature.wiring, devices)
        return request, arguments

    def _keep(self, prepared: PreparedCallable | AsyncCallable) -> None:
        """Release a callable when the session closes."""
        if self._callables is None:
            self._callables = weakref.WeakKeyDictionary()
        self._callables[prepared] = None

    def _release(self) -> None:
        """Release requests and callables when the session closes."""
        self._requests.clear()
        for prepared in list(self._callables or ()):
            prepared.release()
        self._callables = None

    def _check_usable(self, make_closed_error: MakeError = closed_error) -> None:
        """Check that the session can be used here and now."""
        self._check_open(make_closed_error)

    def _check_open(self, make_closed_error: MakeError = closed_error) -> None:
        """Check that the session is open and this process's, for what needs no event loop."""
        if self._closed:
            raise make_closed_error()
        self._owner.check_process()

    @staticmethod
    def _limited(options: RunOptions | None, timeout: float) -> RunOptions:
        """Return the options of a run with its time limit in seconds."""
        timeout = checked_seconds("timeout", timeout)
        options = options or RunOptions()
        if options.timeout_in_ms:
            raise ValueError(f"a run has one limit, got timeout={timeout!r} and timeout_in_ms={options.timeout_in_ms}")
        return replace(options, timeout_in_ms=math.ceil(timeout * 1000))


async def _run_in_span(
    weak: Callable[[], BaseSession | None],
    request: Request,
    values: Sequence[Any],
    options: Any,
    run_metadata: RunMetadata | None,
) -> Any:
    """Run a request as ``_run_request`` does, as a span of OpenTelemetry if there is a current one."""
    session = weak()
    assert session is not None  # whoever has called it refers to it
    run = partial(type(session)._run_request, session, request, values)
    if not has_current_span():
        return await run(options, run_metadata)
    options = session._own_options(options)
    if options is not None and not isinstance(options, RunOptions):
        return await run(options, run_metadata)  # which refuses it
    attributes: dict[str, Any] = {"actorsession.target": session.target}
    for kind in ("fetches", "targets"):
        attributes[f"actorsession.{kind}"] = list(getattr(request.signature, kind)[:_NAMED])
    remote = session._local is None
    with run_span(attributes, remote=remote) as parent:
        if remote:
            options = options or RunOptions()
            options = replace(options, experimental=replace(options.experimental, trace_parent=parent))
        return await run(options, run_metadata)
