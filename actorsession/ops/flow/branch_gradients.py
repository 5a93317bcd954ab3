"""Gradients of branches.

The gradient of an ``If`` is an ``If`` on the same predicate, whose branches have the gradients of its
branches. The values that those read of a forward branch are further outputs of the forward ``If`` (see
``extensions``). Nothing is computed twice, so branches may contain state, random numbers and the user's
Python functions. A branch that does not use a tensor has a gradient of zeros for it.

Called by ``gradients`` through the op registry. The gradient is an ordinary ``If``, so it has a gradient as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actorsession.graph.dtypes import int32, variant
from actorsession.graph.function import IF, FunctionBody, brought_in
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.joining import concat
from actorsession.ops.build import constant
from actorsession.ops.derivatives.backward import carries_gradient, gradients_within, is_wanted, note_change
from actorsession.ops.derivatives.values import (
    as_known,
    gradient_shape,
    made_again,
    once_each,
    parts_of,
    refuse_handle,
    zeros_for,
)
from actorsession.ops.flow.constructs import ConstructBuilder
from actorsession.ops.flow.extensions import Construct
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient, to_dense
from actorsession.ops.lists.nodes import empty_tensor_list

__all__ = ["if_gradient"]

Grads = Sequence["SparseGradient | None"]


def if_gradient(op: Operation, *grads: Tensor | None) -> Grads:
    """Return the gradient of an ``If``."""
    parts, graph = parts_of(op), op.graph
    numbered = [(k, g) for k, g in enumerate(grads) if g is not None]
    captures = [t for t in dict.fromkeys(op.inputs[1:]) if carries_gradient(t.dtype) and is_wanted(t)]
    with (
        graph.name_scope(op.name.rpartition("/")[2]) as scope,
        ConstructBuilder(graph, scope, is_loop=False) as builder,
    ):
        bodies, by_branch = [], []
        for branch, forward in enumerate(parts.bodies):
            body = builder.function()
            body.mirrors, body.bring = forward, _from_branch(parts, branch, body)
            ys = [parts.results[branch][k] for k, _ in numbered]
            with body.building():
                by_branch.append(gradients_within(forward, ys, captures, [g for _, g in numbered]))
            bodies.append(body)
        results: list[list[Tensor]] = [[], []]
        places = [
            _both(bodies, results, tensor, [column[j] for column in by_branch]) for j, tensor in enumerate(captures)
        ]
        if not results[0]:
            return [None] * len(op.inputs)
        keys = ("then_branch", "else_branch")
        conditional = builder.construct(IF, [op.inputs[0]], keys, bodies, results)
    back = {t: _handed_out(conditional, place, t) for t, place in zip(captures, places, strict=True)}
    return once_each(op.inputs, back)


def _from_branch(parts: Construct, branch: int, body: FunctionBody) -> Callable[[Tensor], Tensor]:
    """Return the function that makes a tensor of the forward branch available in the gradient's branch.

    A construct inside that branch may be the first to need one, and others need it after that: what is made for it
    is built in the branch.
    """
    known: dict[Tensor, Tensor] = {}

    def bring(tensor: Tensor) -> Tensor:
        if tensor not in known:
            if tensor.op.type == "Const":
                with body.building():
                    known[tensor] = made_again(tensor)
            else:
                refuse_handle(tensor)
                note_change(parts)
                saved = parts.save_from_branch(tensor, branch, lambda: _nothing(tensor))
                with body.building():
                    known[tensor] = as_known(saved, tensor.shape)
        return known[tensor]

    return bring


def _nothing(tensor: Tensor) -> Tensor:
    """Return a placeholder value for the branch that does not compute a tensor; it is never read."""
    if tensor.dtype is variant:
        return empty_tensor_list(None, variant)
    rank = tensor.shape.rank
    return fills.zeros([0] * (rank or 0), tensor.dtype)


def _both(
    bodies: Sequence[FunctionBody],
    results: Sequence[list[Tensor]],
    tensor: Tensor,
    by_branch: Sequence[SparseGradient | None],
) -> tuple[int, ...]:
    """Append the gradient of a captured tensor to the results of both branches; return its positions."""
    if all(each is None for each in by_branch):
        return ()
    start = len(results[0])
    sparse = all(each is None or isinstance(each, IndexedSlices) for each in by_branch)
    like = next(each for each in by_branch if each is not None)
    for body, out, each in zip(bodies, results, by_branch, strict=True):
        with body.building():
            if not sparse:
                out.append(zeros_for(tensor) if each is None else to_dense(each))
            elif each is None:
                assert isinstance(like, IndexedSlices)
                out.extend(_no_slices(tensor, like))
            else:
                assert isinstance(each, IndexedSlices)
                out.extend([each.values, each.indices])
            out[start:] = [brought_in(tensor.graph, t) for t in out[start:]]
    return tuple(range(start, len(results[0])))


def _no_slices(tensor: Tensor, like: IndexedSlices) -> list[Tensor]:
    zero = constant([0], int32, graph=tensor.graph)
    dims = concat([zero, gradient_shape(tensor)[1:]], 0)
    return [fills.zeros(dims, like.dtype), fills.zeros([0], like.indices.dtype)]


def _handed_out(op: Operation, place: tuple[int, ...], tensor: Tensor) -> SparseGradient | None:
    if len(place) == 2:
        values, indices = [op.outputs[k] for k in place]
        return IndexedSlices(values, indices, gradient_shape(tensor))
    return op.outputs[place[0]] if place else None
