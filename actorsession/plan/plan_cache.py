"""Plans by run signature: a hit does no graph work at all.

Looked up as asked first, then with sorted names; a hit by sorted names is stored under the asked
order too. Bounded by the number of different plans: the least recently used goes first, with all
the orders it was asked in. Thread-safe; building happens outside the lock and of two builders the
first stored wins. Called by sessions and masters.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from typing import Generic, TypeVar

from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass

__all__ = ["CacheStatistics", "PlanCache"]

P = TypeVar("P")

# Orders remembered for one plan. Ten names can be asked for in 3.6 million orders; a program that
# draws its order anew each time must not fill the memory.
_ORDERS = 64


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counters of a plan cache.

    Attributes:
        plans: plans kept now.
        hits: look-ups that found one under the order asked.
        sorted_hits: look-ups that found one by sorted names only.
        misses: look-ups that found none.
        evictions: plans dropped for room.
    """

    plans: int
    hits: int
    sorted_hits: int
    misses: int
    evictions: int


@dataclass(slots=True)
class _Entry(Generic[P]):
    """A plan under its sorted signature, with the orders it was asked in."""

    plan: P
    key: RunSignature
    orders: list[RunSignature] = field(default_factory=list)


class PlanCache(Generic[P]):
    """A bounded map from run signature to plan.

    Args:
        limit: how many different plans are kept.
        on_evict: called with each plan that is dropped for room, outside the lock.
        last_used: when a plan was last used, as a growing number, for callers that keep plans and
            use them without looking them up; without it the last look-up counts.
    """

    def __init__(
        self,
        limit: int,
        on_evict: Callable[[P], None] | None = None,
        last_used: Callable[[P], int] | None = None,
    ) -> None:
        self._limit = limit
        self._on_evict = on_evict
        self._last_used = last_used
        self._lock = threading.Lock()
        self._entries: OrderedDict[RunSignature, _Entry[P]] = OrderedDict()  # least recent first
        self._asked: dict[RunSignature, _Entry[P]] = {}  # by order asked
        self._hits = self._sorted_hits = self._misses = self._evictions = 0

    def get(self, signature: RunSignature) -> P | None:
        """Return the plan of a signature, whatever the order of its names."""
        with self._lock:
            entry = self._asked.get(signature)
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
        """Store a plan unless one is there already, and returns the one that is kept."""
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
        if len(entry.orders) < _ORDERS and signature not in self._asked:
            self._asked[signature] = entry
            entry.orders.append(signature)

    def _drop(self, key: RunSignature) -> P:
        entry = self._entries.pop(key)
        for asked in entry.orders:
            del self._asked[asked]
        return entry.plan

    def discard(self, signature: RunSignature) -> None:
        """Forget the plan of a signature, in every order it was asked in."""
        key = signature.sorted()
        with self._lock:
            if key in self._entries:
                self._drop(key)

    def discard_if(self, condition: Callable[[P], bool]) -> list[P]:
        """Forget the plans of which something is true, and returns them."""
        with self._lock:
            keys = [key for key, entry in self._entries.items() if condition(entry.plan)]
            return [self._drop(key) for key in keys]

    def plans(self) -> list[P]:
        """Return the plans that are kept; looking at them counts as no use."""
        with self._lock:
            return [entry.plan for entry in self._entries.values()]

    def clear(self) -> list[P]:
        """Forget every plan and return them."""
        with self._lock:
            plans = [entry.plan for entry in self._entries.values()]
            self._entries.clear()
            self._asked.clear()
        return plans

    def statistics(self) -> CacheStatistics:
        """Return the counters so far."""
        with self._lock:
            return CacheStatistics(
                len(self._entries), self._hits, self._sorted_hits, self._misses, self._evictions
            )
