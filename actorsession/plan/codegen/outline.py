"""Outlining of long generated functions: pieces of the body become functions of their own.

Python compiles a function in one call that holds the interpreter lock to its end: 60,000 lines take a second,
and no other thread of the process runs meanwhile. So no function is longer than ``LONGEST`` lines, and
``bind`` compiles them one by one. ``segment_writer`` calls this.

Values that one piece makes and another reads are kept in a list ``L`` that all pieces of a call share;
everything else stays a local variable. Values that are never needed at the same time share a place in the
list, so it is as long as the graph is wide and not as the graph is long: the values of a long graph would not
fit into the processor's cache otherwise. An access to the list takes some ten nanoseconds longer than one to
a local variable, so short functions are left whole.

Invariant: every line keeps its node, and the lines run in their original order. Names of values are unique in
a segment, so a name that occurs in one piece alone is bound there before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

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
    given = Line(", ".join(parameters))
    places, count = _places([[given, *main], *parts], _lives([[given], *_statements(body, INDENT)]))
    text: list[Line] = []
    for index, lines in enumerate(parts):
        text += [Line(f"def {name}_{index}(C, L):"), *_placed(lines, places)]
    shared = Line(f"{INDENT}L = [None] * {count}")
    first = [Line(f"{INDENT}{places[p]} = {p}") for p in parameters if p in places]
    return [*text, head, shared, *first, *_placed(main, places)]


def _folded(lines: Sequence[Line], indent: str, call: Callable[[Sequence[Line], str], Line]) -> list[Line]:
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
    statements: list[list[Line]] = []
    for line in lines:
        if statements and (_is_inside(line, indent) or line.text.startswith(f"{indent}else:")):
            statements[-1].append(line)
        else:
            statements.append([line])
    return statements


def _is_inside(line: Line, indent: str) -> bool:
    return line.text.startswith(indent + INDENT)


# -- values shared by pieces -------------------------------------------------------------------------


def _lives(statements: Iterable[Sequence[Line]]) -> dict[str, tuple[int, int]]:
    """Return the first and the last statement in which each name occurs.

    A value that a loop reads may be read again in its next iteration, so the loop is one statement.
    """
    lives: dict[str, tuple[int, int]] = {}
    for number, lines in enumerate(statements):
        for line in lines:
            for name in _names(line):
                lives[name] = (lives[name][0] if name in lives else number, number)
    return lives


def _places(functions: Iterable[Sequence[Line]], lives: Mapping[str, tuple[int, int]]) -> tuple[dict[str, str], int]:
    """Return the replacement of each name that occurs in several functions, and the length of the list."""
    seen: set[str] = set()
    shared: set[str] = set()
    for lines in functions:
        here = {name for line in lines for name in _names(line)}
        shared |= here & seen
        seen |= here
    places: dict[str, str] = {}
    taken: list[tuple[int, int]] = []  # (last statement, place), a heap
    free: list[int] = []
    count = 0
    for (first, last), name in sorted((lives[name], name) for name in shared):
        while taken and taken[0][0] < first:
            free.append(heappop(taken)[1])
        if not free:
            free.append(count)
            count += 1
        place = free.pop()
        heappush(taken, (last, place))
        places[name] = f"L[{place}]"
    return places, count


def _names(line: Line) -> list[str]:
    return _NAME.findall(line.text.partition(_COMMENT)[0])


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
