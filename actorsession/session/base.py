"""What the asynchronous and the synchronous face share: requests, defaults and checks.

A *request* is a run reduced to its signature and two functions: one that turns the caller's feed values
into arrays, one that puts fetched values into the caller's structure. Requests are kept, so a run that was
made before does no work on structures, names or graphs.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from actorsession.config import ConfigProto, RunOptions, StepStats
from actorsession.errors import CancelledError, InvalidArgumentError, UnimplementedError
from actorsession.graph.evaluation import DEFAULT_SESSIONS, get_default_session
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.plan.place import Placed
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug_dump import DebugDump, DebugReport, DumpStore
from actorsession.session.callables import Arguments, checked_feed_list
from actorsession.session.direct import DirectSession
from actorsession.session.factory import SessionOptions, get_factory
from actorsession.session.feeds import (
    Converter,
    converter,
    feed_tensor,
    flatten_feed_keys,
    flatten_feeds,
    strings_as_fed,
)
from actorsession.session.fetches import check_not_empty, fetch_key, map_fetches
from actorsession.session.growth import GrowthWatch
from actorsession.session.handles import HandleKeeper
from actorsession.session.observed import ObservedSession
from actorsession.session.statistics import SessionStatistics

__all__ = ["BaseSession", "Request", "get_default_session", "reset_options"]

# Structures of fetches that are remembered per session; beyond it the memory is emptied, which costs a
# program that makes new structures for ever one rebuild in a thousand runs.
_REMEMBERED = 1024


class _Feeds(list[Any]):
    """Converted values, and by position those that are fetched as they were given."""

    __slots__ = ("as_given",)

    def __init__(self, converted: list[Any], as_given: Mapping[int, Any]) -> None:
        super().__init__(converted)
        self.as_given = as_given


@dataclass(slots=True, eq=False)
class Request:
    """A run reduced to names.

    Attributes:
        signature: what it feeds, fetches and targets.
        converters: one per feed of the signature.
        positions: for each feed of the signature, its place among the caller's values.
        build: from the values of the fetched tensors to the caller's structure.
        fed: for each fetched tensor the caller's value that gives it, or ``None``; ``None`` altogether
            if no fetched tensor is fed.
        plan: the plan, once it was bound.
        as_given: places of values that are fetched in the form in which the caller gave them.
    """

    signature: RunSignature
    converters: tuple[Converter, ...]
    positions: tuple[int, ...]
    build: Callable[[Sequence[Any]], Any]
    fed: tuple[int | None, ...] | None
    plan: Any = None
    order: tuple[int, ...] | None = None
    as_given: tuple[int, ...] = ()

    def bind(self, plan: Any) -> None:
        """Takes a plan whose signature has the same names, maybe in another order.

        Afterwards ``feeds`` gives values in the plan's order and ``result`` takes them so.
        """
        feeds = [self.signature.feeds.index(name) for name in plan.signature.feeds]
        fetches = tuple(plan.signature.fetches.index(name) for name in self.signature.fetches)
        self.converters = tuple(self.converters[i] for i in feeds)
        self.positions = tuple(self.positions[i] for i in feeds)
        self.order = None if fetches == tuple(range(len(fetches))) else fetches
        self.signature = RunSignature(
            plan.signature.feeds, self.signature.fetches, self.signature.targets
        )
        self.plan = plan

    def feeds(self, values: Sequence[Any]) -> list[Any]:
        """The caller's values as arrays, in the order of the plan's feeds."""
        converted = [
            convert(values[i]) for convert, i in zip(self.converters, self.positions, strict=True)
        ]
        if not self.as_given:
            return converted
        return _Feeds(converted, {i: strings_as_fed(values[i]) for i in self.as_given})

    def result(self, feeds: Sequence[Any], values: Sequence[Any]) -> Any:
        """The caller's structure.

        Args:
            feeds: what ``feeds`` made.
            values: fetched values in the order of the plan's fetches.
        """
        if self.order is not None:
            values = [values[i] for i in self.order]
        if self.fed is None:
            return self.build(values)
        given = dict(zip(self.positions, feeds, strict=True))
        if isinstance(feeds, _Feeds):
            given.update(feeds.as_given)
        fetched = iter(values)
        # A fed tensor comes back as an array even where it is a scalar, as in TensorFlow.
        return self.build(
            [next(fetched) if feed is None else np.array(given[feed]) for feed in self.fed]
        )

    @property
    def needs_step(self) -> bool:
        """Whether anything must run: fetches that are all fed need no step."""
        return bool(self.signature.fetches or self.signature.targets)


def reset_options(target: str, config: ConfigProto | None) -> SessionOptions:
    """The options by which ``reset`` finds the kind of session.

    Raises:
        TypeError: for an argument of a wrong type.
    """
    if not isinstance(target, str):
        raise TypeError(f"target is a string, got {type(target).__name__}")
    return SessionOptions(target, config or ConfigProto())


class BaseSession:
    """What a session is, apart from how one waits for it.

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
        self._defaults: list[AbstractContextManager[Any]] = []
        self._callables: weakref.WeakSet[Any] = weakref.WeakSet()
        self._growth = GrowthWatch(self._graph)
        self._runs = 0
        options = SessionOptions(self._target, self._config)
        self._session: Any = get_factory(options).new_session(self._graph, options)
        self._session.on_evict = self._let_go
        # Only sessions in this process keep values.
        local = self._session if isinstance(self._session, DirectSession) else None
        self._handles = HandleKeeper(local, self._check_usable) if local is not None else None

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def target(self) -> str:
        """What the session runs on: "" for this process."""
        return self._target

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._closed

    def as_default(self) -> AbstractContextManager[Any]:
        """Makes this the default session of the calling thread or asyncio child for a block; does not
        close it."""
        return DEFAULT_SESSIONS.entered(self)

    def _enter_defaults(self) -> None:
        if self._defaults:
            raise RuntimeError(
                f"{type(self).__name__} context managers are not re-entrant: use as_default()"
            )
        DEFAULT_SESSIONS.push(self)
        context = self._graph.as_default()
        context.__enter__()
        self._defaults.append(context)

    def _leave_defaults(self) -> None:
        if self._defaults:
            self._defaults.pop().__exit__(None, None, None)
        DEFAULT_SESSIONS.remove(self)

    def statistics(self) -> Any:
        """Counters of the session: of plans, steps and variables, or of traffic with the master."""
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
        """The last steps, eight at most, that ``graph_options.timeline_step`` had traced, oldest first.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        self._check_local("keeps no timelines")
        return self._session.timelines() if isinstance(self._session, ObservedSession) else []

    def _placement(self) -> dict[str, Placed]:
        self._check_usable()
        self._check_local("does not tell where it places nodes")
        found: dict[str, Placed] = self._session.placement()
        return found

    def _check_local(self, lacks: str) -> None:
        if not isinstance(self._session, DirectSession):
            raise UnimplementedError(
                f"a session of {self._target!r} {lacks}: only sessions in this process do"
            )

    # -- debugging -----------------------------------------------------------------------------

    def debug_dumps(self) -> list[DebugDump]:
        """The watched values that went to ``memory://``, in the order in which they were seen.

        They stay until ``clear_debug_dumps``, also when the session is closed.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        return self._dump_store().dumps()

    def debug_reports(self) -> list[DebugReport]:
        """What became of the debugged runs, in the order in which they ended; of the last 1024.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        return self._dump_store().reports()

    def clear_debug_dumps(self) -> None:
        """Lets go of what debugged runs left in memory.

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
        """The request of a run; remembered for fetches of a common form."""
        self._check_usable()
        self._runs += 1
        if self._graph.version != self._growth.version:
            self._growth.look(self._runs)
            if self._graph.restrictions != self._restrictions:
                # What was fed or fetched before may be forbidden by now.
                self._restrictions = self._graph.restrictions
                self._requests.clear()
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

    def _new_request(self, fetches: Any, keys: tuple[Any, ...]) -> Request:
        check_not_empty(self._graph)
        fed: dict[Tensor, int] = {}
        for position, key in enumerate(keys):
            # Of two keys for one tensor the later wins.
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
        )

    def _prepared(self, fetches: Any, feed_list: Any) -> tuple[Request, Arguments]:
        """The request of a callable, and what its arguments feed."""
        keys = checked_feed_list(feed_list)
        flat = flatten_feed_keys(keys)
        request = self._new_request(fetches, tuple(flat))
        if not request.needs_step and request.fed is None:
            raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
        names = tuple(getattr(key, "name", None) or str(key) for key in keys)
        # Keys that are single tensors already need no matching with their values in each call.
        plain = len(flat) == len(keys) and all(f is k for f, k in zip(flat, keys, strict=True))
        return request, Arguments(keys, names, plain=plain)

    def _release(self) -> None:
        """Lets go of requests and callables when the session closes."""
        self._requests.clear()
        for made in list(self._callables):
            made.release()
        self._callables.clear()

    def _let_go(self, plan: Any) -> None:
        """Forgets a plan that the session keeps no longer; the next run of its requests asks again."""
        for request in list(self._requests.values()):
            if request.plan is plan:
                request.plan = None

    def _flat_feeds(self, feed_dict: Mapping[Any, Any] | None) -> Mapping[Any, Any] | None:
        return flatten_feeds(feed_dict) if feed_dict else None

    def _check_listable(self) -> None:
        """``_check_usable`` for ``list_devices``, which TensorFlow answers with another error."""
        if self._closed:
            raise CancelledError("Session has been closed.")
        self._check_usable()

    def _check_usable(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"this session was made in process {self._pid} and cannot be used in the forked process "
                f"{os.getpid()}: its threads, loop and connections stayed behind. Make a session after "
                "the fork, or start processes with the spawn method"
            )

    def _timeout(self, options: RunOptions | None) -> float | None:
        """The limit that the caller set for a run, in seconds; ``None`` for the default."""
        if options is not None and options.timeout_in_ms:
            return options.timeout_in_ms / 1000
        return self._config.operation_timeout
