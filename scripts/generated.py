"""Files that are made from others: stubs of the packages with lazy names, and where operation types are.

.venv/bin/python -m scripts.generated          writes them
.venv/bin/python -m scripts.generated --check  exits with 1 if one is not current, and names it
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.lazy_names import read_table

ROOT = Path(__file__).resolve().parent.parent
LAZY_PACKAGES = ("actorsession", "actorsession.cluster", "actorsession.ops", "actorsession.session")
_WIDTH = 100


def table_of(package: str) -> Mapping[str, str]:
    """The table of names that a package with lazy names has."""
    found: Mapping[str, str] = importlib.import_module(package)._NAMES
    return found


def stub_of(package: str) -> str:
    """The stub of a package with lazy names: its imports, as type checkers read them."""
    module = importlib.import_module(package)
    lines = [f'"""{module.__doc__}"""', ""]
    for ours, (where, theirs) in sorted(read_table(package, table_of(package)), key=lambda p: p[1]):
        if theirs:
            lines.append(f"from {where} import {theirs} as {ours}")
        else:
            above, _, name = where.rpartition(".")
            lines.append(f"from {above} import {name} as {ours}")
    if package == "actorsession":
        lines += ["from actorsession.ops import *", "", "__version__: str"]
    names = textwrap.fill(", ".join(f'"{name}"' for name in module.__all__), _WIDTH)
    lines += ["", "__all__ = [", names, "]"]
    return "\n".join(["# Written by scripts/generated.py.", *lines, ""])


def op_modules() -> str:
    """A module with the name of the file that registers each operation type.

    To be called in a process that has imported no such file yet.
    """
    from actorsession import ops
    from actorsession.graph import extension, registry

    by_module = defaultdict(list)
    register = registry.register

    def noting(made: registry.OpDef) -> registry.OpDef:
        by_module[_importing()].append(made.name)
        return register(made)

    by_point: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    fill = extension.ExtensionPoint.fill

    def noting_fill(point: extension.ExtensionPoint[Any], key: str, value: object) -> None:
        by_point[point.name][_importing()].append(key)
        fill(point, key, value)

    registry.register = noting
    extension.ExtensionPoint.fill = noting_fill  # type: ignore[method-assign]
    for found in pkgutil.walk_packages(ops.__path__, "actorsession.ops."):
        importlib.import_module(found.name)
    lines = [
        '"""Which file registers each operation type."""',
        "",
        "from __future__ import annotations",
        "",
        '__all__ = ["EXTENSION_MODULES", "OP_MODULES"]',
        "",
        "_TYPES = {",
    ]
    for module, names in sorted(by_module.items()):
        lines += _entry(module.removeprefix("actorsession.ops."), sorted(names))
    lines += [
        "}",
        "OP_MODULES = {",
        '    name: f"actorsession.ops.{module}"',
        "    for module, names in _TYPES.items()",
        "    for name in names.split()",
        "}",
        '"""Full name of the module by operation type."""',
        "",
        "EXTENSION_MODULES: dict[str, dict[str, str]] = {",
    ]
    for point, modules in sorted(by_point.items()):
        keys = {key: module for module, keys in modules.items() for key in keys}
        ours = {k: m for k, m in sorted(keys.items()) if m.startswith("actorsession.ops.")}
        lines += [
            f'    "{point}": {{',
            *(f'        "{k}": "{m}",' for k, m in ours.items()),
            "    },",
        ]
    lines += ["}", '"""Full name of the module by extension point and key."""']
    return "\n".join(["# Written by scripts/generated.py.", *lines, ""])


def _importing() -> str:
    """The module that is being imported by the innermost import under way."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def _entry(key: str, names: Sequence[str]) -> list[str]:
    """The lines of one entry of a table of names."""
    body = " ".join(names)
    line = f'    "{key}": "{body}",'
    if len(line) <= _WIDTH:
        return [line]
    parts = textwrap.wrap(body, _WIDTH - 12)
    ended = [f'        "{part} "' for part in parts[:-1]] + [f'        "{parts[-1]}"']
    return [f'    "{key}": (', *ended, "    ),"]


def main() -> int:
    """Writes the files, or says which are not current."""
    parser = argparse.ArgumentParser(description="Files that are made from others.")
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    check = parser.parse_args().check
    made = {ROOT / "actorsession/ops/op_modules.py": op_modules()}
    for package in LAZY_PACKAGES:
        made[ROOT / package.replace(".", "/") / "__init__.pyi"] = stub_of(package)
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is not current: run python -m scripts.generated")
        else:
            path.write_text(made[path])
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
