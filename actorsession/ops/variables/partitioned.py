"""Partitioned variables: one value that several variables hold, each a slice of it along one axis.

Owns ``PartitionedVariable`` and the arithmetic of slices. ``variables.store`` makes them if a partitioner is
given. A partitioned variable is not an element of a graph: it has no name that could be fetched, and as an
operand it is the concatenation of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import ShapeLike, TensorShape, shown
from actorsession.ops import raw
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.splitting import split
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.variables.variable import Variable
from actorsession.process_bound import GraphBound
from actorsession.records import dataclass

__all__ = ["PartitionInfo", "PartitionedVariable", "called_partitioner", "cuts"]


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """The position of a part, which an initialiser gets when it makes a value for the part.

    Attributes:
        full_shape: shape of the whole variable.
        var_offset: first position of the part per axis.
    """

    full_shape: tuple[int, ...]
    var_offset: tuple[int, ...]

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the first position on the partitioned axis, 0 if there is none."""
        return self.var_offset[self.single_slice_dim(shape) or 0] if self.var_offset else 0

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the axis along which a part of that shape is shorter than the whole, if there is one.

        Raises:
            ValueError: if the part does not fit into the whole, or is shorter along several axes.
        """
        if len(shape) != len(self.full_shape):
            raise ValueError(f"a part of shape {list(shape)} of a whole of {list(self.full_shape)}")
        cut = [i for i, (n, m) in enumerate(zip(shape, self.full_shape, strict=True)) if n != m]
        places = zip(self.var_offset, shape, self.full_shape, strict=True)
        if len(cut) > 1 or any(start + n > whole for start, n, whole in places):
            raise ValueError(
                f"a part of shape {list(shape)} at {list(self.var_offset)} is no stretch along one axis "
                f"of a whole of shape {list(self.full_shape)}"
            )
        return cut[0] if cut else None


class PartitionedVariable(GraphBound):
    """Several variables that hold one value together; the result of ``get_variable`` with a partitioner.

    Args:
        name: name of the whole.
        shape: shape of the whole.
        dtype: element type.
        variable_list: the parts, each with its ``SaveSliceInfo``, whose offsets order them.
        partitions: number of parts per axis, all but one of them 1.

    Raises:
        TypeError: if the parts are not a list of variables, or ``partitions`` is not a list of numbers.
        ValueError: if the numbers do not fit the parts or the shape, there are no parts, or one says nothing
            or something else of its whole.
    """

    def __init__(
        self, name: str, shape: ShapeLike, dtype: Any, variable_list: Sequence[Variable], partitions: Sequence[int]
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is a list or tuple, got {variable_list!r:.100}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is a list or tuple, got {partitions!r:.100}")
        self._shape = TensorShape(shape)
        if not variable_list:
            raise ValueError(f"variable_list may not be empty: {name!r} has one part or more")
        if any(number < 1 for number in partitions):
            raise ValueError(f"partition values must be positive, got {list(partitions)}")
        if len(partitions) != self._shape.rank or math.prod(partitions) != len(variable_list):
            raise ValueError(
                f"{len(variable_list)} parts of a variable of shape {self._shape} cannot be cut as {list(partitions)}"
            )
        self._name = name
        self._dtype = as_dtype(dtype)
        self._variables = sorted(variable_list, key=lambda part: _offsets(part, self._shape))
        self._partitions = list(partitions)

    @property
    def name(self) -> str:
        """The name of the whole; its parts are named ``name/part_0`` and so on."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return shown(self._shape)

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole (TensorFlow's older spelling)."""
        return shown(self._shape)

    @property
    def graph(self) -> Graph:
        """The graph that the parts belong to."""
        graph: Graph = self._variables[0].graph
        return graph

    def __iter__(self) -> Iterator[Variable]:
        """Iterate over the parts, in order."""
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        cut = "x".join(map(str, self._partitions))
        return f"<PartitionedVariable {self._name!r} shape={self._shape} dtype={self._dtype.name} in {cut}>"

    def _get_variable_list(self) -> list[Variable]:
        return self._variables

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        """Return the partitioned axis, or the first axis if there is none."""
        return [axis for axis, count in enumerate(self._partitions) if count > 1] or [0]

    def as_tensor(self) -> Tensor:
        """Return the whole value: the concatenation of new reads of the parts."""
        return self._concat()

    def _concat(self) -> Tensor:
        graph = self.graph
        with graph.name_scope(f"{self._name}/ConcatPartitions/"):
            parts = [part._operand() for part in self._variables]
            whole = parts[0] if len(parts) == 1 else concat(parts, self._partition_axes()[0])
        with graph.name_scope(None):
            return raw.Identity(whole, name=self._name)

    def _operand(self) -> Tensor:
        return self._concat()

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Replace the whole value, part by part.

        Args:
            value: a value for the whole, a list of tensors for the parts, or another ``PartitionedVariable``
                that is partitioned in the same way.
            use_locking: without effect.
            name: wanted name of the updates.
            read_value: whether tensors are returned.

        Returns:
            The result of ``assign`` for each part.

        Raises:
            ValueError: for a ``PartitionedVariable`` that is partitioned differently.
        """
        return self._updated("assign", value, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Add to the whole value, part by part; see ``assign``."""
        return self._updated("assign_add", value, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Subtract from the whole value, part by part; see ``assign``."""
        return self._updated("assign_sub", value, name, read_value)

    def _updated(self, method: str, value: Any, name: str | None, read_value: bool) -> list[Any]:
        return [
            getattr(part, method)(share, name=name, read_value=read_value)
            for part, share in zip(self._variables, self._shares(value), strict=True)
        ]

    def _shares(self, value: Any) -> list[Any]:
        if isinstance(value, PartitionedVariable):
            if value._partitions != self._partitions or value.shape != self.shape:
                raise ValueError(f"{value!r} is not cut as {self!r} is")
            return list(value)
        if isinstance(value, list) and all(isinstance(v, (Tensor, Variable)) for v in value):
            return value
        whole = convert_to_tensor(value, self._dtype, graph=self.graph)
        axis = self._partition_axes()[0]
        sizes = [part.shape[axis] for part in self._variables]
        return list(split(whole, sizes, axis))


def _offsets(part: Variable, whole: TensorShape) -> list[int]:
    """Return where a part of a whole begins.

    Raises:
        ValueError: if it does not say that, or is part of a whole of another shape.
    """
    info = part._get_save_slice_info()
    if info is None:
        raise ValueError(f"every part must have a save_slice_info, which {part!r} has not")
    if list(info.full_shape) != whole.as_list():
        raise ValueError(
            f"the parts' full shapes must match that of the whole, {whole}: {part!r} has {info.full_shape}"
        )
    return list(info.var_offset)


def called_partitioner(partitioner: Any, shape: TensorShape, dtype: DType) -> list[int]:
    """Return a partitioner's result for a new variable.

    Raises:
        ValueError: if the shape is not fully defined, or the result is not one number of parts per axis, at
            least 1 and above 1 on one axis at most.
    """
    if not shape.is_fully_defined():
        raise ValueError(f"the shape of a new partitioned variable must be fully defined, got {shape}")
    answer = partitioner(shape=shape, dtype=dtype)
    if not isinstance(answer, (list, tuple)):
        raise ValueError(f"a partitioner returns a list with a number per axis, got {answer!r:.100}")
    if len(answer) != shape.rank:
        raise ValueError(
            f"the partitioner returned {list(answer)} for a variable of shape {shape}: it needs one number per axis"
        )
    if any(n < 1 for n in answer):
        raise ValueError(f"the partitioner returned zero parts for some axes: {list(answer)}")
    if sum(n > 1 for n in answer) > 1:
        raise ValueError(
            f"a variable is cut along one axis only; for shape {shape} the partitioner returned {list(answer)}"
        )
    for extent, count in zip(shape.as_tuple(), answer, strict=True):
        if count > max(1, extent):
            raise ValueError(
                f"the partitioner returned {list(answer)} for a variable of shape {shape}: more parts than positions"
            )
    return list(answer)


def cuts(shape: tuple[int, ...], partitions: Sequence[int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the offset and shape of each part.

    Args:
        shape: shape of the whole.
        partitions: number of parts per axis, all but one of them 1. The first parts are one position longer
            if the extent is not divisible.
    """
    axis = next((i for i, n in enumerate(partitions) if n > 1), 0)
    each, longer = divmod(shape[axis], partitions[axis])
    parts, start = [], 0
    for number in range(partitions[axis]):
        extent = each + (number < longer)
        offset = tuple(start if i == axis else 0 for i in range(len(shape)))
        parts.append((offset, (*shape[:axis], extent, *shape[axis + 1 :])))
        start += extent
    return parts
