# Written by scripts/generated.py.
"""Control flow: branches, loops, functions of Python and of graphs, and functions over elements."""

from actorsession.ops.flow.cases import case as case, switch_case as switch_case
from actorsession.ops.flow.control import group as group, no_op as no_op, tuple_ as tuple
from actorsession.ops.flow.control_flow import cond as cond, while_loop as while_loop
from actorsession.ops.flow.functions import Defun as Defun
from actorsession.ops.flow.mapping import (
foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
)
from actorsession.ops.flow.script import (
async_py_func as async_py_func, numpy_function as numpy_function, py_func as py_func
)


__all__ = [
"Defun", "async_py_func", "case", "cond", "foldl", "foldr", "group", "map_fn", "no_op",
"numpy_function", "py_func", "scan", "switch_case", "tuple", "while_loop"
]
