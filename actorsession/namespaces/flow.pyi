# Written by scripts/generated.py.
"""Control flow: branches, loops, functions of Python and of graphs, and functions over elements."""

from actorsession.ops.flow.cases import case as case
from actorsession.ops.flow.cases import switch_case as switch_case
from actorsession.ops.flow.control import group as group
from actorsession.ops.flow.control import no_op as no_op
from actorsession.ops.flow.control import tuple_ as tuple
from actorsession.ops.flow.control_flow import cond as cond
from actorsession.ops.flow.control_flow import while_loop as while_loop
from actorsession.ops.flow.functions import Defun as Defun
from actorsession.ops.flow.mapping import foldl as foldl
from actorsession.ops.flow.mapping import foldr as foldr
from actorsession.ops.flow.mapping import map_fn as map_fn
from actorsession.ops.flow.mapping import scan as scan
from actorsession.ops.flow.script import async_py_func as async_py_func
from actorsession.ops.flow.script import numpy_function as numpy_function
from actorsession.ops.flow.script import py_func as py_func

__all__ = [
"Defun", "async_py_func", "case", "cond", "foldl", "foldr", "group", "map_fn", "no_op",
"numpy_function", "py_func", "scan", "switch_case", "tuple", "while_loop"
]
