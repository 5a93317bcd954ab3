"""The datasets that are made of no other one, and of several: class methods of ``Dataset``."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, float64, int32, int64, string
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor, make_one
from actorsession.ops.elements.cast import cast
from actorsession.ops.flow.assertions import Assert
from actorsession.ops.randomness.numbers import get_seed
from actorsession.opsets.datasets.elements import (
    DatasetSpec,
    is_dataset,
    leaves,
    like,
    mapped,
    merged,
    said_of,
    spec_of,
    structure_of,
)
from actorsession.opsets.datasets.generators import generator_functions
from actorsession.opsets.parsing.files import matching_files
from actorsession.opsets.text.joining import reduce_join

if TYPE_CHECKING:
    from actorsession.opsets.datasets.dataset import Dataset


def from_tensors(cls: type[Dataset], tensors: Any, name: str | None = None) -> Dataset:
    """Return a dataset of one element.

    Args:
        tensors: the element: a nest of tensors.
        name: wanted name.
    """
    structure, components = spec_of(tensors, "component")
    return cls._of_node("TensorDataset", structure, {"components": components}, name=name)


def from_tensor_slices(cls: type[Dataset], tensors: Any, name: str | None = None) -> Dataset:
    """Return a dataset of the rows of tensors.

    Args:
        tensors: a nest of tensors whose first dimensions have the same size.
        name: wanted name.

    Raises:
        ValueError: for scalars, or first dimensions that differ.
    """
    whole, components = spec_of(tensors, "component", by_rows=True)
    specs: list[Any] = []
    size: int | None = None
    for leaf in leaves(whole):
        shape: TensorShape = leaf.shape
        if shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        first = None if shape.sizes is None else shape.sizes[0]
        if None not in (first, size) and first != size:
            raise ValueError(f"Dimensions {size} and {first} are not compatible")
        size = first if first is not None else size
        rest = TensorShape(None) if shape.sizes is None else shape[1:]
        specs.append(type(leaf)(leaf.dtype, rest))
    if not specs:
        raise ValueError("Invalid `element`. `element` should not be empty.")
    structure = like(whole, specs)
    return cls._of_node("TensorSliceDataset", structure, {"components": components}, name=name)


def from_sparse_tensor_slices(cls: type[Dataset], sparse_tensor: Any) -> Dataset:
    """Return a dataset of the rows of a sparse tensor, as tuples of indices, values and shape."""
    rank = sparse_tensor.get_shape().rank
    specs = (
        TensorSpec(int64, TensorShape([None, None if rank is None else rank - 1])),
        TensorSpec(sparse_tensor.dtype, TensorShape([None])),
        TensorSpec(int64, TensorShape([None if rank is None else rank - 1])),
    )
    parts = {key: getattr(sparse_tensor, key) for key in ("indices", "values", "dense_shape")}
    return cls._of_node("SparseTensorSliceDataset", specs, parts)


def range_(cls: type[Dataset], *args: Any, **kwargs: Any) -> Dataset:
    """Return a dataset of numbers at equal distances; arguments as Python's ``range``.

    Args:
        *args: the end; or the start, the end and the distance.
        **kwargs: ``output_type``, the dtype of the numbers, int64 by default; ``name``.
    """
    if not 1 <= len(args) <= 3:
        raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
    dtype = as_dtype(kwargs.get("output_type") or int64)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    spec = TensorSpec(dtype, scalar_shape)
    limits = {"start": start, "stop": stop, "step": step}
    return cls._of_node("RangeDataset", spec, limits, name=kwargs.get("name"))


def random(
    cls: type[Dataset], seed: int | None = None, rerandomize_each_iteration: Any = None, name: str | None = None
) -> Dataset:
    """Return a dataset of random numbers of 32 bits, without end."""
    spec = TensorSpec(int64, scalar_shape)
    if rerandomize_each_iteration is None:
        return cls._of_node("RandomDataset", spec, seeds(seed), name=name)
    epochs = make_one("DummySeedGenerator", (), {}, "DummySeedGenerator", get_default_graph())
    return cls._of_node(
        "RandomDatasetV2",
        spec,
        {**seeds(seed), "seed_generator": epochs},
        name=name,
        rerandomize_each_iteration=bool(rerandomize_each_iteration),
    )


def from_generator(
    cls: type[Dataset],
    generator: Callable[..., Any],
    output_types: Any = None,
    output_shapes: Any = None,
    args: Sequence[Any] | None = None,
    output_signature: Any = None,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of what a Python generator gives, in the process that has built the graph.

    Args:
        generator: a function that returns an object to iterate over; called for each pass.
        output_types: a nest of dtypes.
        output_shapes: a nest of shapes; unknown if left out.
        args: tensors whose values the function gets as arguments.
        output_signature: a nest of objects with ``dtype`` and ``shape``, in place of the two.
        name: wanted name.

    Raises:
        TypeError: if ``generator`` cannot be called, or no dtypes are given.
    """
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if output_signature is not None:
        output_types = mapped(lambda leaf: leaf.dtype, output_signature)
        output_shapes = mapped(lambda leaf: leaf.shape, output_signature)
    if output_types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the `output_signature` "
            "argument or the `output_types` argument."
        )
    structure = structure_of(output_types, output_shapes)
    tensors = [convert_to_tensor(value) for value in args or ()]
    functions = generator_functions(generator, structure, tensors, get_default_graph())
    return cls._of_node("GeneratorDataset", structure, None, functions, name=name)


