"""The rows of the table of ops as programs: graphs that our side builds, and both sides import and run.

``tests/ops/table`` says how each operation type is built and on which arrays. ``export`` builds each case with
our library and writes it in TensorFlow's form, the arrays as what placeholders hold unless they are fed;
``programs`` reads what was written, on either side. So the inputs of an operation type stand in one place, and
values, static shapes, gradients and errors are compared with TensorFlow's for all of them.
"""

from __future__ import annotations

import base64
import json
import pkgutil
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .program import Plan, Program

__all__ = ["export", "names", "programs"]

_TABLE = "tests.ops.table"


def names(pattern: str) -> list[str]:
    """Return the names of cases: ``rows/OP-LABEL/NUMBER``, and with ``smooth-`` or ``fault-`` before the number."""
    return [name for name, *_ in _cases(pattern)]


def export(path: str, pattern: str) -> None:
    """Write the cases whose names match a pattern, one in each line."""
    with open(path, "w", encoding="utf-8") as out:
        for name, row, arrays, kind in _cases(pattern):
            out.write(json.dumps({"name": name, **_exported(row, arrays, kind)}) + "\n")


def programs(path: str) -> list[Program]:
    """Return the cases of a file that ``export`` wrote."""
    cases = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [Program(case["name"], partial(_build, case=case)) for case in cases]


def _cases(pattern: str) -> Iterator[tuple[str, Any, Any, str]]:
    """Yield name, row, arrays and kind of each case; without those that need what is not installed."""
    if not fnmatchcase("rows", pattern.partition("/")[0]):
        return  # the table takes seconds to be imported
    rows_of = import_module(f"{_TABLE}.row").rows_of
    for module in pkgutil.iter_modules(import_module(_TABLE).__path__, f"{_TABLE}."):
        for row in rows_of(import_module(module.name)) if ".of_" in module.name else ():
            faults = [fault.inputs for fault in row.faults]
            for kind, cases in (("", row.inputs), ("smooth-", row.smooth), ("fault-", faults)):
                for number, arrays in enumerate(cases):
                    name = f"rows/{row.name}/{kind}{number}".replace(" ", "-")
                    if fnmatchcase(name, pattern) and (not row.needs or find_spec(row.needs)):
                        yield name, row, arrays, kind


def _exported(row: Any, arrays: Any, kind: str) -> Mapping[str, Any]:
    acts, np = import_module("actorsession"), import_module("numpy")
    with acts.Graph().as_default() as graph:
        inputs = []
        for array in map(np.asarray, arrays):
            held = acts.constant(array, acts.as_dtype(array.dtype))
            # What is wrong shall reach the kernel.
            inputs.append(acts.placeholder_with_default(held, None if kind == "fault-" else array.shape))
        made = row.build(*inputs)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    floats = [index for index, tensor in enumerate(inputs) if tensor.dtype.is_floating]
    whole = import_module("actorsession.interop").graph_def_of(graph).SerializeToString()
    return {
        "graph": base64.b64encode(whole).decode(),
        "inputs": [tensor.name for tensor in inputs],
        "outputs": [tensor.name for tensor in outputs],
        "by": (floats if row.wrt is None else list(row.wrt)) if kind == "smooth-" else [],
    }


def _build(tf: Any, np: Any, case: Mapping[str, Any]) -> Plan:
    graph_def = tf.GraphDef.FromString(base64.b64decode(case["graph"]))
    found = tf.import_graph_def(graph_def, return_elements=case["inputs"] + case["outputs"], name="")
    inputs, outputs = found[: len(case["inputs"])], found[len(case["inputs"]) :]
    fetches = [each for each in outputs if each.dtype not in (tf.variant, tf.resource)]
    if case["by"]:
        by = [inputs[index] for index in case["by"]]
        slopes = tf.gradients([each for each in outputs if each.dtype.is_floating], by)
        fetches += [tf.convert_to_tensor(each) for each in slopes if each is not None]
    return Plan(fetches)
