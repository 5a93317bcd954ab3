"""Where the boxes, frames and arrows of a picture are: a layered layout with nested frames.

Pure geometry, after Sugiyama: arrows point down from layer to layer. Arrows that close a circle are turned
round; layers follow from longest paths, and a box with more readers than inputs moves down to its readers; an
arrow over several layers has a bend in each; the order within a layer is that of barycentres, from the sweep
with the fewest crossings; positions are least squares of the distances to neighbours, in order and apart.

A strip, from top to bottom, has the boxes of exactly one frame; a frame is its own strip and the frames in it
beside each other. All frames share the layers, so that a step over devices reads downwards. Parts of a frame
that have no layer in common stand above each other.

Called by ``svg``, which knows the sizes. The time is proportional to the bends, whose number is limited.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from actorsession.records import dataclass

__all__ = ["Layout", "Place", "Point", "Route", "lay_out"]

Path: TypeAlias = "tuple[str, ...]"
Point: TypeAlias = "tuple[float, float]"

# Pixels: between boxes of a layer, beside a bend, at the edges of a frame, between its parts, of its title.
_APART, _BESIDE, _INSIDE, _BETWEEN, _TITLE = 18.0, 9.0, 14.0, 18.0, 26.0
# More boxes of one strip in a layer would make a picture that is too wide; they continue in the next layer.
_ABREAST = 12
# A graph of a thousand nodes has some 5,000 bends. Arrows beyond this number are lines, which may cross boxes.
_BENDS = 10_000
# After six sweeps the order of graphs of networks hardly changes.
_SWEEPS = 6


class Place(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


class Route(NamedTuple):
    """The way of one arrow: pairs of points, with a straight line within each pair and curves between pairs."""

    points: tuple[Point, ...]
    upward: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of boxes by name and of frames by path, outer ones first, a route per arrow, and the whole size."""

    boxes: Mapping[str, Place]
    frames: Mapping[Path, Place]
    routes: Sequence[Route]
    width: float
    height: float


@dataclass(slots=True, eq=False)
class _Item:
    """A box, or a bend of the arrows from one box in one layer of one strip; a bend has no height."""

    layer: int
    width: float
    height: float = 0.0
    x: float = 0.0
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)

    @property
    def centre(self) -> float:
        return self.x + self.width / 2


@dataclass(slots=True, eq=False)
class _Part:
    """A frame with its parts, or a strip with its items by layer; the outermost frame has no path."""

    path: Path = ()
    parts: dict[str | None, _Part] = field(default_factory=dict)
    items: dict[int, list[_Item]] = field(default_factory=dict)
    first: int = 1 << 30
    last: int = -1
    x: float = 0.0
    width: float = 0.0

    @property
    def framed(self) -> bool:
        return bool(self.path and self.parts)

    def walk(self) -> Iterator[_Part]:
        yield self
        for part in self.parts.values():
            yield from part.walk()

    @property
    def has_boxes(self) -> bool:
        return any(item.height for row in self.items.values() for item in row)

    def cover(self, layer: int) -> None:
        self.first, self.last = min(self.first, layer), max(self.last, layer)

    def above(self, layer: int) -> float:
        """Return how far its frames reach above a layer."""
        own = _TITLE if self.framed and self.first == layer else 0.0
        return own + max((part.above(layer) for part in self.parts.values()), default=0.0)

    def below(self, layer: int) -> float:
        """Return how far its frames reach below a layer."""
        own = _INSIDE if self.framed and self.last == layer else 0.0
        return own + max((part.below(layer) for part in self.parts.values()), default=0.0)

    def beside(self, other: _Part) -> bool:
        return self.first <= other.last and other.first <= self.last


def lay_out(
    sizes: Mapping[str, tuple[float, float]],
    groups: Mapping[str, Path],
    edges: Sequence[tuple[str, str]],
    titles: Mapping[Path, float],
    gap: float,
) -> Layout:
    """Return the layout of boxes.

    Args:
        sizes: width and height of each box by name, in the order that decides where nothing else does.
        groups: path of the frames around each box.
        edges: the two ends of each arrow.
        titles: the least width of each frame.
        gap: distance of layers.
    """
    downward = _downward(list(sizes), edges)
    layers = _folded(_layers(list(sizes), [edge for edge in downward if edge[0] != edge[1]]), groups)
    whole = _Part()
    boxes: dict[str, _Item] = {}
    for name, (width, height) in sizes.items():
        boxes[name] = item = _Item(layers[name], width, height)
        _put(whole, groups[name], item)
    chains = _chains(whole, boxes, groups, edges, downward)
    strips = [part for part in whole.walk() if part.items]
    _order(strips, 1 + max(layers.values(), default=-1))
    for strip in strips:
        strip.width = _widen(strip)
    _measure(whole, titles)
    _arrange(whole, 0.0)
    _settle_all(strips)
    _straighten(strips)
    return _drawn(whole, boxes, edges, downward, chains, gap)


