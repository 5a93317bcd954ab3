"""User functions with user-defined gradients, and second derivatives.

Owns ``custom_gradient``, which connects results and arguments by an ``IdentityN`` with the user's gradient,
and ``hessians``, a loop over the elements of a gradient.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import GRADIENT_NAME
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape, size
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor, graph_of, make
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.flow.control_flow import while_loop
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.indexed_slices import to_dense
from actorsession.ops.lists.blocks import tensor_list_stack
from actorsession.ops.lists.nodes import tensor_list_reserve, tensor_list_set_item
from actorsession.ops.structures import flatten, pack
from actorsession.ops.variables.variable import Variable

__all__ = ["custom_gradient", "grad_pass_through", "hessians"]


# -- custom_gradient -------------------------------------------------------------------------------


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorate a function of tensors that defines its own gradient.

    Args:
        f: a function of tensors that returns results and a second function. That function takes the gradients
            of the results and returns those of the arguments. If ``f`` reads variables, it also takes
            ``variables``, a list of them, and returns their gradients as a second list.

    Returns:
        A function from the arguments to the results.

    Raises:
        TypeError: from the function, if ``f`` reads variables that its gradient does not take.
        ValueError: while gradients are built, for another number of them than of arguments.
    """
    if f is None:
        return custom_gradient
    function = f

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return _called(function, args, kwargs)

    return decorated


def grad_pass_through(f: Callable[..., Any]) -> Any:
    """Return a function with the values of ``f`` and the gradients of the identity."""

    @custom_gradient
    def passing(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs), lambda *grads: grads if len(grads) > 1 else grads[0]

    return passing


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    graph = graph_of(*flatten(list(args)))
    with graph.as_default():
        inputs = [convert_to_tensor(leaf, graph=graph) for leaf in flatten(list(args))]
        held = [_held(t) for t in inputs]
        result, grad_fn = function(*pack(list(args), held), **kwargs)
        outputs = [convert_to_tensor(leaf, graph=graph) for leaf in flatten(result)]
        read = _variables_read(graph, outputs, held)
        takes = _takes_variables(grad_fn)
        if read and not takes:
            raise TypeError(
                "the gradient of a custom_gradient function that reads variables takes them as its argument "
                f"'variables': {[v.name for v in read]}"
            )
        name = f"CustomGradient-{len(graph.nodes)}"
        graph.gradient_functions[name] = _gradient(grad_fn, len(outputs), len(held), read)
        together = [*outputs, *held, *[v.handle for v in read]]
        op = make("IdentityN", together, {GRADIENT_NAME: name}, None, graph)
    return pack(result, list(op.outputs[: len(outputs)]))


def _held(tensor: Tensor) -> Tensor:
    """Return a separate tensor for an argument, so that its other readers are ignored."""
    return [raw.Identity(tensor)][0]


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    kinds = inspect.signature(grad_fn).parameters
    return "variables" in kinds or any(p.kind is p.VAR_KEYWORD for p in kinds.values())


def _variables_read(graph: Graph, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Variable]:
    """Return the trainable variables that results depend on, without a search beyond the arguments."""
    by_handle = {v.handle: v for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if isinstance(v, Variable)}
    read: dict[Variable, None] = {}
    seen = {t.op for t in inputs}
    waiting = [t.op for t in outputs]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        for tensor in op.inputs:
            if tensor in by_handle:
                read[by_handle[tensor]] = None
            waiting.append(tensor.op)
    return list(read)


def _gradient(
    grad_fn: Callable[..., Any], results: int, arguments: int, variables: Sequence[Variable]
) -> Callable[..., Sequence[Any]]:
    def gradient(op: Operation, *grads: Any) -> Sequence[Any]:
        dense = [
            zeros_like(t) if g is None and t.dtype.kind in "fc" else g
            for t, g in zip(op.outputs[:results], grads[:results], strict=True)
        ]
        if variables:
            answer, of_variables = grad_fn(*dense, variables=list(variables))
            of_variables = flatten(of_variables)
            if len(of_variables) != len(variables):
                raise ValueError(f"a custom gradient gave {len(of_variables)} gradients of {len(variables)} variables")
        else:
            answer, of_variables = grad_fn(*dense), []
        back = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        if len(back) != arguments:
            raise ValueError(f"a custom gradient gave {len(back)} gradients of {arguments} arguments")
        by_input = [
            g if g is None or hasattr(g, "_operand") else convert_to_tensor(g, graph=op.graph)
            for g in (*back, *of_variables)
        ]
        return [*[None] * results, *by_input]

    return gradient


# -- hessians --------------------------------------------------------------------------------------


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Tensor]:
    """Return the second derivatives of ``sum(ys)`` with respect to each ``x`` by itself.

    Arguments as ``gradients``.

    Returns:
        For each ``x`` a tensor whose shape is that of ``x`` twice.

    Raises:
        ValueError: if ``ys`` do not depend on an ``x``.
    """
    sources = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    graph = graph_of(*sources) if sources else get_default_graph()
    with graph.as_default(), graph.name_scope(name):
        first = gradients(ys, sources, **options)
        return [_hessian(g, x, options) for g, x in zip(first, sources, strict=True)]


def _hessian(gradient: Any, x: Any, options: dict[str, Any]) -> Tensor:
    if gradient is None:
        raise ValueError(f"the ys of hessians do not depend on {x!r}")
    dense = to_dense(gradient)
    flat = reshape(dense, [-1])
    count = size(flat)

    def row(k: Any, rows: Any) -> Any:
        (second,) = gradients(flat[k], [x], unconnected_gradients="zero", **options)
        return k + 1, tensor_list_set_item(rows, k, to_dense(second))

    rows = tensor_list_reserve(dense.shape, count, dense.dtype)
    _, filled = while_loop(lambda k, _: k < count, row, [0, rows])
    stacked = tensor_list_stack(filled, dense.dtype, element_shape=dense.shape)
    whole = shape(dense)
    hessian = reshape(stacked, concat([whole, whole], 0))
    hessian.set_shape(dense.shape.concatenate(dense.shape))
    return hessian
