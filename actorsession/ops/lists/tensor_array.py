"""``TensorArray``: an array of tensors that loops write and read one by one.

It is made of lists of tensors (see ``lists.nodes``), as in TensorFlow 2. A write returns a new array with
another list, and the previous one stays unchanged. Loops and branches pass it as its list. Gradients are
those of lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.constant_value import constant_value
from actorsession.graph.dtypes import DType, as_dtype, int32, int64, variant
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape, as_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of, make
from actorsession.ops.elements.cast import cast
from actorsession.ops.lists.blocks import (
    tensor_list_from_tensor,
    tensor_list_gather,
    tensor_list_scatter,
    tensor_list_stack,
)
from actorsession.ops.lists.nodes import (
    tensor_list_get_item,
    tensor_list_length,
    tensor_list_reserve,
    tensor_list_set_item,
)
from actorsession.ops.lists.parts import tensor_list_concat, tensor_list_split
from actorsession.ops.structures import Composite
from actorsession.process_bound import GraphBound

__all__ = ["TensorArray"]


class TensorArray(Composite, GraphBound):
    """An array of tensors of one dtype.

    Args:
        dtype: dtype of its elements.
        size: number of elements, an int32 scalar; not with ``flow``.
        dynamic_size: whether a write after the end extends the array.
        clear_after_read: whether a step may read each element only once. It may by default in graphs of
            TensorFlow 1's programs, where it is an error, as there; others read as often as they like.
        tensor_array_name: without effect.
        handle: always ``None``.
        flow: the list of an existing array.
        infer_shape: whether all elements must have the same static shape.
        element_shape: static shape of the elements.
        colocate_with_first_write_call: without effect.
        name: wanted name.

    Raises:
        ValueError: without both ``size`` and ``flow``, or with both.
        TypeError: for a ``flow`` that is not a list.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise TypeError("TensorArray: a handle cannot be given; flow is the list behind it")
        if (flow is None) == (size is None):
            raise ValueError("TensorArray: one of size and flow must be provided, and not both")
        if flow is not None and element_shape is not None:
            raise ValueError("TensorArray: flow and element_shape cannot both be provided")
        if flow is not None and (not isinstance(flow, Tensor) or flow.dtype is not variant):
            raise TypeError(f"TensorArray: flow must be a variant tensor, got {flow!r:.100}")
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._clears = clear_after_read is not False
        # Shared by all arrays derived from this one: shapes inferred in a loop apply to reads after it.
        self._shapes = [as_shape(element_shape)]
        self._size: Tensor | None = None
        if flow is None:
            graph = graph_of(size)
            with graph.as_default():
                self._size = convert_to_tensor(size, int32, graph=graph)
                own_name = name or "TensorArray"
                once = self._clears and bool(graph.shown_prefix)
                flow = tensor_list_reserve(self._shapes[0], self._size, self._dtype, own_name, once)
        self._flow = flow

    # -- properties ----------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The dtype of its elements."""
        return self._dtype

    @property
    def flow(self) -> Tensor:
        """The list of the elements."""
        return self._flow

    @property
    def handle(self) -> None:
        """Always ``None``: the array has no handle besides its list."""
        return None

    @property
    def dynamic_size(self) -> bool:
        """Whether a write after the end extends the array."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of the elements."""
        return self._shapes[0]

    def _parts(self) -> list[Tensor]:
        return [self._flow]

    def _like(self, parts: list[Any]) -> TensorArray:
        (flow,) = parts
        return self._with(flow) if isinstance(flow, Tensor) else flow

    def _with(self, flow: Tensor) -> TensorArray:
        """Return this array with another list."""
        array = TensorArray(self._dtype, flow=flow, infer_shape=self._infer_shape)
        array._dynamic_size, array._size, array._shapes = self._dynamic_size, self._size, self._shapes
        array._clears = self._clears
        return array

    def _value(self, value: Any) -> Tensor:
        return convert_to_tensor(value, self._dtype, graph=self._flow.graph)

    def _check_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"TensorArray: inconsistent shapes: saw {shape} but expected {self.element_shape}")
        if self._infer_shape:
            self._shapes[0] = self.element_shape.merge_with(shape)

    def __repr__(self) -> str:
        return f"<TensorArray of {self._dtype.name} {self.element_shape} {self._flow.name!r}>"

    # -- single elements -----------------------------------------------------------------------

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return the element at an index; zeros if it was never written.

        Args:
            index: an int32 scalar.
            name: wanted name.
        """
        return tensor_list_get_item(self._flow, index, self._dtype, self.element_shape, name or "TensorArrayReadV3")

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with another element at an index.

        Args:
            index: an int32 scalar.
            value: the element.
            name: wanted name.

        Raises:
            TypeError: for an element of another dtype.
            ValueError: for an element of another shape.

        In graphs of TensorFlow 1's programs an element is written once: the step fails with
        ``InvalidArgumentError`` where one was before.
        """
        item = self._value(value)
        self._check_shape(item.shape)
        once = self._is_one_object()
        with self._scope(name, "TensorArrayWrite"):
            return self._with(
                tensor_list_set_item(self._flow, index, item, self._dynamic_size, "TensorArrayWriteV3", once)
            )

    def _is_one_object(self) -> bool:
        """Return whether it is an object and not a value, as in the programs of TensorFlow 1."""
        return bool(self._flow.graph.shown_prefix)

    def _scope(self, name: str | None, default: str) -> Any:
        """Return the scope in which TensorFlow puts the node of a method, whose name is that of its type."""
        return self._flow.graph.name_scope(name or default)

    # -- several elements ----------------------------------------------------------------------

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements along a new first axis."""
        with self._scope(name, "TensorArrayStack"):
            return tensor_list_stack(
                self._flow, self._dtype, self._static_size(), self.element_shape, "TensorArrayGatherV3"
            )

    def _static_size(self) -> int:
        known = None
        if self._size is not None and not self._dynamic_size:
            known = constant_value(self._size)
        return -1 if known is None else int(known)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements at some indices along a new first axis; ``indices`` is an int32 vector."""
        return tensor_list_gather(self._flow, indices, self._dtype, self.element_shape, name or "TensorArrayGatherV3")

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements concatenated along their first axis."""
        dims = self.element_shape.sizes
        shape = TensorShape(None) if dims is None else TensorShape([None, *dims[1:]])
        return tensor_list_concat(self._flow, self._dtype, shape, name or "TensorArrayConcatV3")[0]

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return an array of the items along the first axis of a tensor, of which it gets the length.

        Raises:
            TypeError: for a value of another dtype.
            ValueError: for a scalar, or a value whose items have another shape.
        """
        items = self._value(value)
        shape = _without_first(items.shape, "unstack")
        self._check_shape(shape)
        known = shape if shape.is_fully_defined() else _rest_of(items)
        with self._scope(name, "TensorArrayUnstack"), self._scope(None, "TensorArrayScatter"):
            once = self._clears and self._is_one_object()
            return self._with(tensor_list_from_tensor(items, known, "TensorArrayScatterV3", once))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the items along the first axis of a tensor at some indices.

        Args:
            indices: an int32 vector, an index for each item.
            value: the tensor.
            name: wanted name.

        Raises:
            TypeError: for a value of another dtype.
            ValueError: for a scalar, or a value whose items have another shape.
        """
        items = self._value(value)
        self._check_shape(_without_first(items.shape, "scatter"))
        places = convert_to_tensor(indices, int32, graph=items.graph)
        if not places.shape.is_compatible_with(items.shape[:1]):
            raise ValueError(
                f"TensorArray.scatter: Dimensions must be equal, but are {items.shape} and "
                f"{places.shape}: an index for each item"
            )
        with self._scope(name, "TensorArrayScatter"):
            return self._with(
                tensor_list_scatter(items, places, self.element_shape, self._flow, name="TensorArrayScatterV3")
            )

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return an array of slices of a tensor along its first axis.

        Args:
            value: the tensor.
            lengths: the length of each slice, an integer vector.
            name: wanted name.

        Raises:
            TypeError: for a value of another dtype.
            ValueError: for a scalar, or a value whose slices have another shape.
        """
        items = self._value(value)
        rest = _without_first(items.shape, "split")
        sizes = cast(convert_to_tensor(lengths, graph=self._flow.graph), int64)
        known = constant_value(sizes)
        same = known is not None and known.ndim == 1 and known.size > 0 and np.ptp(known) == 0
        if same and known is not None and rest.sizes is not None:
            self._check_shape(TensorShape([int(known[0]), *rest.sizes]))
        dims = rest.sizes
        shape = TensorShape(None) if dims is None else TensorShape([None, *dims])
        with self._scope(name, "TensorArraySplit"):
            once = self._clears and self._is_one_object()
            return self._with(tensor_list_split(items, shape, sizes, "TensorArraySplitV3", once))

    # -- other methods -------------------------------------------------------------------------

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements."""
        if self._size is not None and not self._dynamic_size:
            return self._size
        return tensor_list_length(self._flow, name or "TensorArraySizeV3")

    def identity(self) -> TensorArray:
        """Return the same array, copied by an ``Identity`` operation."""
        return self._with(raw.Identity(self._flow))

    def close(self, name: str | None = None) -> Operation:
        """Return an operation that does nothing, since an array is released after its last reader."""
        return make("NoOp", [], None, name or "TensorArrayCloseV3", self._flow.graph)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Raise NotImplementedError, as in TensorFlow 2: ``gradients`` builds the gradients of arrays itself.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("TensorArray.grad: gradients go through arrays by themselves")


def _without_first(shape: TensorShape, what: str) -> TensorShape:
    if shape.sizes is None:
        return shape
    if not shape.sizes:
        raise ValueError(f"TensorArray.{what}: a value of rank 1 at least is needed, got a scalar")
    return TensorShape(shape.sizes[1:])


def _rest_of(items: Tensor) -> Tensor:
    """Return the dynamic shape of items along the first axis."""
    whole = raw.Shape(items)
    return whole[1:]
