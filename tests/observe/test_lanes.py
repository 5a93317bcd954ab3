"""Spreading spans over lanes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from actorsession.observe.lanes import Span, spread


def lanes_of(*times: tuple[int, int]) -> list[list[tuple[int, int]]]:
    lanes = spread(Span("", "", start, end) for start, end in times)
    return [[(span.start, span.end) for span in lane] for lane in lanes]


def test_a_span_takes_the_first_lane_that_is_free() -> None:
    assert lanes_of((0, 10), (10, 20), (25, 30)) == [[(0, 10), (10, 20), (25, 30)]]
    assert lanes_of((0, 10), (2, 4)) == [[(0, 10)], [(2, 4)]]
    assert lanes_of((0, 10), (5, 30), (10, 20)) == [[(0, 10), (10, 20)], [(5, 30)]]
    assert lanes_of() == []


LENGTHS = st.integers(1, 20)


@given(st.lists(st.tuples(st.integers(0, 50), LENGTHS)))
def test_there_are_as_many_lanes_as_spans_overlap_at_once(drawn: list[tuple[int, int]]) -> None:
    times = [(start, start + length) for start, length in drawn]
    lanes = lanes_of(*times)
    assert sorted(span for lane in lanes for span in lane) == sorted(times)
    for lane in lanes:
        assert all(before[1] <= after[0] for before, after in pairwise(lane))
    at_once = [sum(start <= now < end for start, end in times) for now in range(80)]
    assert len(lanes) == max(at_once)
