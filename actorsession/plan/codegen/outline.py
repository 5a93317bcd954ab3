"""Outlining of long generated functions: pieces of the body become functions of their own.

Python compiles a function in one call that holds the interpreter lock to its end: 60,000 lines take a second,
and no other thread of the process runs meanwhile. So no function is longer than ``LONGEST`` lines, and
``bind`` compiles them one by one. ``segment_writer`` calls this.

Values that one piece makes and another reads are kept in a list ``L`` that all pieces of a call share;
everything else stays a local variable. An access to the list takes some ten nanoseconds longer than one to a
local variable, so short functions are left whole.

Invariant: every line keeps its node, and the lines run in their original order. Names of values are unique in
a segment, so a name that occurs in one piece alone is bound there before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from actorsession.plan.codegen.segment import INDENT, Line

__all__ = ["LONGEST", "outlined"]

LONGEST = 750
"""Most lines of a function that was outlined. Python takes 17 us to compile a line, so some 13 ms for all."""

# Lines up to which a function is left whole: a call and a shared list do not pay off for a little more.
_WHOLE = 2 * LONGEST

_NAME = re.compile(r"\bv\d+(?:_\d+)?\b")
_COMMENT = "  # "


def outlined(name: str, parameters: Sequence[str], body: Sequence[Line]) -> list[Line]:
    """Return the text of a function, after that of the functions that it was split into.

    Args:
        name: of the function.
        parameters: names of its parameters after ``C``.
        body: its lines; the last one returns.
    """
    head = Line(f"def {name}({', '.join(['C', *parameters])}):")
    if len(body) <= _WHOLE:
        return [head, *body]
    parts: list[list[Line]] = []

    def call(lines: Sequence[Line], indent: str) -> Line:
        """Return the call that replaces some lines."""
        outer = len(indent) - len(INDENT)
        parts.append([_changed(line, lambda text: text[outer:]) for line in lines])
        return Line(f"{indent}{name}_{len(parts) - 1}(C, L)")

    main = [*_folded(body[:-1], INDENT, call), body[-1]]
    places = _places([[Line(", ".join(parameters)), *main], *parts])
    text: list[Line] = []
    for index, lines in enumerate(parts):
        text += [Line(f"def {name}_{index}(C, L):"), *_placed(lines, places)]
    given = [Line(f"{INDENT}{places[p]} = {p}") for p in parameters if p in places]
    shared = Line(f"{INDENT}L = [None] * {len(places)}")
    return [*text, head, shared, *given, *_placed(main, places)]


def _folded(
    lines: Sequence[Line], indent: str, call: Callable[[Sequence[Line], str], Line]
) -> list[Line]:
    """Return the lines of a suite with calls in the place of most of them."""
    out: list[Line] = []
    waiting: list[Line] = []

    def flush() -> None:
        if waiting:
            out.append(call(waiting, indent))
            waiting.clear()

    for statement in _statements(lines, indent):
        if len(statement) > LONGEST:
            statement = list(_folded_inside(statement, indent, call))
        if len(waiting) + len(statement) > LONGEST:
            flush()
        if statement[0].text.endswith(": break"):  # it ends the loop around it, so it cannot move
            flush()
            out += statement
        else:
            waiting += statement
    flush()
    return out


def _folded_inside(
    statement: Sequence[Line], indent: str, call: Callable[[Sequence[Line], str], Line]
) -> Iterator[Line]:
    """Yield the lines of a loop or branch with its suites folded."""
    suite: list[Line] = []
    for line in statement:
        if _is_inside(line, indent):
            suite.append(line)
            continue
        yield from _folded(suite, indent + INDENT, call)
        suite.clear()
        yield line
    yield from _folded(suite, indent + INDENT, call)


def _statements(lines: Iterable[Line], indent: str) -> list[list[Line]]:
    """Return the statements of a suite, each with all of its lines."""
    found: list[list[Line]] = []
    for line in lines:
        if found and (_is_inside(line, indent) or line.text.startswith(f"{indent}else:")):
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _is_inside(line: Line, indent: str) -> bool:
    return line.text.startswith(indent + INDENT)


# -- values shared by pieces -------------------------------------------------------------------------


def _places(functions: Iterable[Sequence[Line]]) -> dict[str, str]:
    """Return the replacement of each name that occurs in several functions."""
    seen: set[str] = set()
    places: dict[str, str] = {}
    for lines in functions:
        here = {name for line in lines for name in _NAME.findall(line.text.partition(_COMMENT)[0])}
        for name in sorted(here & seen - places.keys()):
            places[name] = f"L[{len(places)}]"
        seen |= here
    return places


def _placed(lines: Iterable[Line], places: dict[str, str]) -> list[Line]:
    def put(text: str) -> str:
        code, mark, comment = text.partition(_COMMENT)
        if code.lstrip().startswith("del "):
            return _dropped(code, places)
        return _NAME.sub(lambda m: places.get(m[0], m[0]), code) + mark + comment

    return [_changed(line, put) for line in lines]


def _dropped(code: str, places: dict[str, str]) -> str:
    """Return a line that drops values; those in the list are replaced by ``None``."""
    indent = code[: -len(code.lstrip())]
    names = _NAME.findall(code)
    own = [name for name in names if name not in places]
    words = [f"del {', '.join(own)}"] if own else []
    words += [f"{places[name]} = None" for name in names if name in places]
    return indent + "; ".join(words)


def _changed(line: Line, change: Callable[[str], str]) -> Line:
    return line._replace(
        text=change(line.text),
        value=None if line.value is None else change(line.value),
        traced=None if line.traced is None else change(line.traced),
    )
