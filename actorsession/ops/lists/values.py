"""The value of a variant tensor: an immutable list of tensors.

The kernels of ``lists.nodes`` make and read such lists. Items are borrowed and read-only, as every value is.
An item that was never set is ``None`` and reads as zeros. Several lists share their common structure; see
``persistent_vector``. A list is sent as its dtype, its shape and its items.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.graph import codec
from actorsession.graph.dtypes import DType
from actorsession.graph.registry import Array
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.lists.persistent_vector import EMPTY, WIDTH, PersistentVector
from actorsession.plan.codegen.bind import GENERATED_CODE_NAMES

__all__ = ["TensorList", "as_element", "empty_list", "fits", "new_list"]


def fits(shape: TensorShape, extents: tuple[int, ...]) -> bool:
    """Return whether a static shape is compatible with the shape of a value.

    The result is that of ``is_compatible_with``, but no shape object is made: gradients of loops call this
    for each item of each iteration.
    """
    sizes = shape.sizes
    if sizes is None or sizes == extents:
        return True
    if len(sizes) != len(extents):
        return False
    for size, extent in zip(sizes, extents, strict=True):  # noqa: SIM110 - all() would take twice as long
        if size is not None and size != extent:
            return False
    return True


def as_element(value: Any) -> Array:
    """Return an array of rank 0 that holds a value of a variant tensor, which numpy would take apart."""
    element: Array = np.empty((), object)
    element[()] = value
    return element


class TensorList:
    """A list of tensors of one element dtype.

    Args:
        element_dtype: dtype of the items; ``None`` while it is undetermined, for the initially empty lists in
            which a loop accumulates values.
        element_shape: static shape of all items.
        items: the tensors; ``None`` for those that were never set.
        once: the indices of items that were read, if each may be read once only; the lists that come from one
            another in a step share them.
    """

    __slots__ = ("element_dtype", "element_shape", "items", "once")
    # Attributes that generic code reads of a value: a list is one element without a size.
    dtype = np.dtype(object)
    shape = ()
    ndim = 0
    size = 1
    nbytes = 0

    def __init__(
        self,
        element_dtype: DType | None,
        element_shape: TensorShape,
        items: PersistentVector,
        once: set[int] | None = None,
    ) -> None:
        self.element_dtype = element_dtype
        self.element_shape = element_shape
        self.items = items
        self.once = once

    def __len__(self) -> int:
        return len(self.items)

    def like(self, items: PersistentVector) -> TensorList:
        """Return a list of the same kind with other items."""
        return TensorList(self.element_dtype, self.element_shape, items, self.once)

    def appended(self, item: Any) -> TensorList:
        """Return the list with one more item."""
        if self.element_shape.sizes is not None:
            self.check(item)
        return self.like(self.items.append(item))

    def check(self, item: Any) -> None:
        """Raise InvalidArgumentError for an item of an incompatible shape."""
        if not fits(self.element_shape, np.shape(item)):
            raise InvalidArgumentError(
                f"a list of elements of shape {self.element_shape} does not take one of shape {list(np.shape(item))}"
            )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return as_element(self)

    def __repr__(self) -> str:
        return f"<TensorList of {len(self)} {self.element_dtype!r} {self.element_shape}>"

    # -- reading -------------------------------------------------------------------------------

    def item(self, index: int, shape: TensorShape) -> Any:
        """Return an item; zeros if it was never set.

        Args:
            index: the index.
            shape: static shape of the item at the reader.

        Raises:
            InvalidArgumentError: if the index is out of range, the item has another shape, or it was never
                set and its shape is not known.
        """
        if not 0 <= index < len(self.items):
            raise InvalidArgumentError(f"element {index} was asked for of a list of {len(self.items)} elements")
        self.read(index)
        element = self.items[index]
        if element is None:
            return self.zeros(shape)
        if not fits(shape, np.shape(element)):
            raise InvalidArgumentError(f"element {index} has shape {list(np.shape(element))}; {shape} was asked for")
        return element

    def read(self, *indices: int) -> None:
        """Record that items are read.

        Raises:
            InvalidArgumentError: if one may be read once only, and was read before.
        """
        if self.once is None:
            return
        for index in indices:
            if index in self.once:
                raise InvalidArgumentError(
                    f"Could not read index {index} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)"
                )
            if self.items[index] is not None:
                self.once.add(index)

    def zeros(self, shape: TensorShape) -> Any:
        """Return the value of an item that was never set, for a static shape at its reader.

        It has the shape of the items that were set where those say too little.

        Raises:
            InvalidArgumentError: if that shape and the list's contradict each other or are not fully defined.
        """
        known = self._merged(shape)
        if not known.is_fully_defined():
            shapes = {np.shape(item) for item in self.items if item is not None}
            if len(shapes) == 1 and fits(known, common := shapes.pop()):
                known = TensorShape(common)
        if not known.is_fully_defined():
            raise InvalidArgumentError(
                f"an element that was never set has shape {known}, which says too little to read it as zeros"
            )
        dtype = self.element_dtype
        return _filled(known.as_tuple(), dtype)

    def _merged(self, shape: TensorShape) -> TensorShape:
        try:
            return self.element_shape.merge_with(shape)
        except ValueError as exc:
            raise InvalidArgumentError(
                f"a list of elements of shape {self.element_shape} is read as one of shape {shape}"
            ) from exc

    def values(self, shape: TensorShape) -> tuple[list[Any], tuple[int, ...]]:
        """Return all items, zeros for those never set, and their common shape.

        Raises:
            InvalidArgumentError: if their shapes differ, or are not known.
        """
        self.read(*range(len(self.items)))
        items = list(self.items)
        known = self._merged(shape)
        for index, item in enumerate(items):
            if item is not None:
                extents = np.shape(item)
                if not fits(known, extents):
                    raise InvalidArgumentError(
                        f"element {index} has shape {list(extents)}; {known} is what the others have, or what "
                        "was asked for"
                    )
                known = TensorShape(extents)
        if not known.is_fully_defined():
            raise InvalidArgumentError(
                f"a list of {len(items)} elements of which none was set has elements of shape {known}, which "
                "says too little to read them"
            )
        dims = known.as_tuple()
        if any(item is None for item in items):
            nothing = _filled(dims, self.element_dtype)
            items = [nothing if item is None else item for item in items]
        return items, dims

    # -- sums, of which gradients are made -------------------------------------------------------

    def __add__(self, other: Any) -> TensorList:
        """Return the list of the sums of the items, where those that were never set count as zero.

        Raises:
            InvalidArgumentError: if the lists differ in length or dtype, or two items in shape.
        """
        if not isinstance(other, TensorList):
            return NotImplemented
        if self._is_nothing or other._is_nothing:
            return other if self._is_nothing else self
        if len(other) != len(self):
            raise InvalidArgumentError(f"lists of {len(self)} and {len(other)} elements cannot be added to each other")
        dtype = self.element_dtype or other.element_dtype
        if (other.element_dtype or dtype) is not dtype:
            raise InvalidArgumentError(
                f"a list of {dtype!r} and one of {other.element_dtype!r} cannot be added to each other"
            )
        sums = [_sum(*both) for both in zip(self.items, other.items, strict=True)]
        return TensorList(dtype, self.element_shape, PersistentVector.of(sums))

    def __pos__(self) -> TensorList:
        return self

    @property
    def _is_nothing(self) -> bool:
        """Whether it is what an unset item of a list of lists is read as, a zero of unknown form."""
        return self.element_dtype is None and not len(self.items)

    def zeros_like(self) -> TensorList:
        """Return a list of zeros with the shapes of the items."""
        zeros = PersistentVector.of([_zero(i, self.element_dtype) for i in self.items])
        return TensorList(self.element_dtype, self.element_shape, zeros)

    # -- wire form -----------------------------------------------------------------------------

    def to_wire(self) -> list[Any]:
        """Return the list as plain values."""
        return [self.element_dtype, self.element_shape, list(self.items)]

    @classmethod
    def from_wire(cls, value: Any) -> TensorList:
        """Return the list that ``to_wire`` encoded.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [(DType() | None) as dtype, TensorShape() as shape, list(items)]:
                return cls(dtype, shape, PersistentVector.of([_arrived(i, dtype) for i in items]))
        raise ProtocolError(f"not the wire form of a list: {reprlib.repr(value)}")


