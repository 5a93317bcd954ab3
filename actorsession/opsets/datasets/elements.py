"""The structure of a dataset's elements, and the conversion between structures and flat tensors.

Tuples, named tuples and dictionaries nest; everything else is a leaf: a tensor, a sparse tensor, or a dataset
(of a window). Lists are values that become one tensor, as in TensorFlow. A structure here has static types as
its leaves: ``TensorSpec``, ``SparseSpec`` or ``DatasetSpec``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, variant
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, as_shape, scalar_shape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.flow.extensions import common_shape
from actorsession.opsets.sparse.basics import SparseTensor, SparseTensorValue
from actorsession.opsets.sparse.serialising import deserialize_sparse, serialize_many_sparse, serialize_sparse
from actorsession.records import dataclass

__all__ = [
    "DatasetSpec", "SparseSpec", "dtype_of", "flat_specs", "is_dataset", "is_nested", "leaves", "like",
    "mapped", "merged", "output_attrs", "packed", "said_of", "spec_of", "structure_of", "taken",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparseSpec:
    """The static type of a sparse tensor.

    Attributes:
        dtype: dtype of its values.
        shape: static shape of the whole.
    """

    dtype: DType
    shape: TensorShape


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """The static type of a dataset that is an element of another one.

    Attributes:
        structure: the structure of its elements.
    """

    structure: Any

    def __repr__(self) -> str:
        return said_of(self)


# -- structures --------------------------------------------------------------------------------


def is_nested(value: Any) -> bool:
    """Return whether a value is a structure rather than a leaf."""
    return isinstance(value, (tuple, Mapping)) and not isinstance(value, (SparseTensorValue, TensorShape))


def _items(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def leaves(structure: Any) -> list[Any]:
    """Return the leaves, in order; dictionaries by sorted keys."""
    if not is_nested(structure):
        return [structure]
    return [leaf for item in _items(structure) for leaf in leaves(item)]


def like(structure: Any, values: Sequence[Any]) -> Any:
    """Return a structure with other leaves."""
    return _like(structure, iter(values))


def _like(structure: Any, values: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(values)
    if isinstance(structure, Mapping):
        members = {key: _like(structure[key], values) for key in sorted(structure)}
        ordered = {key: members[key] for key in structure}
        kind: Any = type(structure)
        return ordered if kind is dict else kind(ordered)
    items = [_like(item, values) for item in structure]
    return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return a structure of what a function makes of each leaf."""
    return like(structure, [function(leaf) for leaf in leaves(structure)])


def dtype_of(leaf: Any) -> Any:
    """Return the dtype of a leaf of a structure; a dataset has none, and stands for itself."""
    return getattr(leaf, "dtype", leaf)


def taken(structure: Any, items: Any, what: str) -> list[Any]:
    """Return the item of another structure for each leaf of a structure.

    An item may be anything, a list for example. A single item that is no structure stands for all leaves.

    Raises:
        TypeError: if the other is no structure of the same form.
        ValueError: if it has other keys or another number of items.
    """
    if not is_nested(structure):
        return [items]
    if isinstance(structure, Mapping):
        if not isinstance(items, Mapping):
            raise TypeError(f"{what}: a dictionary with the keys {sorted(structure)} is needed, got {items!r:.200}")
        if set(items) != set(structure):
            raise ValueError(f"{what}: the keys are {sorted(structure)}, got {sorted(items)}")
        return [item for key in sorted(structure) for item in taken(structure[key], items[key], what)]
    if not isinstance(items, (tuple, list)):
        raise TypeError(f"{what}: a tuple of {len(structure)} is needed, got {items!r:.200}")
    if len(items) != len(structure):
        raise ValueError(f"{what}: a tuple of {len(structure)} is needed, got {len(items)}: {items!r:.200}")
    return [item for one, other in zip(structure, items, strict=True) for item in taken(one, other, what)]


def structure_of(types: Any, shapes: Any = None, classes: Any = None) -> Any:
    """Return the structure for a structure of dtypes, and of shapes and classes if they are known.

    Raises:
        TypeError: if the structures differ, or an entry is no dtype.
        ValueError: likewise.
    """
    dtypes = [d if isinstance(d, DatasetSpec) else as_dtype(d) for d in leaves(types)]
    count = len(dtypes)
    known = [None] * count if shapes is None else taken(types, shapes, "output_shapes")
    kinds = [Tensor] * count if classes is None else leaves(classes)
    specs: list[Any] = []
    for dtype, shape, kind in zip(dtypes, known, kinds, strict=True):
        if isinstance(dtype, DatasetSpec):
            specs.append(dtype)
            continue
        sparse = isinstance(kind, type) and issubclass(kind, SparseTensor)
        specs.append((SparseSpec if sparse else TensorSpec)(dtype, as_shape(shape)))
    return like(types, specs)


