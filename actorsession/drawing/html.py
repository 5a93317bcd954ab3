"""Fragments of HTML for notebooks: sections, tables and definitions, in which every value is text.

A value is escaped unless it is ``Html``, which only the functions here and the drawings make. The style of a
page is part of it and has a prefix of its own, so that pages stand beside each other and beside those of
others; it takes colours and letters from what is around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from actorsession.terminal_text import visible

__all__ = ["Html", "definition", "document", "figure", "page", "section", "table", "value"]

_STYLE = """
.acts { font-size: 13px; line-height: 1.45; }
.acts h3 { font-size: 15px; margin: 0 0 .4em; }
.acts details { margin: .4em 0; }
.acts summary { cursor: pointer; font-weight: 600; }
.acts table { border-collapse: collapse; margin: .3em 0; }
.acts th, .acts td { padding: .15em .7em .15em 0; text-align: left; vertical-align: top; border: 0; }
.acts thead th { border-bottom: 1px solid rgba(128, 128, 128, .5); font-weight: 600; }
.acts .n { text-align: right; font-variant-numeric: tabular-nums; }
.acts dl { display: grid; grid-template-columns: max-content auto; gap: .1em 1em; margin: .3em 0; }
.acts dt { opacity: .7; } .acts dd { margin: 0; }
.acts .scroll { overflow: auto; max-width: 100%; max-height: 40em; }
"""
# Rows of a table that are shown; a notebook stays usable, and the value has the rest.
_ROWS = 200


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def value(shown: object) -> Html:
    """Return a value as HTML: itself if it is that already, else as escaped text."""
    return shown if isinstance(shown, Html) else Html("<br>".join(escape(visible(line)) for line in _lines(shown)))


def _lines(shown: object) -> list[str]:
    return str(shown).split("\n")


def page(title: object, *parts: object) -> Html:
    """Return the fragment that a notebook shows for one object.

    Args:
        title: what it is, in a line.
        parts: sections, tables and texts below it.
    """
    return Html(f'<div class="acts"><style>{_STYLE}</style><h3>{value(title)}</h3>{_joined(parts)}</div>')


def document(title: str, *parts: object) -> Html:
    """Return a page as a file of its own, which refers to nothing else."""
    head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{value(title)}</title>'
    body = '<body style="font-family: system-ui, sans-serif; margin: 1.5em">'
    return Html(f'<!doctype html><html lang="en"><head>{head}</head>{body}{page(title, *parts)}</body></html>\n')


def section(title: object, *parts: object, is_open: bool = True) -> Html:
    """Return parts below a title, which the reader folds and unfolds."""
    state = " open" if is_open else ""
    return Html(f"<details{state}><summary>{value(title)}</summary>{_joined(parts)}</details>")


def figure(svg: str) -> Html:
    """Return a drawing, which the reader scrolls where it is larger than the page."""
    return Html(f'<div class="scroll">{svg}</div>')


def table(headings: Sequence[object], rows: Iterable[Sequence[object]], limit: int = _ROWS) -> Html:
    """Return a table, in which numbers are aligned to the right; below it, how many rows are left out.

    Args:
        headings: of the columns.
        rows: the cells, as many as there are headings.
        limit: the most rows that are shown.
    """
    kept = list(rows)
    numeric = [bool(kept) and all(_is_number(row[column]) for row in kept) for column in range(len(headings))]
    head = "".join(_cell("th", cell, right) for cell, right in zip(headings, numeric, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', cell, right) for cell, right in zip(row, numeric, strict=True))}</tr>"
        for row in kept[:limit]
    )
    more = f"<p>{len(kept) - limit} more rows are left out.</p>" if len(kept) > limit else ""
    return Html(f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}')


def _is_number(shown: object) -> bool:
    return str(shown).strip()[:1].isdigit() or str(shown) in ("", "-")


def _cell(tag: str, shown: object, right: bool) -> str:
    return f"<{tag}{' class=n' if right else ''}>{value(shown)}</{tag}>"


def definition(items: Mapping[str, object]) -> Html:
    """Return names with a value for each."""
    return Html(
        f"<dl>{''.join(f'<dt>{value(name)}</dt><dd>{value(shown)}</dd>' for name, shown in items.items())}</dl>"
    )


def _joined(parts: Iterable[object]) -> str:
    return "".join(part if isinstance(part, Html) else f"<p>{value(part)}</p>" for part in parts)
