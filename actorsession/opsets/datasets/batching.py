"""The steps of a pipeline that join elements or take them apart: methods of ``Dataset``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import int64
from actorsession.graph.graph import control_dependencies
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, as_shape, scalar_shape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.flow.checks import assert_less
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.opsets.datasets.elements import DatasetSpec, SparseSpec, leaves, like, mapped, said_of, taken
from actorsession.opsets.datasets.mapping import deterministic_attr
from actorsession.opsets.datasets.tracing import trace, traced

if TYPE_CHECKING:
    from actorsession.opsets.datasets.dataset import Dataset


def batch(
    self: Dataset,
    batch_size: Any,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of elements joined to one, with a new first dimension.

    Args:
        batch_size: the number of elements.
        drop_remainder: whether a smaller last batch is left out.
        num_parallel_calls: kept in the node, without effect.
        deterministic: kept in the node, without effect.
        name: wanted name.
    """
    size = static_size(batch_size, drop_remainder)
    structure = mapped(lambda leaf: stacked(leaf, size), self._structure)
    settings = {"batch_size": batch_size, "drop_remainder": drop_remainder}
    if num_parallel_calls is None:
        return self._then("BatchDatasetV2", settings, None, structure, name=name)
    settings["num_parallel_calls"] = num_parallel_calls
    return self._then(
        "ParallelBatchDataset", settings, None, structure, name=name, deterministic=deterministic_attr(deterministic)
    )


