"""The base of ``AsyncSession`` and ``Session``: requests, default sessions and argument checks.

Requests (see ``request``) are cached, so a repeated run does no work on structures, names or graphs.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from actorsession.config import ConfigProto, RunMetadata, RunOptions, StepStats
from actorsession.errors import CancelledError, InvalidArgumentError, OpError, UnimplementedError
from actorsession.graph.default_session import DEFAULT_SESSIONS, get_default_session
from actorsession.graph.graph import Graph, default_graphs, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.plan.place import Placed
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug.dump import DebugDump, DebugReport, DumpStore
from actorsession.session.callables import Arguments, checked_feed_list
from actorsession.session.direct.cost_model_session import CostModelSession
from actorsession.session.direct.direct_session import DirectSession
from actorsession.session.factory import SessionOptions, get_factory
from actorsession.session.feeds import converter, feed_tensor, flatten_feed_keys, flatten_feeds
from actorsession.session.fetches import check_not_empty, fetch_key, map_fetches
from actorsession.session.graph_mutation_warnings import GraphMutationMonitor
from actorsession.session.handles import HandleKeeper
from actorsession.session.request import Request
from actorsession.session.statistics import SessionStatistics

__all__ = [
    "IN_LOOP", "BaseSession", "check_run_arguments", "container_names", "get_default_session",
    "reset_options",
]  # fmt: skip

IN_LOOP = (
    "Session blocks and must not be used inside a running event loop: use AsyncSession and "
    "`await session.run(...)` there, or call Session from a thread (asyncio.to_thread)"
)
# Cached requests per session. The cache is emptied when it is full, so a program that makes new structures
# all the time pays for one rebuild in about a thousand runs.
_REMEMBERED = 1024


def reset_options(target: str, config: ConfigProto | None) -> SessionOptions:
    """Return the options by which ``reset`` selects the session factory.

    Raises:
        TypeError: for an argument of a wrong type.
    """
    if not isinstance(target, str):
        raise TypeError(f"target is a string, got {type(target).__name__}")
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
        raise TypeError(
            f"containers is a list of names, got {type(containers).__name__}: {containers!r:.100}"
        )
    for name in containers:
        if not isinstance(name, str):
            raise TypeError(f"the name of a container is a string, got {name!r:.100}")
    return tuple(containers)


def check_run_arguments(options: Any, run_metadata: Any) -> None:
    """Check the types of the options and metadata of a run before anything runs.

    Raises:
        TypeError: for an argument of a wrong type.
    """
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(f"options is a RunOptions, got {options!r:.100}")
    if run_metadata is not None and not isinstance(run_metadata, RunMetadata):
        raise TypeError(f"run_metadata is a RunMetadata, got {run_metadata!r:.100}")


class BaseSession:
    """The part of a session that does not depend on how callers wait for it.

    Args:
        target: "" for this process, or the address of a master.
        graph: the graph to run; the default graph if left out.
        config: settings.

    Raises:
        TypeError: for an argument of a wrong type.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        if not isinstance(target, str):
            raise TypeError(f"target is a string, got {type(target).__name__}")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph is a Graph, got {type(graph).__name__}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config is a ConfigProto, got {type(config).__name__}")
        self._target = target
        self._graph = graph if graph is not None else get_default_graph()
        self._config = config or ConfigProto()
        self._requests: dict[Any, Request] = {}
        self._restrictions = self._graph.restrictions
        self._pid = os.getpid()
        self._closed = False
        self._entered = False
        self._callables: weakref.WeakSet[Any] = weakref.WeakSet()
        self._growth = GraphMutationMonitor(self._graph)
        self._runs = 0
        options = SessionOptions(self._target, self._config)
        self._session: Any = get_factory(options).new_session(self._graph, options)
        self._session.on_evict = self._let_go
        # Only sessions in this process keep tensor handles.
        local = self._session if isinstance(self._session, DirectSession) else None
        self._handles = HandleKeeper(local, self._check_usable) if local is not None else None

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def target(self) -> str:
        """The target of the session: "" for this process."""
        return self._target

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._closed

    def as_default(self) -> AbstractContextManager[Any]:
        """Return a context manager that makes this the default session of the calling thread or asyncio
        child. Leaving it does not close the session."""
        return DEFAULT_SESSIONS.entered(self)

    def _enter_defaults(self) -> None:
        if self._entered:
            raise RuntimeError(
                f"{type(self).__name__} context managers are not re-entrant: use as_default()"
            )
        self._entered = True
        DEFAULT_SESSIONS.push(self)
        default_graphs().push(self._graph)

    def _leave_defaults(self) -> None:
        """Undo ``_enter_defaults``; also in another thread or child, which has its own defaults."""
        if self._entered:
            self._entered = False
            default_graphs().remove(self._graph)
            DEFAULT_SESSIONS.remove(self)

    def statistics(self) -> Any:
        """Return the session's counters: plans, steps and variables, or traffic with the master."""
        found = self._session.statistics()
        if not isinstance(found, SessionStatistics):
            return found
        return replace(
            found,
            callables=len(self._callables),
            growths=self._growth.growths,
            grown_nodes=self._growth.nodes,
        )

    def timelines(self) -> list[StepStats]:
        """Return the last steps, at most eight, that were traced for ``timeline_step``, oldest first.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        self._check_local("keeps no timelines")
        return self._session.timelines() if isinstance(self._session, CostModelSession) else []

    def _name_operation(self, error: OpError) -> None:
        """Set ``error.op`` to the operation of the graph that failed."""
        if error.op is None and error.node:
            with contextlib.suppress(KeyError, ValueError):
                error.op = self._graph.get_operation_by_name(error.node)

    @contextlib.contextmanager
    def _naming_operations(self) -> Iterator[None]:
        """Set ``op`` on every error that leaves the ``with`` block."""
        try:
            yield
        except OpError as error:
            self._name_operation(error)
            raise

    def _placement(self) -> dict[str, Placed]:
        return self._placing().placement()

    def _placing(self) -> DirectSession:
        """Return the direct session behind this object, which can report its placement.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        self._check_usable()
        if not isinstance(self._session, DirectSession):
            self._check_local("does not tell where it places nodes")
        direct: DirectSession = self._session
        return direct

    def _reattachable(self) -> Any:
        """Return the remote session behind this object.

        Raises:
            UnimplementedError: for a session in this process.
        """
        if isinstance(self._session, DirectSession):
            raise UnimplementedError(
                "a session in this process has no tasks that could restart: reattach() is for sessions "
                "with a target"
            )
        return self._session

    def _check_why(self, within: float) -> None:
        self._check_usable()
        if not 0.0 < within < float("inf"):
            raise ValueError(f"within is a number of seconds above 0, got {within!r}")

    def _check_local(self, lacks: str) -> None:
        if not isinstance(self._session, DirectSession):
            raise UnimplementedError(
                f"a session of {self._target!r} {lacks}: only sessions in this process do"
            )

    # -- debugging -----------------------------------------------------------------------------

    def debug_dumps(self) -> list[DebugDump]:
        """Return the watched values that were dumped to ``memory://``, in the order of dumping.

        They are kept until ``clear_debug_dumps``, even after the session is closed.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        return self._dump_store().dumps()

    def debug_reports(self) -> list[DebugReport]:
        """Return the reports of the last 1024 debugged runs, in the order in which the runs ended.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        return self._dump_store().reports()

    def clear_debug_dumps(self) -> None:
        """Release what debugged runs left in memory.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        self._dump_store().clear()

    def _dump_store(self) -> DumpStore:
        if isinstance(self._session, DirectSession):
            return self._session.debugger.store
        raise UnimplementedError(
            f"a session of {self._target!r} watches no tensors: only sessions in this process do"
        )

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<{type(self).__name__} target={self._target!r} {state} {self._graph!r}>"

    # -- requests ------------------------------------------------------------------------------

    def _request(self, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> Request:
        """Return the request of a run, from the cache where ``fetch_key`` has a key for the fetches."""
        self._check_usable()
        self._runs += 1
        if self._graph.version != self._growth.version:
            self._look_at_graph()
        shape = fetch_key(fetches)
        if shape is None:
            return self._new_request(fetches, tuple(feed_dict or ()))
        key = (shape, *feed_dict) if feed_dict else (shape,)
        request = self._requests.get(key)
        if request is None:
            if len(self._requests) >= _REMEMBERED:
                self._requests.clear()
            request = self._requests[key] = self._new_request(fetches, tuple(feed_dict or ()))
        return request

    def _warm_request(self, fetches: Any, feeds: Any) -> Request:
        """Return the request that a later run of these fetches and feeds will use."""
        if feeds is None:
            keys: Sequence[Any] = ()
        elif isinstance(feeds, Mapping):
            keys = tuple(flatten_feeds(feeds))
        else:
            keys = flatten_feed_keys(feeds if isinstance(feeds, (list, tuple)) else (feeds,))
        return self._request(fetches, dict.fromkeys(keys))

    def _look_at_graph(self) -> None:
        """Handle a graph that was changed since the previous run."""
        self._growth.look(self._runs)
        if self._graph.restrictions != self._restrictions:
            # Fetches or feeds that were accepted before may be forbidden now.
            self._restrictions = self._graph.restrictions
            self._requests.clear()

    def _new_request(self, fetches: Any, keys: tuple[Any, ...]) -> Request:
        check_not_empty(self._graph)
        fed: dict[Tensor, int] = {}
        for position, key in enumerate(keys):
            # If two keys stand for one tensor, the later one wins.
            fed[feed_tensor(self._graph, key)] = position
        handles = self._handles
        plan = map_fetches(self._graph, fetches, handles.wrap if handles is not None else None)
        from_feeds = tuple(fed.get(t) for t in plan.tensors)
        signature = RunSignature(
            tuple(t.name for t in fed),
            tuple(t.name for t in plan.tensors if t not in fed),
            tuple(op.name for op in plan.targets),
        )
        return Request(
            signature,
            tuple(handles.converter(t) if handles is not None else converter(t) for t in fed),
            tuple(fed.values()),
            plan.build,
            from_feeds if any(f is not None for f in from_feeds) else None,
            as_given=tuple(fed[t] for t in plan.tensors if t in fed and t.dtype.kind == "s"),
            dtypes={position: t.dtype.np_dtype for t, position in fed.items()},
        )

    def _prepared(self, fetches: Any, feed_list: Any) -> tuple[Request, Arguments]:
        """Return the request of a callable and its feed arguments."""
        keys = checked_feed_list(feed_list)
        flat = flatten_feed_keys(keys)
        request = self._new_request(fetches, tuple(flat))
        if not request.needs_step and request.fed is None:
            raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
        names = tuple(getattr(key, "name", None) or str(key) for key in keys)
        # If every key is a single tensor, calls need not match keys with the structure of the values.
        plain = len(flat) == len(keys) and all(f is k for f, k in zip(flat, keys, strict=True))
        return request, Arguments(keys, names, plain=plain)

    def _release(self) -> None:
        """Release requests and callables when the session closes."""
        self._requests.clear()
        for made in list(self._callables):
            made.release()
        self._callables.clear()

    def _let_go(self, plan: Any) -> None:
        """Forget an evicted plan. The next run of its requests prepares it again."""
        for request in list(self._requests.values()):
            if request.plan is plan:
                request.plan = None

    def _flat_feeds(self, feed_dict: Mapping[Any, Any] | None) -> Mapping[Any, Any] | None:
        return flatten_feeds(feed_dict) if feed_dict else None

    def _check_listable(self) -> None:
        """Do ``_check_usable`` for ``list_devices``, for which TensorFlow raises another error class."""
        if self._closed:
            raise CancelledError("Session has been closed.")
        self._check_usable()

    @property
    def _is_forked(self) -> bool:
        return os.getpid() != self._pid

    def _check_usable(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._is_forked:
            raise RuntimeError(
                f"this session was made in process {self._pid} and cannot be used in the forked process "
                f"{os.getpid()}: its threads, loop and connections stayed behind. Make a session after "
                "the fork, or start processes with the spawn method"
            )

    def _timeout(self, options: RunOptions | None) -> float | None:
        """Return the limit that the caller set for a run, in seconds; ``None`` for the default."""
        if options is not None and options.timeout_in_ms:
            return options.timeout_in_ms / 1000
        return self._config.operation_timeout
