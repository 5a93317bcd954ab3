"""The catalogue of all errors that the code raises by hand, made from the code itself for the documentation site.

An error is a call of an exception class, or of a function that returns one, with a message. Each is listed with
the message, in which a name in braces stands for a value, the condition under which it is raised, and where. What
a class means and what to do about it are the sentences of its docstring. Nothing is imported: modules are read as
syntax trees, so that whatever raises an error is in the catalogue from its first commit on.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from actorsession.collector import pause_collector

__all__ = ["Raised", "catalogue_pages", "error_classes", "raised_errors", "raised_in"]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("actorsession", "transports")
# What a command is told of its own arguments, and what other programs than ours raise: no errors of the library.
_ELSEWHERE = ("actorsession/compat/shim/", "actorsession/demo/")
_BUILTIN = {
    name: value.__doc__ or ""
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning)
}
# How ``Raises`` sections name an error, at the beginning of a line.
_OF_DOCSTRING = re.compile(r"^ {4,8}(\w+): (.*(?:\n {8,}\S.*)*)", re.MULTILINE)


# What leads to a part of a function: a node, and how it is written.
_Condition: TypeAlias = "tuple[ast.AST | None, str]"


class Raised(NamedTuple):
    """One error that is raised by hand.

    Attributes:
        kind: the name of its class.
        message: its text; a name in braces stands for a value, "" if it is made elsewhere.
        when: the condition, in words of a docstring or as code; "" where the function is called for nothing else.
        file: the module, relative to the repository.
        function: the function or method that makes it.
        line: its line.
    """

    kind: str
    message: str
    when: str
    file: str
    function: str
    line: int


def sources() -> list[Path]:
    """Return the modules whose errors are listed."""
    files = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return [path for path in files if not path.relative_to(ROOT).as_posix().startswith(_ELSEWHERE)]


def error_classes(trees: Iterable[ast.Module]) -> dict[str, str]:
    """Return the docstrings of all exception classes, Python's own included, by name."""
    docstrings = dict(_BUILTIN)
    classes = [node for tree in trees for node in _statements(tree) if isinstance(node, ast.ClassDef)]
    size = -1
    while size != len(docstrings):  # a class may stand before its base
        size = len(docstrings)
        for node in classes:
            if any(_name(base) in docstrings for base in node.bases) and not node.name.endswith("Warning"):
                docstrings.setdefault(node.name, ast.get_docstring(node) or "")
    return docstrings


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a node, and not what they are made of, which would take seconds."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for statement in getattr(node, name, ()):
            yield statement
            yield from _statements(statement)


@cache
def _read() -> tuple[dict[str, str], list[Raised]]:
    """Return the docstrings of all exception classes, and all errors; the modules are not kept."""
    with pause_collector():  # which looks through millions of nodes for two thirds of the time
        trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in sources()}
        kinds = error_classes(trees.values())
        errors = [raised for file, tree in trees.items() for raised in raised_in(tree, file, kinds)]
        trees.clear()
    return kinds, sorted(errors, key=lambda raised: (raised.kind, raised.file, raised.line))


def raised_errors() -> list[Raised]:
    """Return all errors that the packages raise by hand, by class, module and line."""
    return _read()[1]


def raised_in(tree: ast.Module, file: str, kinds: Iterable[str]) -> list[Raised]:
    """Return the errors of one module.

    Args:
        tree: the module.
        file: its name, for the entries.
        kinds: the names of exception classes.
    """
    known = frozenset(kinds)
    errors: list[Raised] = []

    def visit(node: ast.AST, scopes: list[ast.AST], conditions: list[_Condition], texts: dict[str, str]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scopes, conditions = [*scopes, node], []
            texts = texts | _texts_of(node.body)
        elif isinstance(node, ast.Call) and _name(node.func) in known and _is_made(node):
            kind = _name(node.func)
            said = _text(node.args[0], texts) if node.args else ""
            when = _documented(kind, scopes) or _condition(conditions)
            where = ".".join(getattr(scope, "name", "") for scope in scopes) or "the module"
            errors.append(Raised(kind, said, when, file, where, node.lineno))
        for under, child in _children(node):
            if not isinstance(child, _LEAVES):
                visit(child, scopes, [*conditions, under] if under else conditions, texts)

    visit(tree, [], [], _texts_of(tree.body))
    return errors


# Most nodes of a tree; no error is made in them.
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.arg, ast.alias)


def _is_made(call: ast.Call) -> bool:
    """Return whether a call makes an error, and is no check such as ``type(error)``."""
    return bool(call.args) or not call.keywords


def _children(node: ast.AST) -> Iterator[tuple[_Condition | None, ast.AST]]:
    """Yield the parts of a node, each with the condition under which it is reached, if there is one."""
    if isinstance(node, (ast.If, ast.IfExp)):
        yield None, node.test
        yield from (((node.test, "{}"), part) for part in _parts(node.body))
        yield from (((node.test, "not ({})"), part) for part in _parts(node.orelse))
    elif isinstance(node, ast.ExceptHandler):
        yield from (((node.type, "except {}"), part) for part in node.body)
    elif isinstance(node, ast.match_case):
        yield from (((node.pattern, "case {}"), part) for part in node.body)
    else:
        yield from ((None, child) for child in ast.iter_child_nodes(node))


