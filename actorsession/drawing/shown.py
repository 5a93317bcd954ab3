"""The bases of what shows itself to ``print``, at a terminal and in a notebook, from one ``Sheet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = ["Counters", "Shown", "ShownValue"]


class Shown:
    """Base of objects such as graphs and sessions, which are named in messages: their ``repr`` stays a line."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # IPython asks the classes in order, and would stop at one that has a ``__repr__``.
        cls._repr_pretty_ = Shown._repr_pretty_  # type: ignore[method-assign]

    def _sheet(self) -> Sheet:
        """Return what it shows of itself; it is made at each call, and nothing is run or asked for it."""
        raise NotImplementedError

    def to_svg(self) -> str:
        """Return its first drawing, as a file of its own or as a part of a page.

        Raises:
            ValueError: if it has none: an empty graph, or counters.
        """
        for draw in self._sheet().drawings.values():
            return draw()
        raise ValueError(f"a {type(self).__name__} that is empty, or has only numbers, has no drawing")

    def __str__(self) -> str:
        return self._sheet().text()

    def _repr_html_(self) -> str:
        return self._sheet().html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the sheet where IPython shows the object itself, and a line where it is inside another."""
        printer.text(repr(self) if cycle or len(printer.stack) > 1 else str(self))


class ShownValue(Shown):
    """Base of values that people print by themselves, such as counters: their ``repr`` is what ``print`` shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Counters(ShownValue):
    """Base of dataclasses of counters."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        from actorsession.drawing.counters import counters_sheet

        return counters_sheet(self)
