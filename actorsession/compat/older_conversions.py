"""Conversions of arrays of one element to numbers, which numpy has refused since version 2.4; former methods.

``int(x)``, ``float(x)``, functions of ``math`` and ``"%d" % x`` ask the array itself, and an array's type
cannot be given the old answer, nor a method that numpy has removed, such as ``x.tostring()``. ``run-tf1``
therefore changes these calls while it compiles the program's own modules, those in neither Python's library
nor ``site-packages``. Lines and columns stay as they are, and no compiled file is kept.
"""

from __future__ import annotations

import ast
import re
import sysconfig
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np

__all__ = ["FindsProgram", "LoadsProgram", "are_needed", "called", "formatted", "with_numbers"]

# What stands in a format for each argument: its name if it has one, its width, its precision, its kind.
_CONVERSION = re.compile(r"%(?:\((.*?)\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.)")
_OF_NUMBERS = frozenset("diouxXeEfFgG*")


def _itemset(array: Any, *args: Any) -> None:
    *place, value = args
    if not place:
        array[...] = value
    elif len(place) == 1 and not isinstance(place[0], tuple):
        array.flat[place[0]] = value
    else:
        array[place[0] if isinstance(place[0], tuple) else tuple(place)] = value


# Methods that arrays had before numpy 2, and ``tostring`` before 2.3, and elements of XML before Python 3.9.
_METHODS: dict[str, Callable[..., Any]] = {
    "getchildren": list,
    "getiterator": lambda element, tag=None: list(element.iter(tag)),
    "itemset": _itemset,
    "newbyteorder": lambda array, order="S": array.view(array.dtype.newbyteorder(order)),
    "ptp": np.ptp,
    "tostring": lambda array, order="C": array.tobytes(order),
}
_OTHERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def are_needed() -> bool:
    """Return whether this numpy refuses them, or arrays have lost methods."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            float(np.zeros(1))
        except TypeError:
            return True
    return not hasattr(np.ndarray, "tostring")


def with_numbers(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with the numbers in arrays of one element for these arrays."""
    return function(*map(_number, arguments))


def called(value: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """Call a method, of an array or an element of a tree also one that has been removed."""
    former = isinstance(value, (np.ndarray, np.generic)) or type(value).__name__ == "Element"
    if former and not hasattr(value, name):
        return _METHODS[name](value, *arguments, **named)
    return getattr(value, name)(*arguments, **named)


def formatted(form: str, values: Any) -> Any:
    """Return ``form % given`` with the numbers in arrays of one element where the form asks for numbers."""
    try:
        return form % values
    except TypeError:
        if isinstance(values, dict):
            asked = {name for name, _, _, kind in _CONVERSION.findall(form) if kind in _OF_NUMBERS}
            return form % {key: _number(each) if key in asked else each for key, each in values.items()}
        several = values if isinstance(values, tuple) else (values,)
        kinds = [
            kind
            for _, width, precision, last in _CONVERSION.findall(form)
            for kind in (*(each for each in (width, precision) if each == "*"), last)
            if kind != "%"
        ]
        if len(kinds) != len(several):
            raise
        return form % tuple(
            _number(each) if kind in _OF_NUMBERS else each for kind, each in zip(kinds, several, strict=True)
        )


def _number(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim and value.size == 1:
        return value.reshape(())[()]
    return value


class _Conversions(ast.NodeTransformer):
    """Hands conversions of a module to the functions above."""

    changed = False

    def _call(self, name: str, node: ast.expr, arguments: list[ast.expr]) -> ast.Call:
        self.changed = True
        called = ast.Name(f"_actorsession_{name}", ast.Load())
        return ast.copy_location(ast.Call(called, arguments, []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Change ``int(x)``, ``float(x)``, ``math.sqrt(x)`` and ``x.tostring()``."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _METHODS:
                changed = self._call("called", node, [value, ast.Constant(name), *node.args])
                changed.keywords = node.keywords
                return changed
            case ast.Call(
                func=ast.Name(id="int" | "float") | ast.Attribute(value=ast.Name(id="math")), args=[_, *_], keywords=[]
            ):
                return self._call("with_numbers", node, [node.func, *node.args])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Change ``"%d" % x``."""
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
                return self._call("formatted", node, [node.left, node.right])
        return node


def _imports(tree: ast.Module) -> None:
    """Import the functions above behind the module's docstring and what has to be first."""
    place = 0
    for place, statement in enumerate(tree.body):  # noqa: B007 - the place is what is looked for
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
                continue
        break
    names = [ast.alias(name, f"_actorsession_{name}") for name in ("called", "formatted", "with_numbers")]
    tree.body.insert(place, ast.ImportFrom(__name__, names, 0))


class LoadsProgram(SourceFileLoader):
    """Loads a module of the program."""

    def source_to_code(  # type: ignore[override]  # the stub has a static method
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        """Compile a module with its conversions changed."""
        tree = ast.parse(data, path)
        conversions = _Conversions()
        tree = conversions.visit(tree)
        if conversions.changed:
            _imports(tree)
        return compile(ast.fix_missing_locations(tree), path, "exec", optimize=_optimize)

    def path_stats(self, path: str) -> Any:
        """Say that there is nothing to compare a compiled file with, so that none is read or kept."""
        raise OSError


class FindsProgram(MetaPathFinder):
    """Finds the program's own modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load such a module; ``None`` for all others."""
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or type(spec.loader) is not SourceFileLoader or spec.origin is None:
            return None
        if spec.origin.startswith(_OTHERS) or fullname.partition(".")[0] in ("actorsession", "transports"):
            return None
        spec.loader = LoadsProgram(fullname, spec.origin)
        return spec
