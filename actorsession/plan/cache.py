"""Plans by run signature: a hit does no graph work at all.

Looked up as asked first, then with sorted names; a hit by sorted names is stored under the asked order
too. Bounded by the number of different plans: the least recently used goes first, with all the orders
it was asked in. Thread-safe; building happens outside the lock and of two builders the first stored
wins.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from actorsession.plan.signature import RunSignature

__all__ = ["CacheStatistics", "PlanCache"]

P = TypeVar("P")


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


class PlanCache(Generic[P]):
    """A bounded map from run signature to plan.

    Args:
        limit: how many different plans are kept.
        on_evict: called with each plan that is dropped, outside the lock.
    """

    def __init__(self, limit: int, on_evict: Callable[[P], None] | None = None) -> None:
        self._limit = limit
        self._on_evict = on_evict
        self._lock = threading.Lock()
        self._plans: OrderedDict[RunSignature, P] = OrderedDict()  # by sorted signature
        self._asked: dict[RunSignature, RunSignature] = {}  # order asked -> sorted
        self._hits = self._sorted_hits = self._misses = self._evictions = 0

    def get(self, signature: RunSignature) -> P | None:
        """The plan of a signature, whatever the order of its names."""
        with self._lock:
            key = self._asked.get(signature)
            if key is not None:
                self._hits += 1
            else:
                key = signature.sorted()
                if key not in self._plans:
                    self._misses += 1
                    return None
                self._sorted_hits += 1
                self._asked[signature] = key
            self._plans.move_to_end(key)
            return self._plans[key]

    def put(self, signature: RunSignature, plan: P) -> P:
        """Stores a plan unless one is there already, and returns the one that is kept."""
        key = signature.sorted()
        dropped: list[P] = []
        with self._lock:
            kept = self._plans.setdefault(key, plan)
            self._plans.move_to_end(key)
            self._asked[signature] = key
            while len(self._plans) > self._limit:
                old, victim = self._plans.popitem(last=False)
                self._asked = {asked: k for asked, k in self._asked.items() if k != old}
                self._evictions += 1
                dropped.append(victim)
        for victim in dropped:
            if self._on_evict is not None:
                self._on_evict(victim)
        return kept

    def discard(self, signature: RunSignature) -> None:
        """Forgets the plan of a signature, in every order it was asked in."""
        key = signature.sorted()
        with self._lock:
            self._plans.pop(key, None)
            self._asked = {asked: k for asked, k in self._asked.items() if k != key}

    def clear(self) -> list[P]:
        """Forgets every plan and returns them."""
        with self._lock:
            plans = list(self._plans.values())
            self._plans.clear()
            self._asked.clear()
        return plans

    def statistics(self) -> CacheStatistics:
        """The counters so far."""
        with self._lock:
            return CacheStatistics(
                len(self._plans), self._hits, self._sorted_hits, self._misses, self._evictions
            )
