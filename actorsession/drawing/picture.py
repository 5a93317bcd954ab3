"""A picture as plain data: boxes in nested frames, and arrows between them.

Packages above build one from what they know of a graph, a plan or a step; ``svg`` and ``dot`` draw it. All
texts are given as they are.
"""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["Arrow", "Box", "Picture"]


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a picture.

    Attributes:
        name: by which arrows refer to it; its first line.
        lines: more lines below the name.
        group: path of the frames around it from the outside in, such as a task and a device.
        kind: what boxes of one colour have in common; "" for plain ones. A legend lists the kinds.
        title: the text that appears at the pointer; the name and the lines if empty.
        label: its first line in place of the name.
    """

    name: str
    lines: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    kind: str = ""
    title: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow of a picture.

    Attributes:
        source: name of the box where it begins.
        target: name of the box to which it points.
        label: the text beside it; where it would cover another one, it appears at the pointer alone.
        kind: what arrows of one colour have in common; "" for plain ones.
        title: the text that appears at the pointer.
    """

    source: str
    target: str
    label: str = ""
    kind: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes and arrows, with a line above them.

    Attributes:
        boxes: in the order that decides where nothing else does.
        arrows: between boxes of the picture.
        caption: what the picture shows.

    Raises:
        ValueError: when it is drawn, if two boxes have one name or an arrow begins or ends at none.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...] = ()
    caption: str = ""

    def svg(self) -> str:
        """Return the picture as SVG that needs nothing from outside, light or dark as the reader's system is."""
        from actorsession.drawing.svg import picture_svg

        return picture_svg(self)

    def dot(self) -> str:
        """Return the picture in the language of Graphviz."""
        from actorsession.drawing.dot import picture_dot

        return picture_dot(self)

    def checked(self) -> dict[str, Box]:
        """Return the boxes by name.

        Raises:
            ValueError: if two boxes have one name or an arrow begins or ends at none.
        """
        boxes = {box.name: box for box in self.boxes}
        if len(boxes) < len(self.boxes):
            names = [box.name for box in self.boxes]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two boxes of a picture are called {twice!r}")
        for arrow in self.arrows:
            for end in (arrow.source, arrow.target):
                if end not in boxes:
                    raise ValueError(f"an arrow from {arrow.source!r} to {arrow.target!r}: there is no box {end!r}")
        return boxes

    def _repr_svg_(self) -> str:
        return self.svg()
