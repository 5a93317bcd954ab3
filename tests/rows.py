"""Tables of rows in one test each, for checks that cost less than a test of their own.

Owns :func:`for_each`, which is written like ``pytest.mark.parametrize``. The test is one item that goes
through all rows, goes on after a row that failed, and in the end fails with the name and the traceback of
every one that did. An item costs some milliseconds of collection, fixtures and reports; a table has hundreds
of rows of less.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import reprlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pytest

from actorsession import Graph, get_default_graph

__all__ = ["OnGraph", "Refused", "few_of", "for_each", "refused", "refused_later", "refusing"]

_ROWS_OF = "_rows_of_the_table"
_GROUP = "group_of_rows"
# A child that was cancelled ends within a few turns of its loop.
_TURNS_TO_END = 10
# In the line that says what failed; tracebacks follow of all.
_NAMES_SHOWN = 20

_Stack = ExitStack | AsyncExitStack
# A line, the error that it raises, and what the message of that matches.
Refused = tuple[Callable[[], Any], type[BaseException], str]
Namer = Callable[[Any], object] | Sequence[object] | None


@runtime_checkable
class OnGraph(Protocol):
    """What a fixture made on a graph of the test, and can make anew for the graph of one row."""

    def on_graph(self, graph: Graph) -> Any: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    values: Mapping[str, Any]
    group: str


def for_each(
    names: str, rows: Iterable[Any], *, ids: Namer = None, by: Callable[..., str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a test go through ``rows``, and fail with the names of those it failed for.

    Several of these on one test go through all combinations. A row has a default graph of its own, which is
    also the ``graph`` of a test that asks for it, a folder of its own in ``tmp_path``, and patches, captured
    output and log records of its own. All other fixtures are shared by the rows. So is the graph where they
    may be built on it, unless they are made anew for the row (:class:`OnGraph`), and where a fixture has put
    something into it.

    A row that skips leaves the test skipped once the others hold. In an async test a row that leaves children
    on the loop fails.

    Args:
        names: of the arguments of the test that a row gives, separated by commas.
        rows: a value each, a sequence of values for several names, or what ``pytest.param`` makes.
        ids: names of the rows, or what makes one of each value (``None``: the usual name), as for pytest.
        by: the group of a row, from what it gives: there is a test for each group and not one for all.
    """
    arguments = [name.strip() for name in names.split(",")]
    table = [_row(arguments, given, index, ids, by) for index, given in enumerate(rows)]
    if not table:
        raise ValueError(f"a table without rows tests nothing: {names}")

    def of_table(test: Callable[..., Any]) -> Callable[..., Any]:
        inner: tuple[Callable[..., Any], list[_Row]] | None = getattr(test, _ROWS_OF, None)
        body, within = inner or (test, [_Row("", {}, "")])
        rows = [
            _Row("-".join(filter(None, (b.name, a.name))), {**a.values, **b.values}, a.group or b.group)
            for a, b in itertools.product(table, within)
        ]
        made = _through(body, rows)
        marks = [*getattr(test, "pytestmark", [])]  # those between two tables too
        vars(made).update({"pytestmark": marks, _ROWS_OF: (body, rows)})
        if by is None:
            return made
        grouped: Callable[..., Any] = pytest.mark.parametrize(_GROUP, sorted({row.group for row in rows}))(made)
        return grouped

    return of_table


def few_of(rows: Iterable[Any], every: int) -> list[Any]:
    """Return the rows of a ``parametrize``, of which the short suite takes the first and each ``every``-th after it.

    Args:
        rows: a value each, or a sequence of values for several names.
        every: how far apart those are that always run.
    """
    params: list[Any] = [row if _is_param(row) else pytest.param(*_values(row)) for row in rows]
    more = [row._replace(marks=[*row.marks, pytest.mark.whole]) for row in params]
    return [row if i % every == 0 else more[i] for i, row in enumerate(params)]


def _values(row: Any) -> tuple[Any, ...]:
    return row if isinstance(row, tuple) else (row,)