def list_files(
    cls: type[Dataset], file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
) -> Dataset:
    """Return a dataset of the paths that match patterns.

    Args:
        file_pattern: a pattern or several.
        shuffle: whether they come in random order, which is the default; else sorted.
        seed: seed of that order.
        name: wanted name.

    Returns:
        The dataset. InvalidArgumentError at run time if no file matches.
    """
    graph = get_default_graph()
    with graph.name_scope(name or "list_files"):
        patterns = convert_to_tensor(file_pattern, string, name="file_pattern")
        paths = matching_files(patterns)
        count = raw.Size(paths, out_type=int64)
        said = "No files matched pattern: " + reduce_join(patterns, separator=", ")
        check = Assert(raw.Greater(count, constant(0, int64)), [said], summarize=1)
        with graph.control_dependencies([check]):
            paths = raw.Identity(paths)
        dataset = cls.from_tensor_slices(paths)
        if shuffle is None or shuffle:
            dataset = dataset.shuffle(raw.Maximum(count, constant(1, int64)), seed=seed)
        return dataset


def zip_(cls: type[Dataset], *args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
    """Return a dataset of elements side by side; it ends with the shortest.

    Args:
        *args: datasets, or one nest of them.
        datasets: a nest of datasets.
        name: wanted name.

    Raises:
        TypeError: for anything else.
    """
    if datasets is None:
        datasets = args[0] if len(args) == 1 else args
    if isinstance(datasets, list):
        raise TypeError(
            "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
            "`Dataset` objects. Python `list` is not supported and you should use `tuple` "
            "instead."
        )
    sources = leaves(datasets)
    for source in sources:
        if not is_dataset(source):
            raise TypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                f"`Dataset` objects but encountered object of type {type(source)}."
            )
    structure = like(datasets, [source._structure for source in sources])
    return cls._of_node("ZipDataset", structure, {"input_datasets": sources}, name=name)


def counter(cls: type[Dataset], start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> Dataset:
    """Return a dataset of numbers at equal distances, without end."""
    with get_default_graph().name_scope("counter"):
        first = convert_to_tensor(start, as_dtype(dtype), name="start")
        distance = convert_to_tensor(step, as_dtype(dtype), name="step")
        endless = cls.from_tensors(0).repeat()
        return endless.scan(first, lambda state, _: (state + distance, state))


def _joined(datasets: Sequence[Dataset]) -> Any:
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    structure = datasets[0]._structure
    for other in datasets[1:]:
        try:
            structure = merged(structure, other._structure)
        except TypeError as exc:
            raise TypeError(
                "Invalid `datasets`. `datasets` must have compatible element specs.\n"
                f"{said_of(structure)} is not compatible with {said_of(other._structure)}."
            ) from exc
    return structure


def choose_from_datasets(
    cls: type[Dataset], datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
) -> Dataset:
    """Return a dataset of elements of several, as a dataset of their numbers says.

    Args:
        datasets: datasets of one structure.
        choice_dataset: a dataset of int64 scalars.
        stop_on_empty_dataset: whether the end of one of them is the end; else it is passed over from then on.
    """
    choice = choice_dataset._structure
    if isinstance(choice, DatasetSpec) or getattr(choice, "dtype", None) is not int64 or choice.shape.rank:
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `int64` tensors but "
            f"are {said_of(choice)}."
        )
    return _directed(choice_dataset, datasets, stop_on_empty_dataset)


def _directed(choice: Dataset, datasets: Sequence[Dataset], stops: bool) -> Dataset:
    inputs = {"selector_input_dataset": choice, "data_input_datasets": list(datasets)}
    return choice._of_node("DirectedInterleaveDataset", _joined(datasets), inputs, stop_on_empty_dataset=stops)


def sample_from_datasets(
    cls: type[Dataset],
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
    rerandomize_each_iteration: bool | None = None,
) -> Dataset:
    """Return a dataset of elements of several, drawn at random.

    Args:
        datasets: datasets of one structure.
        weights: the probability of each, a tensor; equal if left out.
        seed: seed of the draws.
        stop_on_empty_dataset: whether the end of one of them is the end; else it is passed over from then on.
        rerandomize_each_iteration: without effect.

    Raises:
        ValueError: for another number of weights.
    """
    _joined(datasets)
    if weights is None:
        weights = [1.0 / len(datasets)] * len(datasets)
    if not isinstance(weights, Tensor) and len(weights) != len(datasets):
        raise ValueError(
            "Invalid `weights`. `weights` should have the same length as `datasets` but got "
            f"`len(weights)={len(weights)}` vs. `len(datasets)={len(datasets)}`."
        )
    shares = cast(weights, float64) if isinstance(weights, Tensor) else convert_to_tensor(weights, float64)
    odds = ops.expand_dims(ops.log(shares), 0)

    def drawn(seeds: Tensor) -> Tensor:
        choice = make_one("StatelessMultinomial", [odds, constant(1, int32), seeds], {"output_dtype": int64}, "drawn")
        return ops.squeeze(choice)

    choices = cls.random(seed).batch(2, drop_remainder=True).map(drawn)
    return _directed(choices, datasets, stop_on_empty_dataset)


# How many datasets of a graph with a seed have none of their own; each has the next number as its second one.
_SEEDED: weakref.WeakKeyDictionary[Graph, int] = weakref.WeakKeyDictionary()


def seeds(seed: int | None) -> dict[str, Any]:
    """Return the two seeds of a node, for a seed of the user and that of the default graph."""
    graph = get_default_graph()
    if seed is None and graph.seed is not None:
        seed = _SEEDED.get(graph, 0)
        _SEEDED[graph] = seed + 1
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}
