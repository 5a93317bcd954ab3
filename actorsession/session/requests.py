"""The requests of a session: made from fetches and feeds, and kept.

A repeated run finds its request and does no work on structures, names or graphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from actorsession.config import CallableOptions
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.plan.signature import RunSignature
from actorsession.session.callable_options import named_run
from actorsession.session.callables import Arguments, checked_feed_list
from actorsession.session.feeds import converter, feed_tensor, flatten_feed_keys, flatten_feeds
from actorsession.session.fetches import check_not_empty, fetch_key, map_fetches
from actorsession.session.graph_mutation_warnings import GraphMutationMonitor
from actorsession.session.request import Request

if TYPE_CHECKING:
    from actorsession.session.handles import HandleKeeper
    from actorsession.session.session_interface import SessionPlan

__all__ = ["Requests"]

# Kept requests per session. All are dropped when there are so many, so a program that makes new structures
# all the time pays for one rebuild in about a thousand runs.
_KEPT = 1024


class Requests(dict[Hashable, Request]):
    """The requests of a session, by the structure of their fetches and their feed keys.

    Args:
        graph: the session's graph.

    Attributes:
        handles: what saves and feeds tensor handles; ``None`` for a session that keeps none.
        mutations: the changes of the graph that runs have seen.
        runs: how many runs have begun.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._restrictions = graph.restrictions
        self.handles: HandleKeeper | None = None
        self.mutations = GraphMutationMonitor(graph)
        self.runs = 0

    def find(self, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> Request:
        """Return the request of a run, a kept one where ``fetch_key`` has a key for the fetches.

        Raises:
            TypeError: for a bad feed key or a fetch of a wrong type.
            ValueError: for an unknown fetch, or a value whose shape does not fit.
        """
        shape = fetch_key(fetches)
        key: Hashable = (shape, *feed_dict) if feed_dict else (shape,)
        request = self.get(key) if shape is not None else None
        if request is not None:
            return request
        try:
            new = self.make(fetches, tuple(feed_dict or ()))
        except (TypeError, ValueError):
            self._check_feeds(feed_dict or {})
            raise
        if shape is not None:
            if len(self) >= _KEPT:
                self.clear()
            self[key] = new
        return new

    def _check_feeds(self, feed_dict: Mapping[Any, Any]) -> None:
        """Raise the error of a wrong feed, which comes before that of a wrong fetch."""
        if all(value is None for value in feed_dict.values()):
            return
        to_value = converter if self.handles is None else self.handles.converter
        for key, value in feed_dict.items():
            to_value(feed_tensor(self._graph, key))(value)

    def of_later_run(self, fetches: Any, feeds: Any) -> Request:
        """Return the request that a later run of these fetches and feeds will use."""
        if feeds is None:
            keys: Sequence[Any] = ()
        elif isinstance(feeds, Mapping):
            keys = tuple(flatten_feeds(feeds))
        else:
            keys = flatten_feed_keys(feeds if isinstance(feeds, (list, tuple)) else (feeds,))
        return self.find(fetches, dict.fromkeys(keys))

    def of_callable(self, fetches: Any, feed_list: Any) -> tuple[Request, Arguments]:
        """Return the request of a callable and its feed arguments."""
        keys = checked_feed_list(feed_list)
        flat = flatten_feed_keys(keys)
        request = self.make(fetches, tuple(flat))
        # As in TensorFlow it is the call that is refused.
        request.has_nothing = not request.needs_step and request.fed is None
        names = tuple(getattr(key, "name", None) or str(key) for key in keys)
        # If every key is a single tensor, calls need not match keys with the structure of the values.
        plain = len(flat) == len(keys) and all(f is k for f, k in zip(flat, keys, strict=True))
        return request, Arguments(keys, names, plain=plain)

    def of_options(self, options: CallableOptions) -> tuple[Request, Arguments]:
        """Return the request of a callable that options describe, and its feed arguments."""
        named = named_run(self._graph, options)
        request = self.make([*named.fetches, *named.targets], named.feeds)
        if not request.needs_step:
            raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
        build, count = request.build, len(named.fetches)
        request.build = lambda values: build(values)[:count]
        request.signature = replace(request.signature, wiring=named.wiring)
        names = tuple([tensor.name for tensor in named.feeds])
        return request, Arguments(named.feeds, names, plain=True, exact=True)

    def make(self, fetches: Any, keys: tuple[Any, ...]) -> Request:
        """Return a new request.

        Args:
            fetches: the structure of the fetches.
            keys: the keys of the feeds, in the order of the caller's values.
        """
        check_not_empty(self._graph)
        fed: dict[Tensor, int] = {}
        for position, key in enumerate(keys):
            # If two keys stand for one tensor, the later one wins.
            fed[feed_tensor(self._graph, key)] = position
        handles = self.handles
        plan = map_fetches(self._graph, fetches, handles.wrap if handles is not None else None)
        from_feeds = tuple(fed.get(t) for t in plan.tensors)
        to_value = converter if handles is None else handles.converter
        signature = RunSignature(
            tuple(t.name for t in fed),
            tuple(t.name for t in plan.tensors if t not in fed),
            tuple(op.name for op in plan.targets),
        )
        return Request(
            signature,
            tuple([(to_value(t), position) for t, position in fed.items()]),
            plan.build,
            from_feeds if any(f is not None for f in from_feeds) else None,
            as_given=tuple(fed[t] for t in plan.tensors if t in fed and t.dtype.kind == "s"),
            dtypes={position: t.dtype.np_dtype for t, position in fed.items()},
        )

    def check_graph(self) -> None:
        """Check a graph that has changed, and drop the requests if feeds or fetches may be forbidden now."""
        self.mutations.check(self.runs)
        if self._graph.restrictions != self._restrictions:
            self._restrictions = self._graph.restrictions
            self.clear()

    def evict(self, plan: SessionPlan) -> None:
        """Release a plan that the session keeps no longer; callable from any thread.

        The next run of its requests prepares it again.
        """
        for request in list(self.values()):
            if request.plan is plan:
                request.plan = None
