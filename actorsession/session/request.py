"""Requests: runs reduced to their signature and two functions; those of a session are made and kept.

One function converts the caller's feeds to arrays, the other puts fetched values into the caller's structure.
``Requests`` makes and keeps those of a session; each callable has one.

Invariant: the feeds and fetches of a request with a plan are in the order of that plan, whichever thread
bound it. All plans of one signature have the same order.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.config import CallableOptions
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.graph.held_arrays import large_arrays
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.opsets.sparse.basics import SparseTensor
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.session.callable_options import named_run
from actorsession.session.callables import Arguments, checked_feed_list
from actorsession.session.conversions import conversion_of
from actorsession.session.feeds import (
    Converter,
    converter,
    feed_tensor,
    flatten_feed_keys,
    flatten_feeds,
    strings_as_fed,
)
from actorsession.session.fetches import check_not_empty, map_fetches
from actorsession.session.graph_mutation_warnings import GraphMutationMonitor
from actorsession.session.session_interface import SessionPlan

if TYPE_CHECKING:
    from actorsession.plan.explain.explain import Feeds
    from actorsession.session.handles import HandleKeeper

__all__ = ["Request", "Requests", "fetch_key"]


class _Feeds(list[Any]):
    """Converted values, and by position those that are fetched in the form in which they were fed."""

    __slots__ = ("as_given",)

    def __init__(self, converted: list[Any], as_given: Mapping[int, Any]) -> None:
        super().__init__(converted)
        self.as_given = as_given


@dataclass(slots=True, eq=False)
class Request:
    """A run reduced to names.

    Attributes:
        signature: feeds, fetches and targets of the run.
        conversions: for each feed of the signature, its converter and its position among the caller's
            values.
        build: makes the caller's structure from the values of the fetched tensors.
        fed: for each fetched tensor, the position of the caller's value that is fed for it, or ``None``;
            ``None`` alone if no fetched tensor is fed.
        plan: the plan, once it was bound.
        order: for each fetch of the signature, its position among the plan's fetches; ``None`` if the orders
            are the same.
        as_given: positions of the values that are fetched in the form in which they were fed.
        dtypes: dtypes of the feeds, by the position of the caller's value.
        binding: held while a plan is bound.
        has_nothing: whether it is that of a callable of nothing, which is refused when it is called.
    """

    signature: RunSignature
    conversions: tuple[tuple[Converter, int], ...]
    build: Callable[[Sequence[Any]], Any]
    fed: tuple[int | None, ...] | None
    plan: SessionPlan | None = None
    order: tuple[int, ...] | None = None
    as_given: tuple[int, ...] = ()
    dtypes: Mapping[int, np.dtype[Any]] = field(default_factory=dict)
    binding: threading.Lock = field(default_factory=threading.Lock)
    has_nothing: bool = False

    def bind(self, plan: SessionPlan) -> None:
        """Bind a plan whose signature has the same names, possibly in another order.

        Afterwards ``feeds`` returns values in the plan's order, and ``result`` expects them in it. Several
        threads that make the same request for the first time may bind it at once. The lock keeps one thread
        from reordering what another has half reordered.
        """
        with self.binding:
            feeds = [self.signature.feeds.index(name) for name in plan.signature.feeds]
            fetches = tuple(plan.signature.fetches.index(name) for name in self.signature.fetches)
            self.conversions = tuple([self.conversions[i] for i in feeds])
            self.order = None if fetches == tuple(range(len(fetches))) else fetches
            self.signature = replace(self.signature, feeds=plan.signature.feeds)
            self.plan = plan

    def feeds(self, values: Sequence[Any]) -> list[Any]:
        """Return the caller's values as arrays in the order of the plan's feeds."""
        if len(self.conversions) == 1:  # the frame of a comprehension takes as long as a conversion
            convert, at = self.conversions[0]
            converted = [convert(values[at])]
        else:
            converted = [convert(values[i]) for convert, i in self.conversions]
        if not self.as_given:
            return converted
        return _Feeds(converted, {i: strings_as_fed(values[i]) for i in self.as_given})

    def converts_much(self, values: Sequence[Any]) -> bool:
        """Return whether ``feeds`` must convert large arrays or check the elements of large string arrays."""
        if not large_arrays(values):
            return False
        return any(
            large_arrays((values[i],)) and (values[i].dtype != dtype or dtype.hasobject)
            for i, dtype in self.dtypes.items()
        )

    def result(self, feeds: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return the caller's structure.

        Args:
            feeds: the result of ``feeds``.
            values: fetched values in the order of the plan's fetches.
        """
        if self.order is not None:
            values = [values[i] for i in self.order]
        if self.fed is None:
            return self.build(values)
        given = {i: feed for (_, i), feed in zip(self.conversions, feeds, strict=True)}
        if isinstance(feeds, _Feeds):
            given.update(feeds.as_given)
        fetched = iter(values)
        # A fed tensor comes back as an array even where it is a scalar, as in TensorFlow.
        return self.build([next(fetched) if feed is None else np.array(given[feed]) for feed in self.fed])

    @property
    def needs_step(self) -> bool:
        """Whether anything must run. Fetches that are all fed need no step."""
        return bool(self.signature.fetches or self.signature.targets)