def _parts(body: list[ast.stmt] | ast.expr) -> list[ast.stmt] | list[ast.expr]:
    return body if isinstance(body, list) else [body]


def _condition(conditions: list[_Condition]) -> str:
    """Return the innermost condition as code, in one line."""
    if not conditions:
        return ""
    node, form = conditions[-1]
    return f"`{form.format('any error' if node is None else ast.unparse(node))}`"


def _documented(kind: str, scopes: list[ast.AST]) -> str:
    """Return what the docstrings of the innermost function or class around say of a class of errors."""
    for scope in reversed(scopes):
        text = ast.get_docstring(scope, clean=True) if isinstance(scope, _DOCUMENTED) else None
        _, _, raises = (text or "").partition("Raises:\n")
        for name, words in _OF_DOCSTRING.findall(raises):
            if name == kind:
                return " ".join(words.split()).rstrip(".")
    return ""


_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _texts_of(body: list[ast.stmt]) -> dict[str, str]:
    """Return the names that are assigned a text in a block, with the text."""
    texts: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            said = _text(node.value, texts)
            if said:
                texts[node.targets[0].id] = said
    return texts


def _text(node: ast.expr, texts: dict[str, str]) -> str:
    """Return a message as it is written: values in braces; "" if nothing of it is known here."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part, texts) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, texts) + _text(node.right, texts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _text(node.left, texts)
    if isinstance(node, ast.IfExp):
        return " / ".join(filter(None, [_text(node.body, texts), _text(node.orelse, texts)]))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _text(node.func.value, texts)
    return texts.get(node.id, "") if isinstance(node, ast.Name) else ""


def _part(part: ast.expr, texts: dict[str, str]) -> str:
    if not isinstance(part, ast.FormattedValue):
        return _text(part, texts)
    if isinstance(part.value, ast.Name) and part.value.id in texts:
        return texts[part.value.id]
    return f"{{{ast.unparse(part.value)}}}"


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# -- pages -----------------------------------------------------------------------------------------


def catalogue_pages() -> dict[str, str]:
    """Return the pages of the catalogue in Markdown by file name: an index, and one for each class."""
    docstrings, errors = _read()
    by_kind: defaultdict[str, list[Raised]] = defaultdict(list)
    for raised in errors:
        if raised.message:
            by_kind[raised.kind].append(raised)
    public = {kind: listed for kind, listed in by_kind.items() if not kind.startswith("_")}
    rows = [
        f"| [{kind}]({kind}.md) | {len(listed)} | {_first_line(docstrings[kind])} |" for kind, listed in public.items()
    ]
    total = sum(map(len, public.values()))
    index = [
        "# Catalogue of errors",
        "",
        f"All {total} errors that the library raises by hand, by class; the page of a class has the message of each, "
        "when it is raised, and where. A name in braces stands for a value. "
        "[The most frequent ones](../../docs/errors.md) are explained at length.",
        "",
        "| class | errors | what it means |",
        "|---|---|---|",
        *rows,
        "",
        "```{toctree}",
        ":hidden:",
        ":maxdepth: 1",
        "",
        *public,
        "```",
        "",
    ]
    pages = {f"{kind}.md": _page(kind, docstrings[kind], listed) for kind, listed in public.items()}
    return {"index.md": "\n".join(index), **pages}


def _first_line(docstring: str) -> str:
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|").replace("``", "`")


def _page(kind: str, docstring: str, listed: list[Raised]) -> str:
    about = docstring.partition("\n\nArgs:")[0].partition("\n\nAttributes:")[0].replace("``", "`")
    if kind in _BUILTIN:
        about += "\n\nA class of Python. What to do: change the call; the message says what would be valid."
    lines = [f"# Errors of class {kind}", "", about, ""]
    by_file: defaultdict[str, list[Raised]] = defaultdict(list)
    for raised in listed:
        by_file[raised.file].append(raised)
    for file, errors in by_file.items():
        lines += [f"**{file}**", ""]
        lines += [f"- {_code(raised.message)}{_circumstances(raised)}" for raised in errors]
        lines.append("")
    return "\n".join(lines)


def _circumstances(raised: Raised) -> str:
    """Return when and where an error is raised, to follow its message."""
    when = f" {_tidy(raised.when)}" if re.match(r"if |for |when |while |unless |as ", raised.when) else ""
    if raised.when and not when:
        when = f" where {_code(raised.when[1:-1])}" if raised.when[0] == "`" else f": {_tidy(raised.when)}"
    return f" in `{raised.function}`{when}."


def _tidy(text: str) -> str:
    """Return words of a docstring as Markdown."""
    return text.replace("``", "`")


def _code(text: str) -> str:
    """Return a text as code in one line of Markdown."""
    shown = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if "`" in shown[:1] + shown[-1:] else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
