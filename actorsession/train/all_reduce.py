"""``AllReduceOptimizer``: each replica has the whole model, and all apply the mean of their gradients.

No parameter server is needed. The gradients are joined into buckets and reduced while the backward pass goes
on, the last layers first, because their gradients are ready first (Li et al., "PyTorch Distributed",
2020). Replicas that begin with the same variables keep the same, because a reduction has the same bits at all
members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays import dimensions
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.arrays.splitting import split
from actorsession.ops.flow import control
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient, to_dense
from actorsession.ops.variables.lists import global_variables
from actorsession.ops.variables.variable import Variable
from actorsession.opsets.collective.groups import Group, all_reduce, broadcast
from actorsession.train.optimizer import Optimizer, WrappingOptimizer

__all__ = ["AllReduceOptimizer", "broadcast_variables"]

_BUCKET_BYTES = 4 * 2**20

_Pair = tuple[SparseGradient | None, Variable]


class AllReduceOptimizer(WrappingOptimizer):
    """An optimiser that applies the mean of the gradients of all members of a group with another optimiser.

    Every member builds the same model on a device of its own, with variables of its own that begin with the
    same values; see ``broadcast_variables``. Gradients of rows are made dense.

    Args:
        opt: computes the gradients and applies their means.
        group: the members.
        bucket_bytes: gradients are joined up to this size, because few large reductions take less time than
            many small ones; a larger gradient is reduced alone.
        name: prefix of the operations.

    Raises:
        InvalidArgumentError: if ``bucket_bytes`` is below 1.
    """

    def __init__(
        self, opt: Optimizer, group: Group, bucket_bytes: int = _BUCKET_BYTES, name: str = "all_reduce"
    ) -> None:
        super().__init__(opt, name)
        if bucket_bytes < 1:
            raise InvalidArgumentError(f"bucket_bytes is at least 1, got {bucket_bytes}")
        self._group = group
        self._bucket_bytes = bucket_bytes

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[_Pair]:
        """Build the mean gradient of all members for each variable; see ``Optimizer.compute_gradients``.

        So gradients may be clipped as those of one replica, before ``apply_gradients``.
        """
        pairs = self._opt.compute_gradients(*args, **kwargs)
        dense = {i: _dense(grad, var) for i, (grad, var) in enumerate(pairs) if grad is not None}
        means: dict[int, Tensor] = {}
        with name_scope(self._name):
            for bucket in _buckets(dense, self._bucket_bytes):
                means.update(self._means({i: dense[i] for i in bucket}))
        return [(means.get(i), var) for i, (_, var) in enumerate(pairs)]

    def _means(self, grads: dict[int, Tensor]) -> dict[int, Tensor]:
        """Return the means of the gradients of one bucket, which have one dtype."""
        if len(grads) == 1:
            return {i: all_reduce(grad, self._group, "mean") for i, grad in grads.items()}
        flat = concat([reshape(grad, [-1]) for grad in grads.values()], 0)
        sizes = [_elements(grad) for grad in grads.values()]
        parts = split(all_reduce(flat, self._group, "mean"), sizes)
        return {i: reshape(part, grad.shape.as_list()) for (i, grad), part in zip(grads.items(), parts, strict=True)}


def broadcast_variables(group: Group, *, sends: bool, variables: Sequence[Variable] | None = None) -> Operation:
    """Give all members the values of the variables of one of them, such as after initialising or restoring.

    Args:
        group: the members; each runs its operation in a step that the others meet.
        sends: whether this member's values are the ones; exactly one member's are.
        variables: this member's variables, in the same order at all members; all global ones of the graph
            if left out.

    Returns:
        The operation that assigns what was received, or that has sent it.
    """
    done: list[Operation] = []
    for variable in global_variables() if variables is None else variables:
        with variable.graph.colocate_with(variable.op):
            value = broadcast(variable.read_value(), group, sends=sends)
            done.append(value.op if sends else variable.assign(value, read_value=False))
    return control.group(*done)


def _dense(grad: SparseGradient, variable: Variable) -> Tensor:
    if isinstance(grad, IndexedSlices):
        if grad.dense_shape is None:
            shape = dimensions.shape(variable.value())
            grad = IndexedSlices(grad.values, grad.indices, shape)
        dense = to_dense(grad)
        dense.set_shape(variable.shape)
        return dense
    return grad


def _elements(grad: Tensor) -> int:
    count = grad.shape.num_elements()
    assert count is not None
    return count


def _buckets(grads: dict[int, Tensor], limit: int) -> list[list[int]]:
    """Return the positions of gradients that are reduced together, those of the last variables first."""
    buckets: list[list[int]] = []
    open_buckets: dict[object, tuple[list[int], int]] = {}
    for i in sorted(grads, reverse=True):
        grad = grads[i]
        if not grad.shape.is_fully_defined():
            buckets.append([i])
            continue
        nbytes = _elements(grad) * grad.dtype.size
        bucket, held = open_buckets.get(grad.dtype, ([], 0))
        if not bucket or held + nbytes > limit:
            bucket, held = [], 0
            buckets.append(bucket)
        bucket.append(i)
        open_buckets[grad.dtype] = bucket, held + nbytes
    return buckets
