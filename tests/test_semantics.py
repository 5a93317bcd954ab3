"""docs/semantics.md is true: its rows are whole, and the tests that it names exist and are run."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")

# The heads of the tables: what is shown by tests, and what is different on purpose.
SHOWN = ["behaviour", "shown by"]
DIFFERENT = ["here", "TensorFlow 2.21", "why"]

# What takes a test out of a run, wholly or on some machine.
SKIPS = {"skip", "skipif", "skipIf", "skipUnless", "xfail", "importorskip"}

Table = tuple[list[str], list[list[str]]]


# -- reading the page and the tests ----------------------------------------------------------------


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(page: str) -> list[Table]:
    """Each table of a page: its head, and its rows without the rule between them."""
    found: list[Table] = []
    for block in re.findall(r"(?:^\|.*\n?)+", page, flags=re.MULTILINE):
        head, _, *rows = [cells(line) for line in block.splitlines()]
        found.append((head, rows))
    return found


def references(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


def wrong_rows(page: str) -> list[list[str]]:
    """Rows that lack a cell, have one too many, or show something else than tests."""
    one = r"`tests/[\w/]+\.py::test_\w+`"
    return [
        row
        for head, rows in tables(page)
        for row in rows
        if len(row) != len(head)
        or not all(row)
        or (head == SHOWN and not re.fullmatch(rf"{one}(, {one})*", row[1]))
        or (head == SHOWN and len(set(references(row[1]))) < len(references(row[1])))
    ]


def named_tests(page: str) -> list[str]:
    """Every test that a page names, in its rows or elsewhere, each once and in order."""
    return list(dict.fromkeys(re.findall(r"`(tests/[^`]*::[^`]*)`", page)))


def said(node: ast.AST) -> set[str]:
    """All names and attributes in a piece of code."""
    inside = list(ast.walk(node))
    return {n.attr for n in inside if isinstance(n, ast.Attribute)} | {n.id for n in inside if isinstance(n, ast.Name)}


def functions_in(module: ast.Module) -> dict[str, bool]:
    """The tests of a module, functions and methods, and whether each is always run."""
    marks = [n for n in module.body if isinstance(n, ast.Assign) and "pytestmark" in said(n)]
    always = not any(SKIPS & said(n) for n in marks)
    found: dict[str, bool] = {}
    for node in module.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        around = node.decorator_list if isinstance(node, ast.ClassDef) else []
        for function in inside:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                skipped = any(SKIPS & said(n) for n in [*around, function])
                found[function.name] = always and not skipped
    return found


@cache
def functions_of(path: str) -> dict[str, bool]:
    file = ROOT / path
    return functions_in(ast.parse(file.read_text(encoding="utf-8"))) if file.is_file() else {}


# -- the page --------------------------------------------------------------------------------------


def test_every_table_is_of_one_of_the_two_kinds() -> None:
    heads = [head for head, _ in tables(PAGE)]
    assert [head for head in heads if head not in (SHOWN, DIFFERENT)] == []
    assert heads.count(DIFFERENT) == 1
    assert heads.count(SHOWN) >= 15


def test_every_row_has_all_its_cells_and_shows_tests_alone() -> None:
    assert wrong_rows(PAGE) == []


def test_rows_are_numbered_through_each_section() -> None:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        number, dot, _ = section.partition(".")
        if dot and number.isdigit():
            ((_, rows),) = tables(section)
            found = [row[0].split(" ", 1)[0] for row in rows]
            assert found == [f"{number}.{i}" for i in range(1, len(rows) + 1)]


@for_each("path", sorted({name.split("::")[0] for name in named_tests(PAGE)}))
def test_every_test_that_is_named_exists_and_is_always_run(path: str) -> None:
    named = [n.split("::")[1] for n in named_tests(PAGE) if n.startswith(f"{path}::")]
    assert named
    assert [name for name in named if name not in functions_of(path)] == [], "these do not exist"
    assert [name for name in named if not functions_of(path)[name]] == [], "these may be skipped"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)]+)\)", PAGE))))
def test_its_links_lead_somewhere(target: str) -> None:
    file, _, title = target.partition("#")
    text = (ROOT / "docs" / file).read_text(encoding="utf-8") if file else PAGE
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    assert not title or title in {t.lower().replace(" ", "-") for t in titles}


@pytest.mark.parametrize("name", ["keras"])
def test_what_is_said_to_be_missing_is_missing(name: str) -> None:
    assert f"`tf.{name}`" in PAGE.partition("## Not there yet")[2]
    assert not hasattr(tf, name)


# -- the checks themselves -------------------------------------------------------------------------

HEAD = "| behaviour | shown by |\n|---|---|\n"


@for_each(
    "row",
    [
        "| 1.1 It does. | |",
        "| | `tests/test_a.py::test_b` |",
        "| 1.1 It does. | tests/test_a.py::test_b |",
        "| 1.1 It does. | `tests/test_a.py` |",
        "| 1.1 It does. | `tests/test_a.py::helper` |",
        "| 1.1 It does. | `tests/test_a.py::test_b` and others |",
        "| 1.1 It does. | `tests/test_a.py::test_b`, `tests/test_a.py::test_b` |",
        "| 1.1 It does. | `tests/test_a.py::test_b` | more |",
        "| 1.1 It does. |",
    ],
)
def test_a_row_that_is_not_whole_is_noticed(row: str) -> None:
    good = "| 1.1 It does. | `tests/a/test_a.py::test_b`, `tests/test_a.py::test_c` |\n"
    assert wrong_rows(HEAD + good) == []
    assert len(wrong_rows(f"{HEAD}{good}{row}\n")) == 1


def test_a_difference_without_its_reason_is_noticed() -> None:
    head = "| here | TensorFlow 2.21 | why |\n|---|---|---|\n"
    assert wrong_rows(f"{head}| this | that | so |\n") == []
    assert wrong_rows(f"{head}| this | that | |\n") == [["this", "that", ""]]


def test_tests_that_may_be_skipped_are_noticed() -> None:
    code = """
def test_plain(): assert pytest.raises
@pytest.mark.parametrize("a", [1])
async def test_parametrised(a): pass
@pytest.mark.skipif(True, reason="")
def test_marked(): pass
def test_leaves(): pytest.skip("not today")
def test_needs(): pytest.importorskip("attrs")
class TestAll:
    def test_method(self): pass
    @pytest.mark.xfail
    def test_bad(self): pass
@pytest.mark.skip
class TestNone:
    def test_nothing(self): pass
"""
    found = functions_in(ast.parse(code))
    run = {name for name, always in found.items() if always}
    assert run == {"test_plain", "test_parametrised", "test_method"}
    assert set(found) - run == {"test_marked", "test_leaves", "test_needs", "test_bad", "test_nothing"}
    marked = functions_in(ast.parse(f"pytestmark = pytest.mark.skipif(True, reason='')\n{code}"))
    assert not any(marked.values())