def padded_batch(
    self: Dataset,
    batch_size: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    drop_remainder: Any = False,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of elements filled up to a common shape and joined to one.

    Args:
        batch_size: the number of elements.
        padded_shapes: a nest of shapes, lists or vectors; a size of ``None`` or -1 stands for the largest
            among the elements of a batch.
        padding_values: a nest of scalars; zeros and empty strings if left out.
        drop_remainder: whether a smaller last batch is left out.
        name: wanted name.

    Raises:
        TypeError: for sparse tensors, or values of other dtypes.
        ValueError: for shapes of another rank.
    """
    components = leaves(self._structure)
    if any(not isinstance(leaf, TensorSpec) for leaf in components):
        raise TypeError(
            "`padded_batch` is only supported for datasets that produce tensor elements but its "
            f"elements are {said_of(self._structure)}."
        )
    if padded_shapes is None:
        for number, leaf in enumerate(components):
            if leaf.shape.rank is None:
                raise ValueError(
                    f"You must provide `padded_shapes` argument because component {number} has unknown rank."
                )
        padded_shapes = mapped(lambda leaf: leaf.shape, self._structure)
    size = static_size(batch_size, drop_remainder)
    specs, vectors = [], []
    shapes = taken(self._structure, padded_shapes, "padded_shapes")
    for leaf, shape in zip(components, shapes, strict=True):
        vector, known = _padded_shape(shape, leaf.shape)
        vectors.append(vector)
        sizes = TensorShape(None) if known is None else TensorShape([size, *known])
        specs.append(TensorSpec(leaf.dtype, sizes))
    settings = {
        "batch_size": batch_size,
        "padded_shapes": vectors,
        "padding_values": _fillers(self, padding_values),
        "drop_remainder": drop_remainder,
    }
    structure = like(self._structure, specs)
    return self._then("PaddedBatchDatasetV2", settings, None, structure, name=name)


def _fillers(self: Dataset, padding_values: Any) -> list[Tensor]:
    components = leaves(self._structure)
    if padding_values is None:
        values: list[Any] = [None] * len(components)
    elif len(components) > 1 and not isinstance(padding_values, (tuple, list, Mapping)):
        values = [padding_values] * len(components)
    else:
        values = taken(self._structure, padding_values, "padding_values")
    fillers = []
    for leaf, value in zip(components, values, strict=True):
        plain = (b"" if leaf.dtype.kind == "s" else 0) if value is None else value
        if leaf.dtype.is_bool and value is None:
            plain = False
        filler = convert_to_tensor(plain, leaf.dtype if value is None else None)
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            filler = convert_to_tensor(plain, leaf.dtype)
        if filler.dtype is not leaf.dtype:
            raise TypeError(
                f"Invalid `padding_values`. `padding_values` values type {filler.dtype} does not match "
                f"type {leaf.dtype} of the corresponding input component."
            )
        if filler.shape.rank not in (None, 0):
            raise ValueError(f"Padding value should be a scalar, but is {value!r:.100}")
        fillers.append(filler)
    return fillers


def _padded_shape(shape: Any, element: TensorShape) -> tuple[Any, list[int | None] | None]:
    """Return a padded shape as a vector, and its static sizes."""
    if isinstance(shape, Tensor) or hasattr(shape, "_operand"):
        value = get_static_value(convert_to_tensor(shape))
        if value is None:
            return shape, None if element.rank is None else [None] * element.rank
        shape = [int(size) for size in value]
    elif isinstance(shape, TensorShape):
        if shape.sizes is None:
            shape = element
        shape = shape.as_list()
    known = [None if size is None or int(size) < 0 else int(size) for size in as_sizes(shape)]
    if element.rank is not None and len(known) != element.rank:
        raise ValueError(
            f"The padded shape {tuple(known)} is not compatible with the shape {element} of the "
            "corresponding input component."
        )
    for padded, size in zip(known, element.sizes or (), strict=False):
        if padded is not None and size is not None and size > padded:
            raise ValueError(
                f"The padded shape {tuple(known)} is not compatible with the shape {element} of the "
                "corresponding input component."
            )
    return [-1 if size is None else size for size in known], known


def as_sizes(shape: Any) -> list[Any]:
    """Return the sizes of a list, whose items may be ``Dimension`` objects."""
    return [getattr(size, "value", size) for size in shape]


def unbatch(self: Dataset, name: str | None = None) -> Dataset:
    """Return a dataset of the rows of each element."""
    firsts = {leaf.shape.sizes[0] for leaf in leaves(self._structure) if leaf.shape.rank} - {None}
    if len(firsts) > 1:
        raise ValueError(
            "`unbatch()` is only supported for datasets of elements whose components have a matching "
            f"leading dimension. Encountered both {' and '.join(map(str, sorted(firsts)))}."
        )
    structure = mapped(_row, self._structure)
    return self._then("UnbatchDataset", None, None, structure, name=name)


def rebatch(self: Dataset, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Dataset:
    """Return a dataset of batches of another size."""
    return self.unbatch().batch(batch_size, drop_remainder, name=name)


def sparse_batch(self: Dataset, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
    """Return a dataset of elements of different sizes, joined to sparse tensors.

    Args:
        batch_size: the number of elements.
        row_shape: the shape of a row of the result, which is at least as large as every element.
        name: wanted name.

    Raises:
        TypeError: if elements have several components.
    """
    leaf = self._structure
    if not isinstance(leaf, TensorSpec):
        raise TypeError(
            "`dense_to_sparse_batch` requires an input dataset whose elements have a single "
            "component, but the given dataset has the following component types: "
            f"{self.output_types}."
        )
    shape = as_shape(row_shape)
    sizes = [-1 if size is None else size for size in shape.as_list()]
    settings = {"batch_size": batch_size, "row_shape": sizes}
    structure = SparseSpec(leaf.dtype, TensorShape([None, *shape.as_list()]))
    return self._then("DenseToSparseBatchDataset", settings, None, structure, name=name)


def window(
    self: Dataset, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False, name: str | None = None
) -> Dataset:
    """Return a dataset of datasets of some successive elements, one for each component.

    Args:
        size: the number of elements in a window.
        shift: the distance of windows; their size if left out.
        stride: the distance of elements in a window.
        drop_remainder: whether smaller windows at the end are left out.
        name: wanted name.
    """
    structure = mapped(DatasetSpec, self._structure)
    settings = {
        "size": size,
        "shift": size if shift is None else shift,
        "stride": stride,
        "drop_remainder": drop_remainder,
    }
    return self._then("WindowDataset", settings, None, structure, name=name)


def group_by_window(
    self: Dataset,
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of the elements of the datasets that a function makes of elements with one key.

    Args:
        key_func: a function of an element that returns an int64 scalar.
        reduce_func: a function of a key and a dataset of elements that returns a dataset.
        window_size: the number of elements with one key that are taken together.
        window_size_func: a function of the key that returns that number.
        name: wanted name.

    Raises:
        ValueError: unless exactly one of the last two is given.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
    key, key_spec = self._traced(key_func, "key_function")
    if not isinstance(key_spec, TensorSpec) or key_spec.dtype is not int64:
        raise ValueError(f"Invalid `key_func`. It must return a single `int64` scalar tensor, got {key_spec}")
    graph = self._dataset_tensor.graph
    scalar = TensorSpec(int64, scalar_shape)

    def sized(values: list[Tensor]) -> list[Tensor]:
        size = window_size if window_size_func is None else window_size_func(values[0])
        return [convert_to_tensor(size, int64, graph=graph)]

    group = [scalar, DatasetSpec(self._structure)]
    reduced, result = trace(reduce_func, group, graph, "reduce_function")
    if not isinstance(result, DatasetSpec):
        raise TypeError(
            "Invalid `reduce_func`. `reduce_func` must return a single `Dataset` object "
            f"but its return type is {said_of(result)}."
        )
    functions = {
        "key_func": key,
        "reduce_func": reduced,
        "window_size_func": traced(sized, [scalar], graph, "window_size_function"),
    }
    return self._then("GroupByWindowDataset", None, functions, result.structure, name=name)


def bucket_by_sequence_length(
    self: Dataset,
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of padded batches of elements of similar length.

    Args:
        element_length_func: a function of an element that returns its length.
        bucket_boundaries: lengths at which buckets begin, but for the first one.
        bucket_batch_sizes: the number of elements in a batch of each bucket.
        padded_shapes: see ``Dataset.padded_batch``.
        padding_values: see ``Dataset.padded_batch``.
        pad_to_bucket_boundary: whether unknown sizes are the largest that the bucket allows, and not those of
            the batch; InvalidArgumentError at run time for an element of the last bucket.
        no_padding: whether elements are joined as they are; for sparse tensors.
        drop_remainder: whether smaller batches at the end are left out.
        name: wanted name.

    Raises:
        ValueError: unless there is one more batch size than boundaries.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
            f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
            f"`len(bucket_boundaries)={len(bucket_boundaries)}`."
        )
    boundaries, sizes = list(bucket_boundaries), list(bucket_batch_sizes)

    def key(*element: Any) -> Tensor:
        length = cast(convert_to_tensor(element_length_func(*element)), int64)
        if not boundaries:
            return constant(0, int64)
        passed = cast(less(length, constant(boundaries, int64)), int64)
        return len(boundaries) - reduce_sum(passed)

    def sized(bucket: Any) -> Any:
        return constant(sizes, int64)[bucket]

    def reduced(bucket: Any, group: Dataset) -> Dataset:
        size = sized(bucket)
        if no_padding:
            return group.batch(size, drop_remainder)
        shapes = group.output_shapes if padded_shapes is None else padded_shapes
        if pad_to_bucket_boundary:
            check = assert_less(
                bucket,
                constant(len(boundaries), int64),
                message="When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).",
            )
            with control_dependencies([check]):
                filler = constant([b - 1 for b in boundaries], int64)[bucket]
            shapes = mapped(lambda shape: _filled(shape, filler), _as_shapes(group, shapes))
        return group.padded_batch(size, shapes, padding_values, drop_remainder)

    return self.group_by_window(key, reduced, window_size_func=sized, name=name)


def _as_shapes(group: Dataset, shapes: Any) -> Any:
    return like(group._structure, taken(group._structure, shapes, "padded_shapes"))


def _filled(shape: Any, filler: Tensor) -> Tensor:
    sizes = as_shape(shape).as_list()
    if not sizes:
        return constant([], int64)
    return convert_to_tensor([filler if size is None else constant(size, int64) for size in sizes])


def static_size(batch_size: Any, drop_remainder: Any) -> int | None:
    """Return the size of all batches, if it is one and known."""
    size, drops = [
        get_static_value(value) if isinstance(value, Tensor) else value for value in (batch_size, drop_remainder)
    ]
    if not isinstance(size, (int, np.integer)):
        return None
    return int(size) if size is not None and drops is not None and bool(drops) else None


def stacked(leaf: Any, size: int | None) -> Any:
    """Return the static type of several values that are joined to one."""
    if isinstance(leaf, DatasetSpec):
        raise TypeError("Batching of datasets of a window is not supported: use flat_map")
    if leaf.shape.sizes is None:
        return leaf
    return type(leaf)(leaf.dtype, TensorShape([size, *leaf.shape.sizes]))


def _row(leaf: Any) -> Any:
    if leaf.shape.rank == 0:
        raise ValueError("Cannot unbatch an input with scalar components.")
    return leaf if leaf.shape.sizes is None else type(leaf)(leaf.dtype, leaf.shape[1:])