def refusing(
    *lines: tuple[Any, ...], of: Callable[[Any], Any] = lambda line: line(), error: type[BaseException] = ValueError
) -> Callable[..., Any]:
    """Return a test of lines that are refused as soon as they are run.

    Args:
        *lines: a function each, which takes nothing, or what ``of`` takes; its error, if it is not ``error``; and
            what that matches.
        of: what is refused.
        error: the class of the errors of lines without one.
    """
    rows = [(partial(of, given), *([error] * (2 - len(rest))), *rest) for given, *rest in lines]
    return for_each("line, error, match", rows)(refused)


def refused(
    line: Callable[[], Any], error: type[BaseException] | tuple[type[BaseException], ...], match: str | None = None
) -> None:
    """Run a line, which raises the error."""
    with pytest.raises(error, match=match):
        line()


async def refused_later(
    waited: Awaitable[Any], error: type[BaseException] | tuple[type[BaseException], ...], match: str | None = None
) -> None:
    """Wait for what raises the error."""
    with pytest.raises(error, match=match):
        await waited


def _through(test: Callable[..., Any], table: list[_Row]) -> Callable[..., Any]:
    given = set(table[0].values)
    signature = inspect.signature(test)
    if missing := given - set(signature.parameters):
        raise TypeError(f"{test.__qualname__} takes no {sorted(missing)}")
    left = [p for name, p in signature.parameters.items() if name not in given]
    marks = getattr(test, "pytestmark", [])
    values = {n.strip() for m in marks if m.name == "parametrize" for n in m.args[0].split(",")}
    on_no_graph = {"self", "graph", *values, *_OWN}

    def chosen(fixtures: dict[str, Any]) -> list[_Row]:
        group = fixtures.pop(_GROUP, None)
        return [row for row in table if group is None or row.group == group]

    if inspect.iscoroutinefunction(test):

        @functools.wraps(test)
        async def through_all_later(*instance: Any, **fixtures: Any) -> None:
            rows = chosen(fixtures)
            outcomes = _Outcomes(len(rows))
            for number, row in enumerate(rows):
                children = asyncio.all_tasks()
                with outcomes.of(row):
                    async with AsyncExitStack() as stack:
                        own = _own(fixtures, on_no_graph, number, stack)
                        await test(*instance, **own, **row.values)
                    await _end_children(children)
            outcomes.report()

        made: Any = through_all_later
    else:

        @functools.wraps(test)
        def through_all(*instance: Any, **fixtures: Any) -> None:
            rows = chosen(fixtures)
            outcomes = _Outcomes(len(rows))
            for number, row in enumerate(rows):
                with outcomes.of(row), ExitStack() as stack:
                    own = _own(fixtures, on_no_graph, number, stack)
                    test(*instance, **own, **row.values)
            outcomes.report()

        made = through_all
    if any(row.group for row in table):
        left.append(inspect.Parameter(_GROUP, inspect.Parameter.KEYWORD_ONLY))
    made.__signature__ = signature.replace(parameters=left)
    wrapper: Callable[..., Any] = made
    return wrapper


# Fixtures of which each row gets its own, or finds it as if it were.
_OWN: dict[str, Callable[[Any, int, _Stack], Any]] = {}