def _flat_keys(feeds: Any) -> Sequence[Any]:
    """Return feed keys without values: none, one, or a list of them."""
    if feeds is None:
        return ()
    return flatten_feed_keys(feeds if isinstance(feeds, (list, tuple)) else (feeds,))


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
        shape = fetches if type(fetches) in _LEAVES else fetch_key(fetches)  # without a call, mostly
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
        keys = flatten_feeds(feeds) if isinstance(feeds, Mapping) else _flat_keys(feeds)
        return self.find(fetches, dict.fromkeys(keys))

    def to_explain(self, fetches: Any, feeds: Any) -> tuple[RunSignature, Feeds]:
        """Return the signature of a step that is to be explained, and its fed tensors; nothing is kept.

        Args:
            fetches: as in ``run``.
            feeds: a feed dict with values, or feed keys without; ``None`` for none.
        """
        flat = flatten_feeds(feeds) if isinstance(feeds, Mapping) else dict.fromkeys(_flat_keys(feeds))
        request = self.make(fetches, tuple(flat))
        names = request.signature.feeds
        values = request.feeds(tuple(flat.values())) if isinstance(feeds, Mapping) else [None] * len(names)
        specs = {}
        for name, value in zip(names, values, strict=True):
            tensor = self._graph.get_tensor_by_name(name)
            shape = tensor.shape if value is None else TensorShape(np.shape(value))
            specs[name] = TensorSpec(tensor.dtype, shape)
        return request.signature, specs

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


# -- keys of kept requests -------------------------------------------------------------------------

_LEAVES = frozenset({Tensor, Operation, str, Variable})
# Converted objects that never change, so their tensors stay the same from run to run.
_LASTING = frozenset({SparseTensor, IndexedSlices})
# Mappings that have a cache key.
_ORDERED = frozenset({dict, OrderedDict})


def fetch_key(fetches: Any) -> Any:
    """Return a hashable key for a structure, equal for equal requests; ``None`` if there is none.

    Leaves have a key, and so have lists, tuples, named tuples and plain dicts of leaves, at any depth. Other
    objects may change from run to run and are analysed each time.
    """
    kind = type(fetches)
    if kind in _LEAVES:
        return fetches
    if kind is list or kind is tuple:
        for item in fetches:
            if type(item) not in _LEAVES:
                return _nested_key(kind, fetches)
        return (kind, *fetches)
    if kind in _ORDERED:
        return _nested_key((kind, *fetches), fetches.values()) if _plain_keys(fetches) else None
    if isinstance(fetches, tuple) and hasattr(fetches, "_fields"):
        return _nested_key(kind, fetches)
    if kind in _LASTING:
        return fetches
    if _is_element(fetches):
        # The element of this run; the object may return another one in the next run.
        element = fetches._as_graph_element()
        return element if type(element) in _LEAVES else None
    return None


def _is_element(fetch: Any) -> bool:
    """Return whether an object of an unlisted class stands for one tensor or operation, and is no
    container."""
    if not hasattr(fetch, "_as_graph_element") or isinstance(fetch, (list, tuple, Mapping)):
        return False
    return not hasattr(type(fetch), "__attrs_attrs__") and conversion_of(fetch) is None


def _plain_keys(fetches: Mapping[Any, Any]) -> bool:
    # 1 and True are equal, but are not the same in the result.
    return all(type(key) in _LEAVES for key in fetches)


def _nested_key(kind: Any, items: Any) -> Any:
    parts = [kind]
    for item in items:
        part = item if type(item) in _LEAVES else fetch_key(item)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)
