"""A ``Picture`` as SVG: a document by itself, and a fragment of a page as well.

It has no script, no reference to anything, and no identifiers, of which a page could have others. Names are
shortened in boxes and whole at the pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actorsession.drawing.layout import Layout, Place, Point, Route, lay_out
from actorsession.drawing.picture import Arrow, Box, Picture
from actorsession.drawing.style import SIZE, Kinds, drawing, legend, shown, text_width, tooltip
from actorsession.drawing.text import fit

__all__ = ["picture_svg"]

_MARGIN = 16.0
_LINE = 15.0
_PAD_X, _PAD_Y = 10.0, 7.0
# Letters of a line in a box, of a label, and of the title of a frame.
_LONGEST, _LABEL, _TITLE = 34, 30, 60
_GAP, _LABEL_GAP = 32.0, 50.0
# More labels would hide the arrows; they appear at the pointer.
_LABELS = 300
# Labels are of 10 pixels; titles are bold, which is wider.
_SMALL, _BOLD = 10 / SIZE, 1.12


def picture_svg(picture: Picture) -> str:
    """Return a picture as SVG.

    Raises:
        ValueError: see ``Picture.checked``.
    """
    boxes = picture.checked()
    paths = {box.group[:depth] for box in picture.boxes for depth in range(1, len(box.group) + 1)}
    layout = lay_out(
        {name: _size(box) for name, box in boxes.items()},
        {name: box.group for name, box in boxes.items()},
        [(arrow.source, arrow.target) for arrow in picture.arrows],
        {path: text_width(fit(path[-1], _TITLE)) * _BOLD + 2 * _PAD_X for path in paths},
        _LABEL_GAP if any(arrow.label for arrow in picture.arrows) else _GAP,
    )
    kinds = Kinds()
    for kind in [*(box.kind for box in picture.boxes), *(arrow.kind for arrow in picture.arrows)]:
        kinds.css(kind)
    top = _MARGIN + (24 if picture.caption else 0)
    parts = []
    if picture.caption:
        parts.append(f'<text class="acts-t acts-m" x="{_MARGIN:.0f}" y="{top - 8:.0f}">{shown(picture.caption)}</text>')
    key, right = legend(kinds, _MARGIN, top + layout.height + 30)
    parts += [f'<g transform="translate({_MARGIN:.0f} {top:.0f})">', *_shapes(picture, layout, kinds), "</g>", *key]
    width = max(layout.width + 2 * _MARGIN + 12, right, text_width(picture.caption) * _BOLD + 2 * _MARGIN)
    return drawing(width, top + layout.height + (44 if key else _MARGIN), parts, picture.caption)


def _texts(box: Box) -> list[str]:
    return [fit(line, _LONGEST) for line in (box.label or box.name, *box.lines)]


def _size(box: Box) -> tuple[float, float]:
    texts = _texts(box)
    return max(map(text_width, texts)) + 2 * _PAD_X, len(texts) * _LINE + 2 * _PAD_Y


def _shapes(picture: Picture, layout: Layout, kinds: Kinds) -> Iterator[str]:
    for path, place in layout.frames.items():
        yield f'<g>{tooltip(" > ".join(path))}<rect class="acts-f" {_rect(place)} rx="7"/>'
        yield f'<text class="acts-s acts-m" x="{place.x + 9:.1f}" y="{place.y + 16:.1f}">'
        yield f"{shown(fit(path[-1], _TITLE))}</text></g>"
    for arrow, route in zip(picture.arrows, layout.routes, strict=True):
        yield from _arrow(arrow, route, kinds.css(arrow.kind))
    for box in picture.boxes:
        yield from _box(box, layout.boxes[box.name], kinds.css(box.kind))
    yield from _labels(picture.arrows, layout)


def _rect(place: Place) -> str:
    return f'x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" height="{place.height:.1f}"'


def _box(box: Box, place: Place, css: str) -> Iterator[str]:
    whole = box.title or "\n".join((box.name, *box.lines))
    yield f'<g>{tooltip(whole)}<rect class="acts-b{css}" {_rect(place)} rx="5"/>'
    for number, line in enumerate(_texts(box)):
        look = "acts-t" if not number else "acts-s"
        x, y = place.x + place.width / 2, place.y + _PAD_Y + number * _LINE + 11
        yield f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{shown(line)}</text>'
    yield "</g>"


def _arrow(arrow: Arrow, route: Route, css: str) -> Iterator[str]:
    points = route.points
    way = [f"M{_at(points[0])}"]
    for number in range(0, len(points), 2):
        begin, end = points[number : number + 2]
        if number:
            before = points[number - 1]
            middle = (before[1] + begin[1]) / 2
            way.append(f"C{_at((before[0], middle))} {_at((begin[0], middle))} {_at(begin)}")
        if begin != end:
            way.append(f"L{_at(end)}")
    title = arrow.title or "\n".join(filter(None, (f"{arrow.source} → {arrow.target}", arrow.label)))
    yield f'<g>{tooltip(title)}<path class="acts-a{css}" d="{"".join(way)}"/>{_head(route, css)}</g>'


def _head(route: Route, css: str) -> str:
    """Return the point of an arrow; all arrows end upright, except loops, which end to the left."""
    x, y = route.points[-1]
    if route.points[-2][0] != x:
        corners = ((x, y), (x + 7, y - 3.5), (x + 7, y + 3.5))
    else:
        back = 7 if route.upward else -7
        corners = ((x, y), (x - 3.5, y + back), (x + 3.5, y + back))
    return f'<path class="acts-h{css}" d="M{"L".join(map(_at, corners))}Z"/>'


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _labels(arrows: Sequence[Arrow], layout: Layout) -> Iterator[str]:
    """Yield the labels for which there is room: on an arrow between layers, and on no other label."""
    taken = [Place(place.x, place.y, text_width(fit(path[-1], _TITLE)), 20) for path, place in layout.frames.items()]
    most = len(taken) + _LABELS
    for arrow, route in zip(arrows, layout.routes, strict=True):
        if not arrow.label or len(taken) >= most:
            continue
        text = fit(arrow.label, _LABEL)
        width = text_width(text) * _SMALL
        for x, y in _spots(route.points):
            place = Place(x - width / 2, y - 6, width, 12)
            if not any(_meet(place, other) for other in taken):
                taken.append(place)
                yield f'<text class="acts-l" x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle">{shown(text)}</text>'
                break


def _spots(points: Sequence[Point]) -> Iterator[Point]:
    """Yield points of the curves of an arrow, those in the middle first."""
    for number in range(2, len(points), 2):
        (x0, y0), (x1, y1) = points[number - 1 : number + 1]
        for part in (0.5, 0.3, 0.7, 0.15, 0.85):
            bent = part * part * (3 - 2 * part)  # of the curve with upright ends, as good as the point itself
            yield x0 + (x1 - x0) * bent, y0 + (y1 - y0) * part


def _meet(one: Place, other: Place) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )
