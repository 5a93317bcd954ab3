"""What an object shows of itself: a title, facts, tables and drawings, as text and as HTML.

An object says once what is worth seeing. Terminals get the text, in which tables are short and drawings are
left out; notebooks get the HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from actorsession.drawing import html, text
from actorsession.records import dataclass
from actorsession.terminal_text import visible

__all__ = ["Sheet", "Table"]

# Rows of a table in a text, and cells of them that are longer than a terminal is wide.
_ROWS, _LONGEST = 12, 60


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title; the first ``names`` columns are text, the others numbers."""

    title: str
    headings: Sequence[object]
    rows: Sequence[Sequence[object]]
    names: int = 1


@dataclass(frozen=True, slots=True)
class Sheet:
    """What an object shows of itself.

    Attributes:
        title: what it is, in a line.
        facts: names with values; those that are ``None`` or empty are left out.
        tables: those without rows are left out.
        drawings: functions that return SVG, by title; called for HTML alone.
    """

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    drawings: Mapping[str, Callable[[], str]] = field(default_factory=dict)

    def text(self) -> str:
        """Return the lines for a terminal."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield visible(self.title)
        yield from text.table([(f"{name}:", value) for name, value in self._facts()], 2, "  ")
        for table in self._tables():
            yield f"  {visible(table.title)}:"
            rows = [[text.fit(str(cell), _LONGEST) for cell in row] for row in table.rows[:_ROWS]]
            yield from text.table([table.headings, *rows], table.names, "    ")
            if len(table.rows) > _ROWS:
                yield f"    {len(table.rows) - _ROWS} more"

    def html(self) -> str:
        """Return the fragment for a notebook."""
        parts = [html.definition(dict(self._facts()))] if self._facts() else []
        parts += [html.section(title, html.figure(draw())) for title, draw in self.drawings.items()]
        parts += [html.section(table.title, html.table(table.headings, table.rows)) for table in self._tables()]
        return html.page(self.title, *parts)

    def _facts(self) -> list[tuple[str, object]]:
        return [(name, value) for name, value in self.facts.items() if value not in (None, "", (), {})]

    def _tables(self) -> list[Table]:
        return [table for table in self.tables if table.rows]