def merged(one: Any, other: Any) -> Any:
    """Return the structure that elements of both have; sizes that differ are not known.

    Raises:
        TypeError: if the structures or the dtypes differ.
    """
    first, second = leaves(one), leaves(other)
    if len(first) != len(second) or mapped(_kind, one) != mapped(_kind, other):
        raise TypeError(f"Incompatible dataset elements:\n  {said_of(one)} vs. \n  {said_of(other)}")
    specs = []
    for a, b in zip(first, second, strict=True):
        specs.append(a if isinstance(a, DatasetSpec) else type(a)(a.dtype, common_shape(a.shape, b.shape)))
    return like(one, specs)


def _kind(leaf: Any) -> Any:
    return type(leaf) if isinstance(leaf, DatasetSpec) else (type(leaf).__name__, leaf.dtype.name)


# -- flat tensors --------------------------------------------------------------------------------


def flat_specs(structure: Any) -> list[TensorSpec]:
    """Return the static types of the tensors that make an element."""
    specs: list[TensorSpec] = []
    for leaf in leaves(structure):
        if isinstance(leaf, SparseSpec):
            specs.append(TensorSpec(variant, TensorShape(None)))
        elif isinstance(leaf, DatasetSpec):
            specs.append(TensorSpec(variant, scalar_shape))
        else:
            specs.append(leaf)
    return specs


def said_of(structure: Any) -> str:
    """Return a structure as TensorFlow writes it."""
    if isinstance(structure, Mapping):
        items = ", ".join([f"{key!r}: {said_of(value)}" for key, value in structure.items()])
        return f"{{{items}}}"
    if is_nested(structure):
        parts = [said_of(item) for item in structure]
        if hasattr(structure, "_fields"):
            named = [f"{key}={part}" for key, part in zip(structure._fields, parts, strict=True)]
            return f"{type(structure).__name__}({', '.join(named)})"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(structure, TensorSpec):
        return f"TensorSpec(shape={_said_shape(structure.shape)}, dtype={structure.dtype!r}, name=None)"
    if isinstance(structure, SparseSpec):
        return f"SparseTensorSpec({structure.shape!r}, {structure.dtype!r})"
    if isinstance(structure, DatasetSpec):
        return f"DatasetSpec({said_of(structure.structure)}, TensorShape([]))"
    return str(structure)


def _said_shape(shape: TensorShape) -> str:
    if shape.sizes is None:
        return "<unknown>"
    sizes = ["?" if size is None else str(size) for size in shape.sizes]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def output_attrs(structure: Any) -> dict[str, Any]:
    """Return the attributes by which a node says what elements it gives."""
    specs = flat_specs(structure)
    return {
        "output_types": tuple([spec.dtype for spec in specs]),
        "output_shapes": tuple([spec.shape for spec in specs]),
    }


def is_dataset(value: Any) -> bool:
    """Return whether a value is a dataset; its class is in a module that imports this one."""
    return hasattr(value, "_dataset_tensor")


def spec_of(value: Any, name: str = "value", *, by_rows: bool = False) -> tuple[Any, list[Tensor]]:
    """Return the structure of a nest of values, and their tensors.

    Args:
        value: tensors, sparse tensors, datasets, variables and whatever converts to a tensor.
        name: the beginning of the names of constants that are made.
        by_rows: whether a sparse tensor becomes a variant tensor whose rows are its own.
    """
    specs: list[Any] = []
    tensors: list[Tensor] = []
    for leaf in leaves(value):
        if isinstance(leaf, SparseTensorValue):
            leaf = SparseTensor.from_value(leaf)
        if isinstance(leaf, SparseTensor):
            specs.append(SparseSpec(leaf.dtype, leaf.get_shape()))
            write = serialize_many_sparse if by_rows else serialize_sparse
            tensors.append(write(leaf, out_type=variant))
        elif is_dataset(leaf):
            specs.append(DatasetSpec(leaf._structure))
            tensors.append(leaf._dataset_tensor)
        else:
            tensor = convert_to_tensor(leaf, name=f"{name}_{len(tensors)}")
            specs.append(tensor.spec)
            tensors.append(tensor)
    return like(value, specs), tensors


def packed(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """Return the tensors of an element as the nest that it is.

    Args:
        structure: the structure.
        tensors: its tensors.
    """
    rest = iter(tensors)
    values: list[Any] = []
    for leaf in leaves(structure):
        if isinstance(leaf, SparseSpec):
            sparse = deserialize_sparse(next(rest), leaf.dtype, leaf.shape.rank)
            if leaf.shape.rank is not None and hasattr(sparse, "set_shape"):
                sparse.set_shape(leaf.shape)
            values.append(sparse)
        elif isinstance(leaf, DatasetSpec):
            from actorsession.opsets.datasets.dataset import Dataset

            values.append(Dataset(next(rest), leaf.structure))
        else:
            values.append(next(rest))
    return like(structure, values)
