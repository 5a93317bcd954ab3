"""How variables are changed: the methods of ``Variable`` that build updates.

Owns what ``Variable`` offers for it; ``assignment`` has the same as functions. Every method builds one update
where the variable is and, unless told otherwise, gives a read that runs after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from actorsession.graph.evaluation import run_in_session
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
    """What can be done to a variable."""

    # -- the whole value -----------------------------------------------------------------------

    def load(self, value: Any, session: Any = None) -> Any:
        """Replace the value at once, in a session.

        Args:
            value: the new value, an array or what makes one.
            session: the session; the default one if left out.

        Returns:
            Nothing; for an ``AsyncSession`` an awaitable of it.

        Raises:
            ValueError: without a session, or if it runs another graph.
        """
        initializer = _variable(self).initializer
        return run_in_session(initializer, {initializer.inputs[1]: value}, session, "load()")

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replace the value.

        Args:
            value: the new value, of the variable's dtype and shape.
            use_locking: accepted for TensorFlow's sake; updates are atomic anyway.
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
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add ``delta`` to the value; see ``assign``."""
        return self._assigned("AssignAddVariableOp", delta, name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract ``delta`` from the value; see ``assign``."""
        return self._assigned("AssignSubVariableOp", delta, name, read_value)

    def count_up_to(self, limit: int, name: str | None = None) -> Tensor:
        """Add one to the value, in each step that runs it, until it has reached a limit.

        Args:
            limit: where counting ends.
            name: wanted name.

        Returns:
            The value before; in a step that finds the limit reached OutOfRangeError is raised instead
            and the value stays.

        Raises:
            TypeError: unless the variable is int32 or int64 and ``limit`` an int.
            ValueError: unless the variable is a scalar.
        """
        return self.add_update("ResourceCountUpTo", [], name, limit=limit).outputs[0]

    # -- rows ----------------------------------------------------------------------------------

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Add rows to some rows of the value; rows with one index add up.

        Args:
            sparse_delta: the rows and where they belong.
            use_locking: accepted for TensorFlow's sake; updates are atomic anyway.
            name: wanted name of the update.

        Returns:
            A tensor that reads the variable after the update.

        Raises:
            TypeError: if ``sparse_delta`` is no ``IndexedSlices``, or of another dtype.
            ValueError: if its shape does not fit.
        """
        return self._scattered("ResourceScatterAdd", sparse_delta, name)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Subtract rows from some rows of the value; see ``scatter_add``."""
        return self._scattered("ResourceScatterSub", sparse_delta, name)

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replace some rows of the value, the last one where an index occurs twice."""
        return self._scattered("ResourceScatterUpdate", sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Multiply some rows of the value by rows; see ``scatter_add``."""
        return self._scattered("ResourceScatterMul", sparse_delta, name)

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Divide some rows of the value by rows, integers towards zero; see ``scatter_add``."""
        return self._scattered("ResourceScatterDiv", sparse_delta, name)

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Lower some rows of the value to rows where those are less; see ``scatter_add``."""
        return self._scattered("ResourceScatterMin", sparse_delta, name)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Raise some rows of the value to rows where those are greater; see ``scatter_add``."""
        return self._scattered("ResourceScatterMax", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replace rows in each member of a batch.

        Args:
            sparse_delta: indices of shape ``[b1, ..., bk, n]``; the rows of member (b1, ..., bk) of the
                variable that the last axis names are replaced by ``values[b1, ..., bk]``.
            use_locking: accepted for TensorFlow's sake.
            name: wanted name of the update.

        Returns:
            A tensor that reads the variable after the update.
        """
        _check_slices(sparse_delta)
        places = batch_places(sparse_delta.indices)
        return self.scatter_nd_update(places, sparse_delta.values, name)

    # -- places --------------------------------------------------------------------------------

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Replace single elements or blocks of the value, the last one where an index occurs twice.

        Args:
            indices: int32 or int64 of shape ``[..., depth]``: each names a block by its first ``depth``
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
        """Add to single elements or blocks of the value; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdAdd", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Subtract from single elements or blocks of the value; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdSub", indices, updates, name)

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Lower single elements or blocks of the value; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdMin", indices, updates, name)

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Raise single elements or blocks of the value; see ``scatter_nd_update``."""
        return self.scattered("ResourceScatterNdMax", indices, updates, name)

    def assign_part(self, part: Tensor, value: Any, name: str | None = None) -> Tensor:
        """Replace the part of the value that ``part``, made by square brackets, reads.

        Args:
            part: what ``variable[...]`` gave.
            value: the new value, broadcast to the part.
            name: wanted name of the update.

        Returns:
            A tensor that reads the whole variable after the update.
        """
        bounds = part.op.inputs[1:]
        masks = {key: part.op.attrs[key] for key in MASKS}
        operands = [*bounds, self._converted(value)]
        with part.graph.name_scope(None if name else f"{part.op.name}/"):
            wanted = name or "_assign"
            update = self.add_update("ResourceStridedSliceAssign", operands, wanted, **masks)
        return self.read_after(update)

    # -- how updates are built -----------------------------------------------------------------

    def add_update(
        self, op_type: str, operands: Sequence[Tensor], name: str | None = None, **attrs: Any
    ) -> Operation:
        """Build an operation that changes the variable, where the variable is; for optimisers.

        Args:
            op_type: an op that takes a handle first and has ``VARIABLE_ATTRS``.
            operands: its other inputs.
            name: wanted name.
            **attrs: its other attributes.
        """
        variable = _variable(self)
        filled = {"dtype": variable.dtype, "shape": as_shape(variable.shape), **attrs}
        with variable.graph.colocate_with(variable.op):
            return make(op_type, [variable.handle, *operands], filled, name)

    def read_after(self, update: Operation) -> Tensor:
        """A new read, which runs after ``update``."""
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
        return self.read_after(self.add_update(op_type, [delta.indices, delta.values], name))

    def scattered(self, op_type: str, indices: Any, updates: Any, name: str | None) -> Tensor:
        """Changes parts of the value by one of the ops that take indices and updates."""
        where = convert_to_tensor(indices, graph=_variable(self).graph)
        return self.read_after(self.add_update(op_type, [where, self._converted(updates)], name))


def _variable(updates: VariableUpdates) -> Variable:
    """Return the variable that this is a part of."""
    return cast("Variable", updates)


def _check_slices(delta: Any) -> None:
    if not isinstance(delta, IndexedSlices):
        raise TypeError(
            f"scattered updates take IndexedSlices, got {type(delta).__name__}: {delta!r:.100}"
        )


def batch_places(indices: Any) -> Tensor:
    """Full places of what batched indices name, for the ops that take one position per axis.

    Args:
        indices: shape ``[b1, ..., bk, n]``, of known rank.

    Returns:
        Shape ``[b1, ..., bk, n, k + 1]``: each index behind the position of its member of the batch.

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
            broadcast_to(reshape(range_(extents[axis]), _along(axis, rank)), extents)
            for axis in range(rank - 1)
        ]
        return stack([*columns, where], axis=-1)


def _along(axis: int, rank: int) -> list[int]:
    """Return the shape in which a vector runs along one axis."""
    return [-1 if i == axis else 1 for i in range(rank)]
