"""Files that are made from others: stubs of packages with lazy names, where operation types are, raw ops.

.venv/bin/python -m scripts.generated          writes them
.venv/bin/python -m scripts.generated --check  exits with 1 if one is not current, and names it
"""

from __future__ import annotations

import argparse
import functools
import importlib
import keyword
import pkgutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.compat.v1.ops.arguments import ROWS
from actorsession.graph.dtypes import DType
from actorsession.graph.op_signatures import REQUIRED, Signature, opsets, signature_of, signature_row
from actorsession.graph.shape import TensorShape
from actorsession.lazy_names import read_table

ROOT = Path(__file__).resolve().parent.parent
LAZY_PACKAGES = (
    "actorsession",
    "actorsession.cluster",
    "actorsession.dashboard",
    "actorsession.compat",
    "actorsession.compat.v1",
    "actorsession.compat.v1.contrib",
    "actorsession.compat.v1.contrib.framework",
    "actorsession.compat.v1.contrib.layers",
    "actorsession.compat.v1.contrib.learn",
    "actorsession.compat.v1.contrib.seq2seq",
    "actorsession.compat.v1.contrib.slim",
    "actorsession.compat.v1.contrib.slim.nets",
    "actorsession.compat.v1.estimator",
    "actorsession.compat.v1.feature_column",
    "actorsession.compat.v1.io",
    "actorsession.compat.v1.layers",
    "actorsession.compat.v1.metrics",
    "actorsession.compat.v1.nn",
    "actorsession.compat.v1.summary",
    "actorsession.compat.v1.test",
    "actorsession.compat.v1.train",
    "actorsession.drawing",
    "actorsession.engines",
    "actorsession.extend",
    "actorsession.ops",
    "actorsession.opsets",
    "actorsession.session",
    "actorsession.testing",
    "actorsession.train",
    *sorted(
        f"actorsession.namespaces.{file.stem}"
        for file in ROOT.glob("actorsession/namespaces/*.py")
        if file.stem != "__init__"
    ),
)
_WIDTH = 100
_ROOMS = ("actorsession.ops.", "actorsession.opsets.")


def table_of(package: str) -> Mapping[str, str]:
    """The table of names that a package with lazy names has."""
    found: Mapping[str, str] = importlib.import_module(package)._NAMES
    return found


def stub_of(package: str) -> str:
    """The stub of a package with lazy names: its imports, as type checkers read them."""
    module = importlib.import_module(package)
    older = "older_names" in _source_of(package).read_text()
    untyped, imports = [], defaultdict(list)
    for ours, (where, theirs) in sorted(read_table(package, table_of(package)), key=lambda p: p[1]):
        if older and theirs in ROWS and ".compat." not in where:
            untyped.append(f"{ours}: Any")  # with the arguments of its row
            continue
        above, _, name = where.rpartition(".")
        imports[where if theirs else above].append(f"{theirs or name} as {ours}")
    if untyped:
        imports["typing"].append("Any")
    lines = [f'"""{module.__doc__}"""', ""]
    for where, names in sorted(imports.items()):
        line = f"from {where} import {', '.join(names)}"
        if len(line) > _WIDTH and len(names) > 1:
            line = f"from {where} import (\n{textwrap.fill(', '.join(names), _WIDTH)}\n)"
        lines.append(line)
    names = textwrap.fill(", ".join(f'"{name}"' for name in module.__all__), _WIDTH)
    lines += ["", *untyped, "", "__all__ = [", names, "]"]
    return "\n".join(["# Written by scripts/generated.py.", *lines, ""])


def _source_of(module: str) -> Path:
    """The file of a module or package."""
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def op_modules() -> str:
    """A module with the name of the file that registers each operation type.

    To be called in a process that has imported no such file yet.
    """
    from actorsession import ops, opsets
    from actorsession.graph import extension, registry

    registry._DEFERRED.clear()  # an operation type may have moved to another file
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
    names = [
        found.name for room in (ops, opsets) for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    ]
    for name in sorted(names, key=lambda name: ".older" in name):  # they look the others up
        importlib.import_module(name)
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
        lines += _entry(module.removeprefix("actorsession."), sorted(names))
    lines += [
        "}",
        "OP_MODULES = {",
        '    name: f"actorsession.{module}"',
        "    for module, names in _TYPES.items()",
        "    for name in names.split()",
        "}",
        '"""Full name of the module by operation type."""',
        "",
        "EXTENSION_MODULES: dict[str, dict[str, str]] = {",
    ]
    for point, modules in sorted(by_point.items()):
        keys = {key: module for module, keys in modules.items() for key in keys}
        ours = {k: m for k, m in sorted(keys.items()) if m.startswith(_ROOMS)}
        lines += [f'    "{point}": {{', *(f'        "{k}": "{m}",' for k, m in ours.items()), "    },"]
    lines += ["}", '"""Full name of the module by extension point and key."""']
    return "\n".join(["# Written by scripts/generated.py.", *lines, ""])