def _arrived(item: Any, dtype: DType | None) -> Any:
    if item is None:
        return None
    if dtype is None:
        raise ProtocolError("a list with items in it says of which dtype they are")
    if dtype.kind in "sv" and isinstance(item, (bytes, TensorList)):
        return item
    if not isinstance(item, np.ndarray) or item.dtype != dtype.np_dtype:
        raise ProtocolError(f"not a {dtype.name} tensor in a list: {reprlib.repr(item)}")
    return item if item.ndim else item[()]


codec.NESTED_CLASSES.fill("variants", codec.NestedClass(TensorList, TensorList.from_wire))


def _filled(dims: tuple[int, ...], dtype: DType | None) -> Any:
    assert dtype is not None, "a list of items has their dtype"
    if dtype.kind == "v":
        return empty_list(None)
    if dtype.kind != "s":
        return np.zeros(dims, dtype.np_dtype) if dims else dtype.np_dtype.type()
    array: Array = np.full(dims, b"", dtype=object)
    return array if dims else b""


def new_list(dtype: DType, shape: TensorShape, count: int) -> TensorList:
    """Return a list of items of which none was set."""
    if count <= WIDTH:
        return TensorList(dtype, shape, PersistentVector(count, 5, (), (None,) * count))
    return TensorList(dtype, shape, PersistentVector.of([None] * count))


def empty_list(dtype: DType | None, shape: TensorShape = unknown_shape) -> TensorList:
    """Return a list without items."""
    return TensorList(dtype, shape, EMPTY)


GENERATED_CODE_NAMES.fill("NO_ITEMS", empty_list(None))


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    if np.shape(one) != np.shape(other):
        shapes = f"{list(np.shape(one))} and {list(np.shape(other))}"
        raise InvalidArgumentError(f"elements of shapes {shapes} cannot be added to each other")
    return one + other


def _zero(item: Any, dtype: DType | None) -> Any:
    if item is None:
        return None
    return item.zeros_like() if isinstance(item, TensorList) else _filled(np.shape(item), dtype)
