"""Partial runs in random order, with wrong calls mixed in, against a plain model of what they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actorsession import ConfigProto, Graph, Session, ops
from actorsession.errors import CancelledError, InvalidArgumentError

FEEDS = ("a", "b", "c")
# Each fetch with the feeds behind it and its value.
FETCHES: dict[str, tuple[set[str], Any]] = {
    "x": ({"a"}, lambda v: v["a"] + 1),
    "y": ({"a", "b"}, lambda v: (v["a"] + 1) * v["b"]),
    "z": ({"a", "b", "c"}, lambda v: (v["a"] + 1) * v["b"] - v["c"]),
    "k": (set(), lambda v: 7),
}
BEHIND = {name: needs for name, (needs, _) in FETCHES.items()}


def build() -> Graph:
    with Graph().as_default() as graph:
        a, b, c = (ops.placeholder("float32", [], name=name) for name in FEEDS)
        x = ops.add(a, 1.0, name="x")
        with graph.device("/cpu:1"):
            y = ops.multiply(x, b, name="y")
        ops.subtract(y, c, name="z")
        ops.constant(7.0, name="k")
    return graph


@dataclass
class Modelled:
    """What one handle should do.

    Attributes:
        feeds: those of its setup.
        fetches: likewise.
        given: the values fed so far.
        taken: the fetches taken so far.
    """

    feeds: set[str]
    fetches: set[str]
    given: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    @property
    def lacks(self) -> set[str]:
        """Feeds that a fetch needs and that were not named at setup: such a run can only fail."""
        return {need for fetch in self.fetches for need in BEHIND[fetch]} - self.feeds

    def refusal(self, feeds: set[str], fetches: set[str]) -> str | None:
        """What is wrong with a call, in the order in which it is checked."""
        if feeds - self.feeds:
            return "feed .* was not specified"
        if feeds & set(self.given):
            return "has already been fed"
        if fetches - self.fetches:
            return "fetch .* was not specified"
        if fetches & self.taken:
            return "has already been fetched"
        there = set(self.given) | feeds
        if any((BEHIND[f] & self.feeds) - there for f in fetches) and not self.lacks:
            return "can't be computed"
        return None

    @property
    def complete(self) -> bool:
        return set(self.given) == self.feeds and self.taken == self.fetches


names_of_feeds = st.sets(st.sampled_from(FEEDS))
names_of_fetches = st.sets(st.sampled_from(sorted(FETCHES)))


class PartialRunMachine(RuleBasedStateMachine):
    """A synchronous session on two devices, and the model of each of its handles."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(graph=build(), config=ConfigProto(device_count={"CPU": 2}))
        self.open: dict[str, Modelled] = {}
        self.finished: list[str] = []

    def teardown(self) -> None:
        self.session.close()

    @rule(feeds=names_of_feeds, fetches=names_of_fetches)
    def set_up(self, feeds: set[str], fetches: set[str]) -> None:
        asked = [f"{n}:0" for n in sorted(fetches)], [f"{n}:0" for n in sorted(feeds)]
        if not fetches:
            with pytest.raises(InvalidArgumentError, match="at least one target"):
                self.session.partial_run_setup(*asked)
            return
        handle = self.session.partial_run_setup(*asked)
        assert handle not in self.open
        assert handle not in self.finished
        self.open[handle] = Modelled(feeds, fetches)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), feeds=names_of_feeds, fetches=names_of_fetches, value=st.integers(-100, 100))
    def call(self, data: Any, feeds: set[str], fetches: set[str], value: int) -> None:
        handle = data.draw(st.sampled_from(sorted(self.open)))
        self.check_call(handle, feeds, fetches, value)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), value=st.integers(-100, 100))
    def call_rightly(self, data: Any, value: int) -> None:
        handle = data.draw(st.sampled_from(sorted(self.open)))
        model = self.open[handle]
        feeds = data.draw(st.sets(st.sampled_from(sorted(model.feeds - set(model.given)) or ["a"])))
        feeds &= model.feeds - set(model.given)
        there = feeds | set(model.given)
        ready = {f for f in model.fetches - model.taken if BEHIND[f] <= there}
        fetches = data.draw(st.sets(st.sampled_from(sorted(ready)))) if ready else set()
        self.check_call(handle, feeds, fetches, value)

    def check_call(self, handle: str, feeds: set[str], fetches: set[str], value: int) -> None:
        model = self.open[handle]
        given = {f"{n}:0": value + i for i, n in enumerate(sorted(feeds))}
        asked = {n: f"{n}:0" for n in sorted(fetches)}
        said = model.refusal(feeds, fetches)
        if said is not None:
            with pytest.raises(InvalidArgumentError, match=said):
                self.session.partial_run(handle, asked, given)
            return
        if model.lacks:
            with pytest.raises(InvalidArgumentError, match="must feed a value for placeholder"):
                self.session.partial_run(handle, asked, given)
            self.end(handle)
            return
        values = self.session.partial_run(handle, asked, given)
        model.given |= {n: value + i for i, n in enumerate(sorted(feeds))}
        model.taken |= fetches
        assert values == {n: FETCHES[n][1](model.given) for n in asked}
        if model.complete:
            self.end(handle)

    def end(self, handle: str) -> None:
        del self.open[handle]
        self.finished.append(handle)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def drop(self, data: Any) -> None:
        handle = data.draw(st.sampled_from(sorted(self.open)))
        runs: Any = self.session._session.partial_runs
        runs.abort_here(handle, CancelledError("dropped"))
        self.end(handle)

    @precondition(lambda self: self.finished)
    @rule(data=st.data(), feeds=names_of_feeds)
    def call_what_is_finished(self, data: Any, feeds: set[str]) -> None:
        handle = data.draw(st.sampled_from(self.finished))
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            self.session.partial_run(handle, [], {f"{n}:0": 1 for n in feeds})

    @rule(value=st.integers(-100, 100))
    def run_ordinarily(self, value: int) -> None:
        given = {"a:0": value, "b:0": 2, "c:0": 1}
        assert self.session.run("z:0", given) == (value + 1) * 2 - 1

    @invariant()
    def counts_are_true(self) -> None:
        statistics = self.session.statistics()
        assert statistics.partial_runs == statistics.steps == len(self.open)
        if not self.open:
            assert statistics.pending == 0


PartialRunMachine.TestCase.settings = settings(stateful_step_count=30)
TestPartialRuns = PartialRunMachine.TestCase
