"""``tf.function``: a function whose operations run in the order in which it makes them.

Each call builds the operations again, in the graph of the caller, as the function is written: loops and
branches over tensors are those of ``tf.while_loop`` and ``tf.cond``. What operations do to variables, queues
and files happens in the order of the program, before the results are available.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.internals import nest
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.flow.control import with_dependencies

__all__ = ["TracedFunction", "defun", "function"]


class TracedFunction:
    """The result of ``tf.function``.

    Args:
        python_function: the function.
        input_signature: what its arguments are converted to: a ``TensorSpec`` for each.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Any = None) -> None:
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        functools.update_wrapper(self, python_function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self.__call__, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the operations of the function.

        Raises:
            ValueError: for arguments that do not fit the signature.
        """
        graph = get_default_graph()
        tensors, named = self._arguments(args), {k: _tensors(v) for k, v in kwargs.items()}
        before = len(graph.nodes)
        with graph.name_scope(getattr(self.python_function, "__name__", "function").strip("<_>")):
            returned = self.python_function(*tensors, **named)
            last = _in_order(graph.nodes.order[before:])
            if last is None:
                return returned
            return nest.map_structure(lambda leaf: _after(last, leaf), returned)

    def _arguments(self, args: tuple[Any, ...]) -> list[Any]:
        if self.input_signature is None:
            return [_tensors(each) for each in args]
        # A method's own object comes first.
        own = len(args) - len(self.input_signature)
        if own not in (0, 1):
            raise ValueError(f"the signature has {len(self.input_signature)} arguments, got {len(args)}")
        arguments = list(args[:own])
        for spec, value in zip(self.input_signature, args[own:], strict=True):
            tensor = convert_to_tensor(value, spec.dtype)
            if not spec.shape.is_compatible_with(tensor.shape):
                raise ValueError(f"the signature has {spec}, got {tensor!r}")
            arguments.append(tensor)
        return arguments


def _tensors(value: Any) -> Any:
    """An argument with its arrays as tensors; numbers and texts stay what they are."""
    return nest.map_structure(lambda leaf: convert_to_tensor(leaf) if isinstance(leaf, np.ndarray) else leaf, value)


def _after(last: Operation, leaf: Any) -> Any:
    return with_dependencies([last], leaf) if isinstance(leaf, Tensor) else leaf


def _in_order(built: Iterable[Operation]) -> Operation | None:
    """Make each operation with effects wait for the one before it, and return the last."""
    operations = list(built)
    apart: set[Operation] = set()
    for variable in ops.global_variables() + ops.local_variables():
        apart |= {variable.op, variable.initializer}
    last: Operation | None = None
    for op in operations:
        if not op.op_def.stateful or op in apart or not (op.inputs or op.control_inputs):
            continue
        if last is not None and last not in op.control_inputs:
            op.graph.changes.update_control_inputs(op, [*op.control_inputs, last])
        last = op
    return last


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: Any = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: Any = None,
    experimental_compile: Any = None,
    experimental_follow_type_hints: Any = None,
) -> Any:
    """Return a function whose operations run in the order in which it makes them.

    Args:
        func: the function; without it, a decorator is returned.
        input_signature: a ``TensorSpec`` for each argument.
        autograph: accepted for compatibility: functions are not rewritten.
        jit_compile: accepted for compatibility, like the rest.
        reduce_retracing: likewise.
        experimental_implements: likewise.
        experimental_autograph_options: likewise.
        experimental_attributes: likewise.
        experimental_relax_shapes: likewise.
        experimental_compile: likewise.
        experimental_follow_type_hints: likewise.
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature)
    return TracedFunction(func, input_signature)


defun = function
