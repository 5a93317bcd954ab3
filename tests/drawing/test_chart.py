"""Curves and lanes of time, as SVG with every text as text."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from actorsession.drawing import chart

HOSTILE = '<script>"&\x1b'
SVG = "{http://www.w3.org/2000/svg}"


def parts(svg: str, tag: str, css: str) -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}{tag}")
    return [element for element in found if css in element.attrib.get("class", "").split()]


def words(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3.0, 47.0, [0.0, 10.0, 20.0, 30.0, 40.0]),
        (0.001, 0.0026, [0.001, 0.0015, 0.002, 0.0025]),
        (2.0, 2.0, [2.0]),
    ],
)
def test_ticks_are_round_numbers_between_the_bounds(low: float, high: float, expected: list[float]) -> None:
    assert chart.ticks(low, high) == pytest.approx(expected)


def test_a_curve_runs_through_its_points_and_has_gaps_where_there_is_no_number() -> None:
    svg = chart.curves({"loss": [(0, 3.0), (1, 2.0), (2, math.nan), (3, 1.0), (4, math.inf)]}, "Loss", "step")
    assert len(parts(svg, "path", "acts-a")) == 2
    heights = [float(dot.attrib["cy"]) for dot in parts(svg, "circle", "acts-h")]
    assert heights == sorted(heights)
    assert len(heights) == 3
    assert {"Loss", "step", "loss"} <= set(words(svg))


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)], [(0.0, 5.0), (1.0, 5.0)], [(0.0, math.nan)]])
def test_few_or_equal_points_are_drawn_as_well(points: list[tuple[float, float]]) -> None:
    finite = [point for point in points if math.isfinite(point[1])]
    assert len(parts(chart.curves({"a": points}), "circle", "acts-h")) == len(finite)


def test_spans_at_one_time_stand_above_each_other_and_links_join_lanes() -> None:
    spans = (chart.Span(0.0, 2.0, "a"), chart.Span(1.0, 3.0, "b"), chart.Span(2.0, 4.0, "c", "slow"))
    svg = chart.lanes(
        [chart.Lane("cpu 0", spans), chart.Lane("cpu 1", ())],
        [chart.Link("cpu 0", 1.0, "cpu 1", 2.0, "key"), chart.Link("cpu 0", 1.0, "elsewhere", 2.0)],
        "Step",
    )
    first, second, third = parts(svg, "rect", "acts-b")[:3]
    assert first.attrib["y"] == third.attrib["y"] < second.attrib["y"]
    assert first.attrib["width"] == second.attrib["width"]
    assert len(parts(svg, "path", "acts-a")) == 1
    assert words(svg) == ["Step", "cpu 0", "a", "b", "c", "cpu 1", "0", "1 s", "2 s", "3 s", "4 s", "slow"]


def test_of_many_spans_the_longest_are_drawn() -> None:
    spans = tuple(chart.Span(float(n), n + 0.1 + n / 10_000) for n in range(5000))
    assert len(parts(chart.lanes([chart.Lane("a", spans)]), "rect", "acts-b")) == 3000


def test_every_text_is_text() -> None:
    drawn = [
        chart.curves({HOSTILE: [(0, 1)]}, HOSTILE, HOSTILE),
        chart.lanes([chart.Lane(HOSTILE, (chart.Span(0, 1, HOSTILE, HOSTILE),))], [], HOSTILE),
    ]
    for svg in drawn:
        assert not list(ElementTree.fromstring(svg).iter(f"{SVG}script"))
        assert any('<script>"&\\x1b' in text for text in words(svg))
