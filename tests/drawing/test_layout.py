"""Boxes are placed in layers, apart from each other, inside their frames; arrows pass between them."""

from __future__ import annotations

import random
import time
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.drawing import Layout, Place, lay_out

EDGES = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=60)
GROUPS = st.lists(st.lists(st.sampled_from("abc"), max_size=3), min_size=20, max_size=20)


def placed(count: int, edges: list[tuple[int, int]], groups: list[list[str]] | None = None) -> Layout:
    names = [f"n{number}" for number in range(count)]
    paths = {name: tuple(groups[number]) if groups else () for number, name in enumerate(names)}
    sizes = {name: (40.0 + 7 * (number % 5), 20.0 + 10 * (number % 3)) for number, name in enumerate(names)}
    frames = {path[:depth]: 30.0 for path in paths.values() for depth in range(1, len(path) + 1)}
    return lay_out(sizes, paths, [(f"n{a}", f"n{b}") for a, b in edges], frames, 30.0)


def apart(one: Place, other: Place) -> bool:
    return (
        one.x + one.width <= other.x + 0.01
        or other.x + other.width <= one.x + 0.01
        or one.y + one.height <= other.y + 0.01
        or other.y + other.height <= one.y + 0.01
    )


def within(inner: Place, outer: Place) -> bool:
    return (
        inner.x >= outer.x - 0.01
        and inner.y >= outer.y - 0.01
        and inner.x + inner.width <= outer.x + outer.width + 0.01
        and inner.y + inner.height <= outer.y + outer.height + 0.01
    )


@given(EDGES, GROUPS)
def test_boxes_and_frames_are_apart_or_inside_each_other(edges: list[tuple[int, int]], groups: list[list[str]]) -> None:
    layout = placed(20, edges, groups)
    whole = Place(0.0, 0.0, layout.width, layout.height)
    for one, other in combinations(layout.boxes.values(), 2):
        assert apart(one, other)
    for number, place in enumerate(layout.boxes.values()):
        assert within(place, whole)
        path = tuple(groups[number])
        for frame, around in layout.frames.items():
            assert within(place, around) if path[: len(frame)] == frame else apart(place, around), (path, frame)
    for first, second in combinations(layout.frames, 2):
        nested = first == second[: len(first)] or second == first[: len(second)]
        inner, outer = sorted((first, second), key=len, reverse=True)
        places = layout.frames[inner], layout.frames[outer]
        assert within(*places) if nested else apart(*places)


@given(EDGES, GROUPS)
def test_an_arrow_runs_from_its_source_to_its_target_and_crosses_no_box(
    edges: list[tuple[int, int]], groups: list[list[str]]
) -> None:
    layout = placed(20, edges, groups)
    places = list(layout.boxes.values())
    for (source, target), route in zip(edges, layout.routes, strict=True):
        for end, point in ((source, route.points[0]), (target, route.points[-1])):
            assert within(Place(*point, 0.0, 0.0), places[end])
        if source == target:
            assert route.upward
            continue
        heights = [y for _, y in route.points]
        assert heights == sorted(heights, reverse=route.upward)
        for number in range(0, len(route.points), 2):
            (x0, y0), (x1, y1) = route.points[number : number + 2]
            assert x0 == x1
            line = Place(x0, min(y0, y1) + 0.1, 0.0, abs(y1 - y0) - 0.2)
            for other, place in enumerate(places):
                assert other in (source, target) or apart(line, place)


@given(EDGES)
def test_arrows_point_down_unless_they_close_a_circle(edges: list[tuple[int, int]]) -> None:
    forward = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    layout = placed(20, forward)
    assert not any(route.upward for route in layout.routes)
    circle = [*pairwise(range(20)), (19, 0)]
    assert sum(route.upward for route in placed(20, circle).routes) == 1


def test_an_order_without_crossings_is_found() -> None:
    """Three pairs of boxes, each of which has an arrow to the pair's other end."""
    layout = placed(6, [(0, 5), (1, 4), (2, 3)])
    places = list(layout.boxes.values())
    tops = sorted(range(3), key=lambda number: places[number].x)
    assert [5 - number for number in tops] == sorted(range(3, 6), key=lambda number: places[number].x)


def test_a_box_that_only_gives_stands_above_its_reader() -> None:
    layout = placed(5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert layout.boxes["n4"].y > layout.boxes["n1"].y


def test_frames_without_a_common_layer_stand_above_each_other() -> None:
    one_after_the_other = placed(4, [(0, 1), (1, 2), (2, 3)], [["a"], ["a"], ["b"], ["b"]])
    upper, lower = one_after_the_other.frames.values()
    assert upper.y + upper.height < lower.y
    assert abs(upper.x - lower.x) < upper.width
    beside = placed(4, [(0, 1), (2, 3)], [["a"], ["a"], ["b"], ["b"]])
    left, right = beside.frames.values()
    assert left.x + left.width < right.x


def test_many_boxes_of_a_layer_continue_in_the_next() -> None:
    layout = placed(100, [(number, 99) for number in range(99)])
    assert layout.width < 2500
    assert min(place.y for name, place in layout.boxes.items() if name == "n99") == max(
        place.y for place in layout.boxes.values()
    )


def test_nothing_is_a_picture_too() -> None:
    assert placed(0, []) == Layout({}, {}, [], 0.0, 0.0)


@pytest.mark.parametrize("far", [10, 1000])
def test_the_layout_of_a_thousand_boxes_takes_less_than_a_second(far: int) -> None:
    """Processor time of this thread, so that what runs beside does not count."""
    chance = random.Random(far)
    edges = [(max(0, number - chance.randint(1, far)), number) for number in range(1, 1000) for _ in range(2)]
    before = time.thread_time()
    layout = placed(1000, edges, [[str(number // 100)] for number in range(1000)])
    assert len(layout.boxes) == 1000
    assert time.thread_time() - before < 1.0
