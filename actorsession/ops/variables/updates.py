"""Methods of ``Variable`` that build updates.

Owns these methods of ``Variable``; ``variables.assignment`` has the same updates as functions. Every method
builds one update on the variable's device and by default returns a read that runs after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from actorsession.graph.default_session import run_in_session
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import as_shape
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.shape import broadcast_to, reshape, shape
from actorsession.ops.arrays.strided import MASKS
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables import scatter_updates  # noqa: F401 - registers the ops

if TYPE_CHECKING:
    from actorsession.ops.variables.variable import Variable

__all__ = ["VariableUpdates", "batch_places"]


class VariableUpdates:
    """The methods that change a variable."""

    # -- the whole value -----------------------------------------------------------------------

    def load(self, value: Any, session: Any = None) -> Any:
        """Replace the value immediately, in a session.

        Args:
            value: the new value, an array or a value that converts to one.
            session: the session; the default one if left out.

        Returns:
            ``None``; for an ``AsyncSession`` an awaitable of it.

        Raises:
            ValueError: without a session, or if it runs another graph.
        """
        initializer = _variable(self).initializer
        return run_in_session(initializer, {initializer.inputs[1]: value}, session, "load()")

    def assign(
        self, value: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Replace the value.

        Args:
            value: the new value, of the variable's dtype and shape.
            use_locking: without effect: updates are atomic anyway.
            name: wanted name of the update.
            read_value: whether a tensor is returned.

        Returns:
            A tensor that reads the variable after the update, or the update's operation.

        Raises:
            TypeError: for another dtype.
            ValueError: for a shape that contradicts the variable's.
        """
        return self._assigned("AssignVariableOp", value, name, read_value)

    def assign_add(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add ``delta`` to the value; see ``assign``."""
        return self._assigned("AssignAddVariableOp", delta, name, read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract ``delta`` from the value; see ``assign``."""
        return self._assigned("AssignSubVariableOp", delta, name, read_value)

    def count_up_to(self, limit: int, name: str | None = None) -> Tensor:
        """Add one to the value in each step that runs the operation, until a limit is reached.

        Args:
            limit: the limit.
            name: wanted name.

        Returns:
            The previous value. If the limit is reached, the step fails with OutOfRangeError and the value
            does not change.

        Raises:
            TypeError: unless the variable is int32 or int64 and ``limit`` an int.
            ValueError: unless the variable is a scalar.
        """
        return self.add_update("ResourceCountUpTo", [], name, limit=limit).outputs[0]

    # -- rows ----------------------------------------------------------------------------------

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Add rows to some rows of the value; rows with equal indices add up.

        Args:
            sparse_delta: the rows and their indices.
            use_locking: without effect: updates are atomic anyway.
            name: wanted name of the update.

        Returns:
            A tensor that reads the variable after the update.

        Raises:
            TypeError: if ``sparse_delta`` is not an ``IndexedSlices``, or of another dtype.
            ValueError: if its shape does not fit.
        """
        return self._scattered("ResourceScatterAdd", sparse_delta, name)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Subtract rows from some rows of the value; see ``scatter_add``."""
        return self._scattered("ResourceScatterSub", sparse_delta, name)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Replace some rows of the value; the last row counts where an index occurs twice."""
        return self._scattered("ResourceScatterUpdate", sparse_delta, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Multiply some rows of the value by rows; see ``scatter_add``."""
        return self._scattered("ResourceScatterMul", sparse_delta, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Divide some rows of the value by rows, integers towards zero; see ``scatter_add``."""
        return self._scattered("ResourceScatterDiv", sparse_delta, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Take the minimum of some rows of the value and given rows; see ``scatter_add``."""
        return self._scattered("ResourceScatterMin", sparse_delta, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Take the maximum of some rows of the value and given rows; see ``scatter_add``."""
        return self._scattered("ResourceScatterMax", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replace rows in each member of a batch.

        Args:
            sparse_delta: indices of shape ``[b1, ..., bk, n]``; the rows of member (b1, ..., bk) of the
                variable that the last axis selects are replaced by ``values[b1, ..., bk]``.
            use_locking: without effect.
            name: wanted name of the update.

        Returns:
            A tensor that reads the variable after the update.
        """
        _check_slices(sparse_delta)
        places = batch_places(sparse_delta.indices)
        return self.scatter_nd_update(places, sparse_delta.values, name)

    # -- elements and blocks -------------------------------------------------------------------

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Replace elements or blocks of the value; the last one counts where an index occurs twice.

        Args:
            indices: int32 or int64 of shape ``[..., depth]``: each selects a block by its first ``depth``
                positions.
            updates: shape ``indices.shape[:-1] + shape[depth:]``, of the variable's dtype.
            name: wanted name of the update.

        Returns:
            A tensor that reads the variable after the update.

        Raises:
            TypeError: for another dtype.
            ValueError: if the shapes do not fit.
        """
        return self.scattered("ResourceScatterNdUpdate", indices, updates, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Add to elements or blocks of the value; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdAdd", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Subtract from elements or blocks of the value; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdSub", indices, updates, name)

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Take the minimum of elements or blocks of the value and updates; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdMin", indices, updates, name)

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Take the maximum of elements or blocks of the value and updates; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdMax", indices, updates, name)

    def assign_part(self, part: Tensor, value: Any, name: str | None = None) -> Tensor:
        """Replace the part of the value that ``part``, a result of square brackets, reads.

        Args:
            part: the result of ``variable[...]``.
            value: the new value, broadcast to the part.
            name: wanted name of the update.

        Returns:
            A tensor that reads the whole variable after the update.
        """
        bounds = part.op.inputs[1:]
        masks = {key: part.op.attrs[key] for key in MASKS}
        operands = [*bounds, self._converted(value)]
        with part.graph.name_scope(None if name else f"{part.op.name}/"):
            own_name = name or "_assign"
            update = self.add_update("ResourceStridedSliceAssign", operands, own_name, **masks)
        return self.read_after(update)

    # -- construction of updates ---------------------------------------------------------------

    def add_update(self, op_type: str, operands: Sequence[Tensor], name: str | None = None, **attrs: Any) -> Operation:
        """Build an operation that changes the variable, colocated with it; optimisers use it too.

        Args:
            op_type: operation type; it takes a handle first, and has the attributes ``dtype`` and ``shape``.
            operands: the other inputs of the op.
            name: wanted name.
            **attrs: the other attributes of the op.
        """
        variable = _variable(self)
        filled = {"dtype": variable.dtype, "shape": as_shape(variable.shape), **attrs}
        with variable.graph.colocate_with(variable.op):
            return make(op_type, [variable.handle, *operands], filled, name)

    def read_after(self, update: Operation) -> Tensor:
        """Return a new read, which runs after ``update``."""
        with update.graph.control_dependencies([update]):
            return _variable(self).new_read()

    def _converted(self, value: Any) -> Tensor:
        variable = _variable(self)
        return convert_to_tensor(value, variable.dtype, graph=variable.graph)

    def _assigned(self, op_type: str, value: Any, name: str | None, read_value: bool) -> Any:
        update = self.add_update(op_type, [self._converted(value)], name)
        return self.read_after(update) if read_value else update

    def _scattered(self, op_type: str, delta: Any, name: str | None) -> Tensor:
        _check_slices(delta)
        where = convert_to_tensor(delta.indices, graph=_variable(self).graph)
        rows = convert_to_tensor(delta.values, _variable(self).dtype, graph=where.graph)
        return self.read_after(self.add_update(op_type, [where, rows], name))

    def scattered(self, op_type: str, indices: Any, updates: Any, name: str | None) -> Tensor:
        """Update parts of the value by one of the ops that take indices and updates."""
        where = convert_to_tensor(indices, graph=_variable(self).graph)
        return self.read_after(self.add_update(op_type, [where, self._converted(updates)], name))


def _variable(updates: VariableUpdates) -> Variable:
    """Return the object as the ``Variable`` that it is."""
    return cast("Variable", updates)


def _check_slices(delta: Any) -> None:
    if not isinstance(delta, IndexedSlices):
        raise TypeError(f"scattered updates take IndexedSlices, got {type(delta).__name__}: {delta!r:.100}")


def batch_places(indices: Any) -> Tensor:
    """Return the full positions of batched indices, for ops with one position per axis.

    Args:
        indices: shape ``[b1, ..., bk, n]``, of known rank.

    Returns:
        Shape ``[b1, ..., bk, n, k + 1]``: each index, preceded by the position of its batch member.

    Raises:
        ValueError: if the rank of ``indices`` is not known, or 0.
    """
    where = convert_to_tensor(indices)
    rank = where.shape.rank
    if not rank:
        raise ValueError(f"batched indices have a known rank, 1 or more, got {where.shape}")
    with where.graph.as_default():
        extents = shape(where, out_type=where.dtype)
        columns = [
            broadcast_to(reshape(range_(extents[axis]), _along(axis, rank)), extents) for axis in range(rank - 1)
        ]
        return stack([*columns, where], axis=-1)


def _along(axis: int, rank: int) -> list[int]:
    """Return the shape of a vector that extends along one axis."""
    return [-1 if i == axis else 1 for i in range(rank)]
