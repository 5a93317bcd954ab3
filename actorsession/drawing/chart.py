"""Curves over numbers, and spans of time in lanes, as SVG in the style of all drawings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from actorsession.drawing.style import Kinds, drawing, legend, shown, text_width, tooltip
from actorsession.drawing.text import duration, fit
from actorsession.records import dataclass

__all__ = ["Lane", "Link", "Span", "curves", "lanes", "ticks"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 20.0, 34.0, 36.0
_ROW = 20.0
# Letters of the name of a lane.
_LONGEST = 48
# Fewer letters of a label say nothing.
_LEAST = 8
# A browser scrolls this many shapes without delay; shorter spans are left out first.
_SPANS = 3000


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time.

    Attributes:
        begin: seconds on the axis of the drawing.
        end: likewise; not before ``begin``.
        label: the text on it, where it fits.
        kind: what spans of one colour have in common.
        title: the text at the pointer; its label and its length if empty.
    """

    begin: float
    end: float
    label: str = ""
    kind: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """What went on at one place, such as a device; spans at the same time stand above each other."""

    name: str
    spans: tuple[Span, ...]


class Link(NamedTuple):
    """An arrow from a moment in one lane to a moment in another, by the names of the lanes."""

    source: str
    left: float
    target: str
    arrived: float
    title: str = ""


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about ``count`` round numbers between two bounds."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= count)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]],
    caption: str = "",
    axis: str = "",
    width: float = 520.0,
    height: float = 220.0,
) -> str:
    """Return curves as SVG.

    Args:
        series: the points of each curve by its name, from left to right; a number that is not finite is a gap.
        caption: what they show.
        axis: what is to the right.
        width: in pixels.
        height: likewise.
    """
    finite = [point for points in series.values() for point in points if all(map(math.isfinite, point))]
    (x0, x1), (y0, y1) = (_bounds([point[place] for point in finite]) for place in (0, 1))

    def across(x: float) -> float:
        return _LEFT + (x - x0) / (x1 - x0) * (width - _LEFT - _RIGHT)

    def down(y: float) -> float:
        return height - _BOTTOM - (y - y0) / (y1 - y0) * (height - _TOP - _BOTTOM)

    kinds = Kinds()
    parts = [_text(_LEFT, 20, caption, "acts-t acts-m")]
    for y in ticks(y0, y1):
        parts.append(f'<path class="acts-x" d="M{_LEFT:.0f} {down(y):.1f}H{width - _RIGHT:.0f}"/>')
        parts.append(_text(_LEFT - 8, down(y) + 4, f"{y:.6g}", "acts-s", "end"))
    parts += [_text(across(x), height - _BOTTOM + 16, f"{x:.6g}", "acts-s", "middle") for x in ticks(x0, x1)]
    parts.append(_text(width - _RIGHT, height - 6, axis, "acts-s", "end"))
    for name, points in series.items():
        css = kinds.css(name)
        for run in _runs(points):
            way = "L".join(f"{across(x):.1f} {down(y):.1f}" for x, y in run)
            parts.append(f'<path class="acts-a{css}" d="M{way}"/>')
        for x, y in _finite(points[-200:]):
            dot = f'<circle class="acts-h{css}" cx="{across(x):.1f}" cy="{down(y):.1f}" r="2.4"/>'
            parts.append(f"<g>{dot}{tooltip(f'{name} {y:.6g} at {x:.6g}')}</g>")
    key, _ = legend(kinds, _LEFT, height - 6)
    return drawing(width, height, parts + key, caption)


def _bounds(numbers: Sequence[float]) -> tuple[float, float]:
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    return (low, high) if high > low and not room else (low - room, high + room)