# Annotations of attributes by the names of their types in the table of signatures.
_KINDS = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "string": "str | bytes",
    "type": "DTypeLike",
    "shape": "ShapeLike",
    "tensor": "Value",
    "func": "Value",
}


_RAW_HEADER = '''\
# Written by scripts/generated.py.
"""A function for each operation type, under TensorFlow's names, that adds one node.

Each takes the inputs and attributes of the type's row in ``graph/op_signatures.txt``. Operands that are no
tensors are converted; attributes that follow from the inputs may be left out. A function of a type with
several outputs returns a named tuple, and one of a type without outputs the operation. Gradients and the
functions of this package are written with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorsession.graph.dtypes import (
    complex64,
    float32,
    int32,
    int64,
    qint32,
    quint8,
    string,
    uint8,
    uint64,
)
from actorsession.ops.apply import Operand, Operands, Value, many, node, one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorsession.graph.dtypes import DTypeLike
    from actorsession.graph.operation import Operation, Tensor
    from actorsession.graph.shape import ShapeLike
'''


def raw_ops() -> str:
    """A module with a function for each operation type, from the table of signatures."""
    functions = []
    names = sorted(name for types in opsets().values() for name in types if name[0] != "_")
    for name in names:
        signature = signature_of(name)
        assert signature is not None
        functions.append(_raw_function(name, signature))
    listed = textwrap.indent(textwrap.fill(", ".join(f'"{name}"' for name in names), _WIDTH - 4), "    ")
    return "\n".join([_RAW_HEADER, "__all__ = [", f"{listed},", "]", "", *functions])


def _raw_function(name: str, signature: Signature) -> str:
    row = signature_row(name).split(" ", 1)[1].split(" |")[0].strip()
    parameters = [
        f"{_safe(arg.name)}: {'Operands' if arg.number or arg.is_list else 'Operand'}" for arg in signature.inputs
    ]
    attrs = sorted(signature.stored.items(), key=lambda item: item[1] is not REQUIRED)
    keywords = ["*", *(_attribute(key, value, signature) for key, value in attrs)]
    given = "".join(f"{_safe(arg.name)}, " for arg in signature.inputs)
    passed = ", ".join(f'"{key}": {_safe(key)}' for key, _ in attrs)
    adding, returned = _result_of(signature)
    head = f"def {name}({', '.join([*parameters, *keywords, 'name: str | None = None'])})"
    call = f'{adding}("{name}", ({given.strip()}), {{{passed}}}, name)'
    return f'{head} -> {returned}:\n    """{row}"""\n    return {call}\n'


def _result_of(signature: Signature) -> tuple[str, str]:
    """The function of ``ops.apply`` that adds a node, and the annotation of what it returns."""
    single = [not (arg.number or arg.is_list) for arg in signature.outputs]
    if not single:
        return "node", "Operation"
    if len(single) == 1:
        return ("one", "Tensor") if single[0] else ("many", "list[Tensor]")
    return "many", f"tuple[{', '.join('Tensor' if one else 'list[Tensor]' for one in single)}]"


def _attribute(key: str, default: Any, signature: Signature) -> str:
    """The parameter of an attribute."""
    kind = signature.kinds[key]
    listed = kind.startswith("list(")
    annotation = _KINDS[kind[5:-1] if listed else kind]
    if listed:
        annotation = f"Sequence[{annotation}]"
    derived = {arg.type for arg in signature.inputs} | {arg.number for arg in signature.inputs}
    if default is REQUIRED and key in signature.attrs and key not in derived:
        return f"{_safe(key)}: {annotation}"
    if default is REQUIRED or default is None:
        return f"{_safe(key)}: {annotation} | None = None"
    if isinstance(default, DType):
        return f"{_safe(key)}: {annotation} = {default.name}"
    if isinstance(default, TensorShape):
        return f"{_safe(key)}: {annotation} = {default.sizes!r}"
    return f"{_safe(key)}: {annotation} = {default!r}"


def _safe(name: str) -> str:
    """A name of the table as a parameter; keywords of Python, and ``name`` itself, get an underscore."""
    return f"{name}_" if keyword.iskeyword(name) or name == "name" else name


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
    made = {ROOT / "actorsession/ops/raw.py": raw_ops}
    made[ROOT / "actorsession/ops/op_modules.py"] = op_modules
    for package in LAZY_PACKAGES:
        made[_source_of(package).with_suffix(".pyi")] = functools.partial(stub_of, package)
    stale = False
    for path, text in made.items():  # in this order: the others import the first
        current = text()
        if path.exists() and path.read_text() == current:
            continue
        stale = True
        if check:
            print(f"{path.relative_to(ROOT)} is not current: run python -m scripts.generated")
        else:
            path.write_text(current)
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
