"""The offset of a clock lies within its error, whatever the ways of requests and answers take."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.rpc import ClockOffset

SECONDS = st.floats(0, 10)
NOW = 1_700_000_000.0


def learn(clock: ClockOffset, there: float, back: float, offset: float, at: float = NOW, work: float = 0.0) -> float:
    """A round trip to a clock that has to be corrected by an offset; when it ends."""
    arrived, answered = at + there, at + there + work
    clock.learn(at, arrived - offset, answered - offset, answered + back)
    return answered + back


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1, max_size=6), st.floats(-1e6, 1e6))
def test_the_offset_is_within_its_error(trips: list[tuple[float, float, float]], offset: float) -> None:
    clock, at = ClockOffset(), NOW
    for there, back, work in trips:
        at = learn(clock, there, back, offset, at, work)
        offset_then, error = clock.at(at)
        assert abs(offset_then - offset) <= error + 1e-5


@given(st.lists(st.tuples(st.booleans(), SECONDS), min_size=1, max_size=8), st.floats(-1e6, 1e6))
def test_messages_without_an_answer_only_make_it_more_exact(messages: list[tuple[bool, float]], offset: float) -> None:
    clock = ClockOffset()
    learn(clock, 10.0, 10.0, offset)
    for there, took in messages:
        before = clock.at(NOW)[1]
        if there:
            clock.sent(NOW, NOW + took - offset)
        else:
            clock.received(NOW - offset, NOW + took)
        now, error = clock.at(NOW)
        assert error <= before + 1e-5
        assert abs(now - offset) <= error + 1e-5


def test_the_quickest_message_of_each_direction_counts_until_it_is_old() -> None:
    clock = ClockOffset()
    learn(clock, 0.001, 0.5, 5.0)
    learn(clock, 0.5, 0.003, 5.0)
    assert list(clock.at(NOW)) == pytest.approx([5.001, 0.002], abs=1e-4)
    assert clock.at(NOW + 1000.0)[1] == pytest.approx(0.102, abs=1e-3)
    learn(clock, 0.0, 0.06, 5.0, NOW + 1000.0)
    assert clock.at(NOW + 1000.0)[1] == pytest.approx(0.03, abs=1e-3)


def test_a_clock_that_was_set_is_learned_anew() -> None:
    clock = ClockOffset()
    learn(clock, 0.001, 0.001, 5.0)
    learn(clock, 0.1, 0.3, -60.0)
    offset_then, error = clock.at(NOW)
    assert abs(offset_then + 60.0) <= error <= 0.21


def test_moments_that_cannot_be_true_are_ignored() -> None:
    clock = ClockOffset()
    assert clock.at(NOW) == (0.0, math.inf)
    clock.learn(NOW, 1.0, 0.5, NOW + 1)
    clock.learn(NOW, 1.0, 3.0, NOW + 1)  # it took longer there than it was away
    clock.learn(NOW + 1, 1.0, 1.0, NOW)
    clock.learn(NOW, math.nan, 1.0, NOW)
    clock.learn(NOW, math.inf, math.inf, NOW)
    assert clock.at(NOW) == (0.0, math.inf)