def _put(whole: _Part, path: Path, item: _Item, *, is_box: bool = True) -> None:
    """Add an item to the strip of a frame; frames are as long as their boxes reach."""
    part = whole
    for depth, name in enumerate(path, 1):
        if is_box:
            part.cover(item.layer)
        part = part.parts.setdefault(name, _Part(path[:depth]))
    if is_box:
        part.cover(item.layer)
    strip = part.parts.setdefault(None, _Part(path))
    strip.cover(item.layer)
    strip.items.setdefault(item.layer, []).append(item)


# -- layers ----------------------------------------------------------------------------------------


def _downward(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges, those turned round that lead back to a box from which their source was reached."""
    after: dict[str, list[int]] = {name: [] for name in names}
    entered = set()
    for number, (source, target) in enumerate(edges):
        after[source].append(number)
        entered.add(target)
    out = list(edges)
    state: dict[str, int] = {}  # 1 while a box is on the way, 2 when all behind it were seen
    for root in [*(name for name in names if name not in entered), *names]:
        if root in state:
            continue
        state[root] = 1
        way = [(root, iter(after[root]))]
        while way:
            name, numbers = way[-1]
            for number in numbers:
                target = edges[number][1]
                if state.get(target) == 1:
                    out[number] = (target, name)
                elif target not in state:
                    state[target] = 1
                    way.append((target, iter(after[target])))
                    break
            else:
                state[name] = 2
                way.pop()
    return out


def _layers(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each box of a graph without circles."""
    before: dict[str, set[str]] = {name: set() for name in names}
    after: dict[str, set[str]] = {name: set() for name in names}
    for source, target in edges:
        before[target].add(source)
        after[source].add(target)
    missing = {name: len(sources) for name, sources in before.items()}
    ready = deque(name for name in names if not missing[name])
    order = []
    layers = dict.fromkeys(names, 0)
    while ready:
        name = ready.popleft()
        order.append(name)
        for reader in after[name]:
            layers[reader] = max(layers[reader], layers[name] + 1)
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    for name in reversed(order):
        if len(after[name]) > len(before[name]):
            layers[name] = min(layers[reader] for reader in after[name]) - 1
    return layers


def _folded(layers: Mapping[str, int], groups: Mapping[str, Path]) -> dict[str, int]:
    """Return layers none of which has too many boxes of one strip."""
    counts: dict[tuple[int, Path], int] = {}
    place: dict[str, int] = {}
    for name, layer in layers.items():
        key = (layer, groups[name])
        place[name] = counts.get(key, 0) // _ABREAST
        counts[key] = counts.get(key, 0) + 1
    heights: dict[int, int] = {}
    for (layer, _), count in counts.items():
        heights[layer] = max(heights.get(layer, 1), -(-count // _ABREAST))
    starts: dict[int, int] = {}
    top = 0
    for layer in sorted(heights):
        starts[layer] = top
        top += heights[layer]
    return {name: starts[layer] + place[name] for name, layer in layers.items()}


# -- bends -----------------------------------------------------------------------------------------


def _chains(
    whole: _Part,
    boxes: Mapping[str, _Item],
    groups: Mapping[str, Path],
    edges: Sequence[tuple[str, str]],
    downward: Sequence[tuple[str, str]],
) -> dict[int, list[_Item]]:
    """Return the items that each arrow passes from its upper end to its lower one; short arrows first."""
    frames = {part.path: part for part in whole.walk() if part.parts}
    bends: dict[tuple[str, bool, Path, int], _Item] = {}
    chains: dict[int, list[_Item]] = {}
    linked: set[tuple[int, int]] = set()
    for number in sorted(range(len(edges)), key=lambda n: boxes[downward[n][1]].layer - boxes[downward[n][0]].layer):
        upper, lower = downward[number]
        if upper == lower:
            continue
        chain = [boxes[upper]]
        between = range(boxes[upper].layer + 1, boxes[lower].layer)
        for layer in between if len(bends) + len(between) <= _BENDS else ():
            path = _passage(frames, groups[upper], groups[lower], layer)
            key = (upper, downward[number] == edges[number], path, layer)
            if key not in bends:
                bends[key] = _Item(layer, 0.0)
                _put(whole, path, bends[key], is_box=False)
            chain.append(bends[key])
        chain.append(boxes[lower])
        chains[number] = chain
        for one, other in pairwise(chain):
            if (id(one), id(other)) not in linked:
                linked.add((id(one), id(other)))
                one.below.append(other)
                other.above.append(one)
    return chains


def _passage(frames: Mapping[Path, _Part], upper: Path, lower: Path, layer: int) -> Path:
    """Return in which frame an arrow passes a layer: in that of its source, of its target, or around both."""
    for path in (upper, lower):
        if frames[path].first <= layer <= frames[path].last:
            return path
    common = 0
    while common < min(len(upper), len(lower)) and upper[common] == lower[common]:
        common += 1
    return upper[:common]


# -- order and positions ---------------------------------------------------------------------------


def _order(strips: Sequence[_Part], height: int) -> None:
    """Order the items of each layer of each strip, so that few arrows cross."""
    best: list[tuple[list[_Item], list[_Item]]] = []
    fewest = -1
    rows = [(strip, layer) for strip in strips for layer in sorted(strip.items)]
    _number(strips)
    for sweep in range(_SWEEPS + 1):
        crossings = _crossings(strips, height)
        if fewest < 0 or crossings < fewest:
            fewest, best = crossings, [(strip.items[layer], list(strip.items[layer])) for strip, layer in rows]
        if not fewest or sweep == _SWEEPS:
            break
        is_down = sweep % 2 == 0
        for strip, layer in sorted(rows, key=lambda row: row[1], reverse=not is_down):
            row = strip.items[layer]
            start = row[0].x
            row.sort(key=lambda item: _mean(item.above if is_down else item.below, item.x))
            for place, item in enumerate(row):
                item.x = start + place
    for row, kept in best:
        row[:] = kept


def _number(strips: Sequence[_Part]) -> None:
    """Give each item its number in its layer, counted over the strips from left to right."""
    start = 0
    for strip in strips:
        for row in strip.items.values():
            for place, item in enumerate(row):
                item.x = float(start + place)
        start += max(map(len, strip.items.values()))


def _mean(items: Sequence[_Item], otherwise: float) -> float:
    return sum([item.x for item in items]) / len(items) if items else otherwise


def _crossings(strips: Sequence[_Part], height: int) -> int:
    """Return how many pairs of arrows between neighbouring layers cross."""
    layers: list[list[_Item]] = [[] for _ in range(height)]
    for strip in strips:
        for layer, row in strip.items.items():
            layers[layer] += row
    count = 0
    for row in layers:
        ends: list[float] = []
        for item in sorted(row, key=lambda item: item.x):
            for x in sorted([other.x for other in item.below]):
                count += len(ends) - bisect_right(ends, x)
                insort(ends, x)
    return count


def _widen(strip: _Part) -> float:
    """Place the items of a strip by their neighbours in it; return its width."""
    inside = {id(item) for row in strip.items.values() for item in row}
    for row in strip.items.values():
        x = -sum([item.width for item in row]) / 2
        for item in row:
            item.x = x
            x += item.width + _distance(item, item)
    for sweep in range(_SWEEPS):
        for layer in sorted(strip.items, reverse=sweep % 2 == 1):
            row = strip.items[layer]
            near = [item.below if sweep % 2 else item.above for item in row]
            _settle(row, [[other for other in others if id(other) in inside] for others in near], -1e9, 1e9)
    left = min(item.x for row in strip.items.values() for item in row)
    for row in strip.items.values():
        for item in row:
            item.x -= left
    return max(item.x + item.width for row in strip.items.values() for item in row)


def _measure(part: _Part, titles: Mapping[Path, float]) -> None:
    """Place the parts of a frame beside each other, or above each other where they share no layer."""
    if not part.parts:
        return
    # A strip that has only arrows which pass stands at the right.
    inner = sorted(
        part.parts.values(), key=lambda p: not p.parts and not any(i.height for r in p.items.values() for i in r)
    )
    edge = _INSIDE if part.framed else 0.0
    for place, one in enumerate(inner):
        _measure(one, titles)
        beside = [other for other in inner[:place] if other.beside(one)]
        one.x = max((other.x + other.width + _BETWEEN for other in beside), default=edge)
    right = max((one.x + one.width for one in inner), default=0.0)
    part.width = max(right + edge, titles.get(part.path, 0.0) if part.framed else 0.0)
    for one in inner:
        if not any(one.beside(other) for other in inner if other is not one):
            one.x = (part.width - one.width) / 2


def _arrange(part: _Part, left: float) -> None:
    """Turn positions within frames into those of the picture."""
    part.x += left
    for inner in part.parts.values():
        _arrange(inner, part.x)
    for row in part.items.values():
        for item in row:
            item.x += part.x


def _settle_all(strips: Sequence[_Part]) -> None:
    """Move items towards their neighbours in all strips, each within its own."""
    rows = [(strip, layer) for strip in strips for layer in strip.items]
    for sweep in range(_SWEEPS):
        for strip, layer in sorted(rows, key=lambda row: row[1], reverse=sweep % 2 == 0):
            row = strip.items[layer]
            near = [item.above + item.below for item in row]
            _settle(row, near, strip.x, strip.x + strip.width)


def _straighten(strips: Sequence[_Part]) -> None:
    """Put successive bends of an arrow on one line, as far down as their neighbours leave a line free."""
    sides = {}
    for strip in strips:
        for row in strip.items.values():
            for left, item, right in zip([None, *row], row, [*row[1:], None], strict=False):
                sides[id(item)] = (left, right, strip)

    def bounds(item: _Item) -> tuple[float, float]:
        left, right, strip = sides[id(item)]
        low = left.x + left.width + _distance(left, item) if left else strip.x
        return low, right.x - _distance(item, right) if right else strip.x + strip.width

    rows = sorted(((layer, row) for strip in strips for layer, row in strip.items.items()), key=lambda row: row[0])
    seen: set[int] = set()
    for item in [item for _, row in rows for item in row if not item.height]:
        if id(item) in seen:
            continue
        line = [item]
        low, high = bounds(item)
        while len(line[-1].below) == 1 and not line[-1].below[0].height:
            other = line[-1].below[0]
            nearer, farther = bounds(other)
            if max(low, nearer) > min(high, farther):
                break
            low, high = max(low, nearer), min(high, farther)
            line.append(other)
        x = max(low, min(high, sum(one.x for one in line) / len(line)))
        for one in line:
            one.x = x
            seen.add(id(one))


def _distance(left: _Item, right: _Item) -> float:
    return _APART if left.height and right.height else _BESIDE


def _settle(row: Sequence[_Item], near: Sequence[Sequence[_Item]], low: float, high: float) -> None:
    """Move the items of a row to the centres of others as far as order and distances allow.

    This is isotonic regression: neighbours that want to overlap are moved as one block.
    """
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + left.width + _distance(left, right))
    high -= offsets[-1] + row[-1].width
    blocks: list[tuple[float, float, int]] = []  # sums of weighted positions and of weights; number of items
    for item, others, offset in zip(row, near, offsets, strict=True):
        # An item without neighbours gives way. A bend weighs more, so that long arrows become straight.
        weight = (1.0 if item.height else 8.0) if others else 0.01
        centre = sum([other.centre for other in others]) / len(others) if others else item.centre
        blocks.append(((centre - item.width / 2 - offset) * weight, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    place = 0
    for total, weight, count in blocks:
        start = max(low, min(high, total / weight))
        for item, offset in zip(row[place : place + count], offsets[place : place + count], strict=True):
            item.x = start + offset
        place += count


# -- the drawing -----------------------------------------------------------------------------------


def _drawn(
    whole: _Part,
    boxes: Mapping[str, _Item],
    edges: Sequence[tuple[str, str]],
    downward: Sequence[tuple[str, str]],
    chains: Mapping[int, Sequence[_Item]],
    gap: float,
) -> Layout:
    heights: dict[int, float] = {}
    for item in boxes.values():
        heights[item.layer] = max(heights.get(item.layer, 0.0), item.height)
    tops: dict[int, float] = {}
    y = -gap
    for layer in sorted(heights):
        tops[layer] = y + gap + whole.above(layer)
        y = tops[layer] + heights[layer] + whole.below(layer)
    bands = {layer: (top, top + heights[layer]) for layer, top in tops.items()}
    places = {
        name: Place(item.x, sum(bands[item.layer]) / 2 - item.height / 2, item.width, item.height)
        for name, item in boxes.items()
    }
    frames = {}
    for part in whole.walk():
        if part.framed:
            top = tops[part.first] - part.above(part.first)
            frames[part.path] = Place(part.x, top, part.width, bands[part.last][1] + part.below(part.last) - top)
    ports = {}
    for item in boxes.values():
        for others in (item.above, item.below):
            for place, other in enumerate(sorted(others, key=lambda one: one.centre), 1):
                ports[id(item), id(other)] = item.x + item.width * place / (len(others) + 1)
    routes = []
    for number, (source, target) in enumerate(edges):
        if number not in chains:
            routes.append(_loop(places[source]))
            continue
        first, *between, last = chains[number]
        upper, lower = (places[name] for name in downward[number])
        begin, end = ports[id(first), id((*between, last)[0])], ports[id(last), id((first, *between)[-1])]
        points = [(begin, upper.y + upper.height), (begin, bands[first.layer][1])]
        points += [(item.x, edge) for item in between for edge in bands[item.layer]]
        points += [(end, bands[last.layer][0]), (end, lower.y)]
        is_upward = downward[number] != (source, target)
        routes.append(Route(tuple(reversed(points)) if is_upward else tuple(points), is_upward))
    return Layout(places, frames, routes, whole.width, max(y, 0.0))


def _loop(place: Place) -> Route:
    right, top, height = place.x + place.width, place.y, place.height
    points = ((right, 0.7), (right + 10, 0.7), (right + 10, 0.3), (right, 0.3))
    return Route(tuple((x, top + height * part) for x, part in points), upward=True)