def _makes_own(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(make: Callable[[Any, int, _Stack], Any]) -> Callable[..., Any]:
        _OWN[name] = make
        return make

    return note


@_makes_own("tmp_path")
def _own_folder(folder: Path, number: int, stack: _Stack) -> Path:
    made = folder / f"row{number}"
    made.mkdir()
    return made


@_makes_own("monkeypatch")
def _own_patches(monkeypatch: pytest.MonkeyPatch, number: int, stack: _Stack) -> Any:
    return stack.enter_context(monkeypatch.context())


@_makes_own("caplog")
@_makes_own("recwarn")
def _cleared(notes: Any, number: int, stack: _Stack) -> Any:
    notes.clear()
    return notes


@_makes_own("capsys")
def _emptied(output: pytest.CaptureFixture[str], number: int, stack: _Stack) -> Any:
    output.readouterr()
    return output


def _own(fixtures: Mapping[str, Any], on_no_graph: Set[str], number: int, stack: _Stack) -> dict[str, Any]:
    """The fixtures as one row sees them."""
    own = {k: _OWN[k](v, number, stack) if k in _OWN else v for k, v in fixtures.items()}
    movable = {k for k, v in own.items() if isinstance(v, OnGraph)}
    given = own.get("graph")
    before = given if isinstance(given, Graph) else get_default_graph()
    filled = bool(before.get_operations())
    if fixtures.keys() <= on_no_graph | movable and not filled:
        graph = Graph()
        if given is None or given is get_default_graph():
            stack.enter_context(graph.as_default())
        if type(given) is Graph:
            own["graph"] = graph
        for name in movable:
            own[name] = own[name].on_graph(graph)
            assert isinstance(stack, AsyncExitStack), "what has to be closed on a loop is of async tests"
            stack.push_async_callback(own[name].close)
    return own


class _Outcomes:
    """What became of the rows of one table."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._failed: list[tuple[str, BaseException]] = []
        self._skipped: list[str] = []

    def of(self, row: _Row) -> AbstractContextManager[None]:
        return _Outcome(row.name, self._failed, self._skipped)

    def report(self) -> None:
        if self._failed:
            names = [name for name, _ in self._failed]
            shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if names[_NAMES_SHOWN:] else "")
            raise BaseExceptionGroup(
                f"{len(names)} of {self._count} rows failed: {shown}", [exc for _, exc in self._failed]
            )
        if self._skipped:
            reasons = "; ".join(sorted(set(self._skipped)))
            pytest.skip(f"{len(self._skipped)} of {self._count} rows skipped: {reasons}")


class _Outcome:
    """Notes what one row raised, and lets pass what must end the test: interrupts and its timeout."""

    def __init__(self, name: str, failed: list[tuple[str, BaseException]], skipped: list[str]) -> None:
        self._name = name
        self._failed = failed
        self._skipped = skipped

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, exc: BaseException | None, _: object) -> bool:
        if isinstance(exc, pytest.skip.Exception):
            self._skipped.append(str(exc))
            return True
        if not isinstance(exc, (Exception, pytest.fail.Exception)):
            return False
        exc.add_note(f"in the row {self._name}")
        if "pytest-timeout" in str(exc):
            return False
        self._failed.append((self._name, exc))
        return True


async def _end_children(before: set[asyncio.Task[Any]]) -> None:
    """Fail when children that a row started outlive it."""
    for _ in range(_TURNS_TO_END):
        if not asyncio.all_tasks() - before:
            return
        await asyncio.sleep(0)
    if left := asyncio.all_tasks() - before:
        pytest.fail(f"the row left {sorted(map(repr, left))} on the loop", pytrace=False)


# -- names of rows ---------------------------------------------------------------------------------


def _row(arguments: list[str], given: Any, index: int, ids: Namer, by: Callable[..., str] | None) -> _Row:
    name: object = None
    if _is_param(given):
        if given.marks:
            raise ValueError(f"a row has no marks of its own: {given}")
        values, name = given.values, given.id
    else:
        values = (given,) if len(arguments) == 1 else tuple(given)
    if ids is not None and not callable(ids):
        name = ids[index] if name is None else name
    if name is None:
        namer = ids if callable(ids) else None
        name = "-".join(_names(values, namer))
    group = "" if by is None else by(*values)
    return _Row(str(name), dict(zip(arguments, values, strict=True)), group)


def _is_param(given: Any) -> bool:
    return type(given) is type(pytest.param(None))


def _names(values: Iterable[Any], namer: Callable[[Any], object] | None) -> Iterator[str]:
    for value in values:
        name = namer(value) if namer is not None else None
        yield _usual_name(value) if name is None else str(name)


def _usual_name(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else reprlib.repr(value)