def _finite(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    return (point for point in points if all(map(math.isfinite, point)))


def _runs(points: Sequence[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    """Yield the points between gaps."""
    run: list[tuple[float, float]] = []
    for point in points:
        if all(map(math.isfinite, point)):
            run.append(point)
        elif run:
            yield run
            run = []
    if run:
        yield run


def lanes(rows: Sequence[Lane], links: Sequence[Link] = (), caption: str = "", width: float = 860.0) -> str:
    """Return spans of time as SVG, a lane below the other.

    Args:
        rows: the lanes from the top; times count from the first of them.
        links: arrows between lanes.
        caption: what they show.
        width: in pixels.
    """
    spans = [span for lane in rows for span in lane.spans]
    start, end = min((s.begin for s in spans), default=0.0), max((s.end for s in spans), default=0.0)
    shortest = sorted((s.end - s.begin for s in spans), reverse=True)[:_SPANS][-1] if len(spans) > _SPANS else 0.0
    left = max((text_width(fit(lane.name, _LONGEST)) for lane in rows), default=0.0) + 24
    scale = (width - left - _RIGHT) / ((end - start) or 1.0)

    def across(time: float) -> float:
        return left + (time - start) * scale

    kinds = Kinds()
    parts = [_text(16, 20, caption, "acts-t acts-m")]
    middles: dict[str, float] = {}
    y = _TOP
    for lane in rows:
        kept = [span for span in lane.spans if span.end - span.begin >= shortest]
        places, depth = _stacked(kept)
        parts.append(
            f'<rect class="acts-f" x="{left:.1f}" y="{y:.1f}" width="{width - left - _RIGHT:.1f}" '
            f'height="{depth * _ROW + 4:.1f}" rx="4"/>'
        )
        middles[lane.name] = y + 2 + depth * _ROW / 2
        name = _text(left - 8, middles[lane.name] + 4, fit(lane.name, _LONGEST), "acts-s acts-m", "end")
        parts.append(f"<g>{tooltip(lane.name)}{name}</g>")
        for span, place in zip(kept, places, strict=True):
            parts += _span(span, across, y + 2 + place * _ROW, kinds)
        y += depth * _ROW + 12
    parts += [_link(link, middles, across) for link in links if {link.source, link.target} <= middles.keys()]
    for time in ticks(0.0, end - start, 6):
        parts.append(f'<path class="acts-x" d="M{across(start + time):.1f} {_TOP - 4:.0f}V{y:.1f}"/>')
        parts.append(_text(across(start + time), y + 14, duration(time) if time else "0", "acts-s", "middle"))
    key, right = legend(kinds, 16, y + 36)
    return drawing(max(width, right), y + (46 if key else 22), parts + key, caption)


def _stacked(spans: Sequence[Span]) -> tuple[list[int], int]:
    """Return in which row of its lane each span is, and how many rows there are."""
    ends: list[float] = []
    places = [0] * len(spans)
    for number in sorted(range(len(spans)), key=lambda number: (spans[number].begin, -spans[number].end)):
        span = spans[number]
        place = next((place for place, end in enumerate(ends) if end <= span.begin), len(ends))
        ends[place : place + 1] = [span.end]
        places[number] = place
    return places, max(len(ends), 1)


def _span(span: Span, across: Callable[[float], float], y: float, kinds: Kinds) -> Iterator[str]:
    x, width = across(span.begin), max(across(span.end) - across(span.begin), 1.0)
    title = span.title or f"{span.label}\n{duration(span.end - span.begin)}"
    yield f'<g>{tooltip(title)}<rect class="acts-b{kinds.css(span.kind)}" '
    yield f'x="{x:.1f}" y="{y + 1:.1f}" width="{width:.1f}" height="{_ROW - 2:.0f}" rx="2"/>'
    letters = int((width - 6) / 7)
    if span.label and letters >= min(_LEAST, len(span.label)):
        yield _text(x + 4, y + 14, fit(span.label, letters), "acts-t acts-n")
    yield "</g>"


def _link(link: Link, middles: Mapping[str, float], across: Callable[[float], float]) -> str:
    x0, y0, x1, y1 = across(link.left), middles[link.source], across(link.arrived), middles[link.target]
    bend = max(abs(x1 - x0) / 2, 14)
    way = f"M{x0:.1f} {y0:.1f}C{x0 + bend:.1f} {y0:.1f} {x1 - bend:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    head = f"M{x1:.1f} {y1:.1f}l-7 -3.5v7Z"
    return f'<g>{tooltip(link.title)}<path class="acts-a" d="{way}"/><path class="acts-h" d="{head}"/></g>'


def _text(x: float, y: float, text: str, css: str, anchor: str = "start") -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown(text)}</text>' if text else ""
