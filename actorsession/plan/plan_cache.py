"""Plans by run signature: a hit does no graph work at all.

A signature is looked up with its names in the given order first, then with sorted names; a hit by sorted
names is stored under the given order too. The cache is bounded by the number of different plans: the least
recently used is evicted first, with all its orders. It is thread-safe. Plans are built outside the lock, and
of two builders the first to store wins. Sessions and masters call it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import astuple, field
from operator import add
from typing import Generic, TypeVar

from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass

__all__ = ["NO_LOOKUPS", "CacheStatistics", "PlanCache"]

P = TypeVar("P")

# Orders remembered for one plan. Ten names have 3.6 million orders; a program that draws its order anew each
# time must not fill the memory.
_ORDERS = 64


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counters of a plan cache.

    Attributes:
        plans: plans kept now.
        hits: look-ups that found one under the given order.
        sorted_hits: look-ups that found one by sorted names only.
        misses: look-ups that found none.
        evictions: plans dropped because of the limit.
    """

    plans: int
    hits: int
    sorted_hits: int
    misses: int
    evictions: int

    def __add__(self, other: CacheStatistics) -> CacheStatistics:
        return CacheStatistics(*map(add, astuple(self), astuple(other)))


NO_LOOKUPS = CacheStatistics(plans=0, hits=0, sorted_hits=0, misses=0, evictions=0)
"""The counters of a cache that nobody has used."""


@dataclass(slots=True)
class _Entry(Generic[P]):
    """A plan under its sorted signature, with the orders in which it was looked up."""

    plan: P
    key: RunSignature
    orders: list[RunSignature] = field(default_factory=list)


class PlanCache(Generic[P]):
    """A bounded map from run signature to plan.

    Args:
        limit: how many different plans are kept.
        on_evict: called with each plan that is dropped because of the limit, outside the lock.
        last_used: returns when a plan was last used, as a growing number, for callers that keep plans and use
            them without looking them up; without it the last look-up counts.
    """

    def __init__(
        self, limit: int, on_evict: Callable[[P], None] | None = None, last_used: Callable[[P], float] | None = None
    ) -> None:
        self._limit = limit
        self._on_evict = on_evict
        self._last_used = last_used
        self._lock = threading.Lock()
        self._entries: OrderedDict[RunSignature, _Entry[P]] = OrderedDict()  # least recent first
        self._orders: dict[RunSignature, _Entry[P]] = {}  # by order of look-up
        self._hits = self._sorted_hits = self._misses = self._evictions = 0

    def get(self, signature: RunSignature) -> P | None:
        """Return the plan of a signature, whatever the order of its names."""
        with self._lock:
            entry = self._orders.get(signature)
            if entry is not None:
                self._hits += 1
            else:
                entry = self._entries.get(signature.sorted())
                if entry is None:
                    self._misses += 1
                    return None
                self._sorted_hits += 1
                self._remember(signature, entry)
            self._entries.move_to_end(entry.key)
            return entry.plan

    def put(self, signature: RunSignature, plan: P) -> P:
        """Store a plan unless there is one already, and return the one that is kept."""
        key = signature.sorted()
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(plan, key))
            self._entries.move_to_end(key)
            self._remember(signature, entry)
            dropped = []
            while len(self._entries) > self._limit:
                dropped.append(self._drop(self._least_used(but=key)))
            self._evictions += len(dropped)
        for victim in dropped:
            if self._on_evict is not None:
                self._on_evict(victim)
        return entry.plan

    def _least_used(self, but: RunSignature) -> RunSignature:
        if self._last_used is None:
            return next(iter(self._entries))
        last_used = self._last_used
        others = (k for k in self._entries if k != but)
        return min(others, key=lambda k: last_used(self._entries[k].plan), default=but)

    def _remember(self, signature: RunSignature, entry: _Entry[P]) -> None:
        if len(entry.orders) < _ORDERS and signature not in self._orders:
            self._orders[signature] = entry
            entry.orders.append(signature)

    def _drop(self, key: RunSignature) -> P:
        entry = self._entries.pop(key)
        for asked in entry.orders:
            del self._orders[asked]
        return entry.plan

    def discard(self, signature: RunSignature) -> None:
        """Drop the plan of a signature, in every order of its names."""
        key = signature.sorted()
        with self._lock:
            if key in self._entries:
                self._drop(key)

    def discard_if(self, condition: Callable[[P], bool]) -> list[P]:
        """Drop the plans for which a condition holds, and return them."""
        with self._lock:
            keys = [key for key, entry in self._entries.items() if condition(entry.plan)]
            return [self._drop(key) for key in keys]

    def plans(self) -> list[P]:
        """Return the plans that are kept; this does not count as a use."""
        with self._lock:
            return [entry.plan for entry in self._entries.values()]

    def clear(self) -> list[P]:
        """Drop every plan and return them."""
        with self._lock:
            plans = [entry.plan for entry in self._entries.values()]
            self._entries.clear()
            self._orders.clear()
        return plans

    def statistics(self) -> CacheStatistics:
        """Return the counters so far."""
        with self._lock:
            return CacheStatistics(len(self._entries), self._hits, self._sorted_hits, self._misses, self._evictions)
