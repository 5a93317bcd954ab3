"""A request: a run reduced to its signature and two functions.

One function converts the caller's feeds to arrays, the other puts fetched values into the caller's structure.
``Requests`` makes and keeps those of a session; each callable has one.

Invariant: the feeds and fetches of a request with a plan are in the order of that plan, whichever thread
bound it. All plans of one signature have the same order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.kept_feeds import large_arrays
from actorsession.session.feeds import Converter, strings_as_fed
from actorsession.session.session_interface import SessionPlan

__all__ = ["Request"]


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
