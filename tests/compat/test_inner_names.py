"""The contract of imports: ``compat`` uses what the library promises, or names of a shrinking list."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import actorsession
from actorsession import extend
from actorsession.lazy_names import read_table

COMPAT = Path(actorsession.__file__).parent / "compat"
LIST = Path(__file__).with_name("inner_names.txt")


def files() -> list[Path]:
    return sorted(COMPAT.rglob("*.py"))


def below(module: str | None) -> bool:
    return (module or "").split(".")[:2] != ["actorsession", "compat"] and (
        (module or "").split(".")[0] in {"actorsession", "transports"}
    )


def resolved(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    if not hasattr(found, name):
        return importlib.import_module(f"{module}.{name}")
    return getattr(found, name)


def table_of(node: ast.stmt) -> dict[str, str]:
    match node:
        case ast.Assign(targets=[ast.Name(id="_NAMES")], value=ast.Dict(keys=keys, values=values)):
            return {
                str(key.value): str(value.value)
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
            }
    return {}


def uses(path: Path) -> Iterator[tuple[str, str]]:
    """The names that a file takes from modules of the library; those of modules that it imports, too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname: each.name for each in node.names if each.asname and below(each.name)}
        if isinstance(node, ast.ImportFrom) and below(node.module):
            assert node.module is not None
            for each in node.names:
                if each.name == "*":
                    continue  # all that the module promises itself
                if isinstance(resolved(node.module, each.name), ModuleType):
                    modules[each.asname or each.name] = f"{node.module}.{each.name}"
                else:
                    yield node.module, each.name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules:
                yield modules[name], attr
    for node in tree.body:
        for _, location in read_table("", table_of(node)):
            if below(location.module) and location.attribute:
                yield location.module, location.attribute


def promised() -> tuple[set[int], set[tuple[str, str]]]:
    """What extensions and programs import: objects by identity, and locations for plain values."""
    objects: set[int] = set()
    locations: set[tuple[str, str]] = set()
    todo, seen = [extend, actorsession], set[int]()
    while todo:
        face: Any = todo.pop()
        for name in face.__all__:
            found = getattr(face, name)
            if isinstance(found, ModuleType):
                if id(found) not in seen and hasattr(found, "__all__"):
                    seen.add(id(found))
                    todo.append(found)
            elif callable(found):
                objects.add(id(found))
            locations.add((face.__name__, name))
        table = getattr(face, "_NAMES", {})
        locations |= {(each.module, each.attribute) for _, each in read_table(face.__name__, table)}
    return objects, locations


def inner_names() -> dict[str, set[str]]:
    """The names that ``compat`` uses and nobody promises, by module."""
    objects, locations = promised()
    found: dict[str, set[str]] = defaultdict(set)
    for path in files():
        for module, name in uses(path):
            value = resolved(module, name)
            if (module, name) not in locations and id(value) not in objects and name[:2] != "__":
                found[module].add(name)
    return dict(found)


def listed() -> dict[str, set[str]]:
    lines = (line.partition(": ") for line in LIST.read_text(encoding="utf-8").splitlines())
    return {module: set(names.split()) for module, _, names in lines}


def test_compat_uses_promised_names_and_those_of_a_list_that_has_no_others() -> None:
    """Whoever removes a use takes the name out of the list; a new use asks for a promise in ``extend``."""
    found, known = inner_names(), listed()
    new = {m: names for m in found if (names := found[m] - known.get(m, set()))}
    gone = {m: names for m in known if (names := known[m] - found.get(m, set()))}
    assert (new, gone) == ({}, {})


if __name__ == "__main__":  # writes the list
    LIST.write_text("".join(f"{m}: {' '.join(sorted(names))}\n" for m, names in sorted(inner_names().items())))
