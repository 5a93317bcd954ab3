"""Which names of TensorFlow a program uses, from its text alone: ``check-tf1`` shows them.

Imports say under which names a file has TensorFlow and its modules. An attribute of one of them is a name
that is used, as deep as modules and classes go: ``tf.train.Saver`` in ``tf.train.Saver().save``. Names that
a program assigns to modules, such as ``slim = tf.contrib.slim``, count as imports.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from actorsession.compat.alias import find_name

__all__ = ["Findings", "Use", "find_names", "program_files"]

# Each is TensorFlow; the path below it is what follows.
_ROOTS = ("actorsession.compat.v1", "tensorflow.compat.v1", "tensorflow")
_SKIPPED = {"__pycache__", "node_modules", "site-packages"}


class Use(NamedTuple):
    """A place where a name is used.

    Attributes:
        file: the file.
        line: the line, from 1.
    """

    file: str
    line: int


class Findings:
    """The names of TensorFlow that files use.

    Attributes:
        uses: the places of each name, without ``tf`` in front.
        missing: why a name is not here, or what may have been meant.
        unreadable: files that are no programs of Python 3, and why.
    """

    def __init__(self) -> None:
        self.uses: dict[str, list[Use]] = {}
        self.missing: dict[str, str] = {}
        self.unreadable: dict[str, str] = {}
        self._own: set[str] = set()

    def own(self, name: str) -> None:
        """Add a name that a program gives a value, so that it need not be here."""
        self._own.add(name)

    def without_own(self) -> Findings:
        """Return the findings without the names that programs give values themselves."""
        for name in self._own & set(self.missing):
            del self.uses[name], self.missing[name]
        return self

    def add(self, name: str, use: Use) -> None:
        """Add a place where a name is used.

        Args:
            name: as it is written, which may go on with attributes of values: ``float32.name``.
            use: where.
        """
        name, problem = _looked_up(name)
        if name:
            self.uses.setdefault(name, []).append(use)
            if problem:
                self.missing[name] = problem


def _looked_up(name: str) -> tuple[str, str]:
    """As much of a name as is TensorFlow's, and why it is missing, or ""."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        try:
            value = find_name(path)
        except LookupError as exc:
            return path, str(exc.args[0])
        except ImportError as exc:  # of an extra
            return path, str(exc)
        if not isinstance(value, (ModuleType, type)):
            return path, ""
    return name, ""


def program_files(path: Path) -> Iterator[Path]:
    """Yield the Python files of a folder and those below it, or the file itself.

    Raises:
        FileNotFoundError: if there is neither.
    """
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise FileNotFoundError(2, os.strerror(2), str(path))
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        yield from (Path(folder, file) for file in sorted(files) if file.endswith(".py"))


def find_names(files: Iterable[Path]) -> Findings:
    """Return the names of TensorFlow that programs use.

    Args:
        files: the programs.

    Raises:
        OSError: for a file that cannot be read.
    """
    findings = Findings()
    for file in files:
        try:
            tree = ast.parse(file.read_bytes(), str(file))
        except (SyntaxError, ValueError) as exc:
            line = getattr(exc, "lineno", None) or 1
            findings.unreadable[str(file)] = f"{file}:{line}: no program of Python 3: {exc.args[0]}"
            continue
        _File(str(file), findings).visit(tree)
    return findings.without_own()


class _File(ast.NodeVisitor):
    """Walks through one file.

    Args:
        file: its name.
        findings: where the names go.
    """

    def __init__(self, file: str, findings: Findings) -> None:
        self._file, self._findings = file, findings
        # What each name of the program stands for; parameters of functions hide those outside.
        self._names: list[dict[str, str | None]] = [{}]

    def _use(self, name: str, node: ast.AST) -> None:
        self._findings.add(name, Use(self._file, getattr(node, "lineno", 0)))

    def visit_Import(self, node: ast.Import) -> None:
        """Note what ``import`` binds."""
        for alias in node.names:
            path = _below(alias.name)
            if path is None:
                continue
            if path:
                self._use(path, node)
            whole = alias.asname is not None or "." not in alias.name
            self._names[-1][alias.asname or alias.name.partition(".")[0]] = path if whole else ""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note what ``from ... import`` binds."""
        path = None if node.level or node.module is None else _below(node.module)
        if path is None:
            # Two ways to import a root itself.
            roots = [root for root in _ROOTS if root.rpartition(".")[0] == node.module]
            for alias in node.names:
                if any(root.rpartition(".")[2] == alias.name for root in roots):
                    self._names[-1][alias.asname or alias.name] = ""
            return
        for alias in node.names:
            if alias.name == "*":
                if path:
                    self._use(path, node)
                continue
            full = _normal(f"{path}.{alias.name}".lstrip("."))
            if full:
                self._use(full, node)
            self._names[-1][alias.asname or alias.name] = full

    def visit_Assign(self, node: ast.Assign) -> None:
        """Note names for modules, such as ``slim = tf.contrib.slim``."""
        self.visit(node.value)
        path = self._path(node.value)
        for target in node.targets:
            self.visit(target)
            if isinstance(target, ast.Name):
                self._bind(target.id, path if path is not None and _is_module(path) else None)

    def _bind(self, name: str, path: str | None) -> None:
        if path is not None or any(name in names for names in self._names):
            self._names[-1][name] = path

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a dotted name."""
        path = self._path(node)
        if path is None:
            self.generic_visit(node)
        elif path and isinstance(node.ctx, ast.Store):
            self._findings.own(path)
        elif path:
            self._use(path, node)

    def _path(self, node: ast.AST) -> str | None:
        """What a dotted name stands for in TensorFlow; ``None`` if it is none of its."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        for names in reversed(self._names):
            if node.id in names:
                start = names[node.id]
                if start is None:
                    return None
                return _normal(".".join([*([start] if start else []), *reversed(parts)]))
        return None

    def _inner(self, node: Any, arguments: ast.arguments) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        # Defaults, annotations and decorators belong to what is around.
        self.visit(arguments)
        for around in [*getattr(node, "decorator_list", []), getattr(node, "returns", None)]:
            if around is not None:
                self.visit(around)
        self._names.append({argument.arg: None for argument in every})
        for inner in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(inner)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Walk through a function, whose parameters hide names around it."""
        self._inner(node, node.args)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Walk through a lambda, likewise."""
        self._inner(node, node.args)


def _below(module: str) -> str | None:
    """The path of a module below TensorFlow, "" for TensorFlow itself; ``None`` for other modules."""
    for root in _ROOTS:
        if module == root:
            return ""
        if module.startswith(f"{root}."):
            return module.removeprefix(f"{root}.")
    return None


def _normal(path: str) -> str:
    """A path without ``compat.v1`` in front, which stands for ``tf`` again."""
    return "" if path == "compat.v1" else path.removeprefix("compat.v1.")


def _is_module(path: str) -> bool:
    try:
        return isinstance(find_name(path), ModuleType)
    except (LookupError, ImportError):
        return False
