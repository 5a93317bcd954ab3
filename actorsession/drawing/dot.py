"""A ``Picture`` in the language of Graphviz; frames become clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from actorsession.drawing.picture import Box, Picture
from actorsession.terminal_text import visible

__all__ = ["picture_dot"]


def picture_dot(picture: Picture) -> str:
    """Return a picture as text for ``dot``.

    Raises:
        ValueError: see ``Picture.checked``.
    """
    numbers = {name: f"n{number}" for number, name in enumerate(picture.checked())}
    lines = [
        "digraph {",
        f"  label={_quoted([picture.caption])}; labelloc=t; node [shape=box, style=rounded];",
        *_members(picture.boxes, (), numbers),
    ]
    for arrow in picture.arrows:
        words = f"label={_quoted([arrow.label])}, tooltip={_quoted([arrow.title or arrow.label])}"
        lines.append(f"  {numbers[arrow.source]} -> {numbers[arrow.target]} [{words}];")
    return "\n".join([*lines, "}", ""])


def _members(boxes: Sequence[Box], group: tuple[str, ...], numbers: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the boxes in a frame, then those of the frames in it."""
    indent = "  " * (len(group) + 1)
    depth = len(group)
    frames: dict[str, list[Box]] = {}
    for box in boxes:
        if len(box.group) > depth:
            frames.setdefault(box.group[depth], []).append(box)
        else:
            label = _quoted([box.label or box.name, *box.lines])
            tooltip = _quoted([box.title or box.name])
            yield f"{indent}{numbers[box.name]} [label={label}, tooltip={tooltip}];"
    for name, inner in frames.items():
        # A cluster is named after one of its boxes, because two frames may have one title.
        yield f'{indent}subgraph "cluster_{depth}_{numbers[inner[0].name]}" {{'
        yield f"{indent}  label={_quoted([name])}; tooltip={_quoted([name])};"
        yield from _members(inner, (*group, name), numbers)
        yield f"{indent}}}"


def _quoted(lines: Sequence[str]) -> str:
    """Return lines as one string of the language: a backslash in them stands for itself."""
    safe = [visible(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(safe) + '"'
