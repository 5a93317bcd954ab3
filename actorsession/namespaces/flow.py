"""Control flow: branches, loops, functions of Python and of graphs, and functions over elements."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.flow.cases": "case switch_case",
    "actorsession.ops.flow.control": "group no_op tuple_=tuple",
    "actorsession.ops.flow.control_flow": "cond while_loop",
    "actorsession.ops.flow.functions": "Defun",
    "actorsession.ops.flow.mapping": "foldl foldr map_fn scan",
    "actorsession.ops.flow.script": "async_py_func numpy_function py_func",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
