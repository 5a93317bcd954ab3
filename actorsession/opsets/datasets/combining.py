"""Further steps of pipelines, most of them as functions for ``Dataset.apply``; names are TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, float32, float64, int32, int64, string
from actorsession.graph.graph import control_dependencies, get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, as_shape, scalar_shape
from actorsession.ops.build import constant, convert_to_tensor, make_one
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.flow.checks import assert_less
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.opsets.datasets.dataset import (
    Dataset,
    _seeds,
    _stacked,
    _static_size,
    as_arguments,
)
from actorsession.opsets.datasets.elements import (
    DatasetSpec,
    SparseSpec,
    flat_specs,
    like,
    mapped,
    merged,
    packed,
    said_of,
    spec_of,
    taken,
)
from actorsession.opsets.datasets.tracing import traced
from actorsession.opsets.parsing.examples import assembled, with_blocks
from actorsession.opsets.parsing.features import SparseFeature, wanted_of

__all__ = [
    "Counter", "RandomDataset", "Reducer", "assert_cardinality", "assert_element_shape",
    "bucket_by_sequence_length", "cardinality", "choose_from_datasets", "copy_to_device",
    "dense_to_sparse_batch", "enumerate_dataset", "get_single_element", "group_by_reducer",
    "group_by_window", "ignore_errors", "map_and_batch", "parallel_interleave", "parse_example_dataset",
    "prefetch_to_device", "rejection_resample", "sample_from_datasets", "scan", "shuffle_and_repeat",
    "sliding_window_batch", "take_while", "unbatch", "unique",
]  # fmt: skip

Step = Callable[[Dataset], Dataset]


def unbatch() -> Step:
    """Return the step ``Dataset.unbatch``."""
    return lambda dataset: dataset.unbatch()


def unique() -> Step:
    """Return the step ``Dataset.unique``."""
    return lambda dataset: dataset.unique()


def ignore_errors(log_warning: bool = False) -> Step:
    """Return the step ``Dataset.ignore_errors``."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def take_while(predicate: Callable[..., Any]) -> Step:
    """Return the step ``Dataset.take_while``."""
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Step:
    """Return the step ``Dataset.scan``."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def enumerate_dataset(start: Any = 0) -> Step:
    """Return the step ``Dataset.enumerate``."""
    return lambda dataset: dataset.enumerate(start)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Step:
    """Return a step that shuffles and then repeats, each time in another order."""
    times = -1 if count is None else count
    return lambda dataset: dataset._then(
        "ShuffleAndRepeatDataset", {"buffer_size": buffer_size, **_seeds(seed), "count": times}
    )


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Step:
    """Return a step that maps, several elements at a time, and then joins elements to batches.

    Args:
        map_func: see ``Dataset.map``.
        batch_size: see ``Dataset.batch``.
        num_parallel_batches: the number of batches that are made at a time.
        drop_remainder: see ``Dataset.batch``.
        num_parallel_calls: the number of elements that are made at a time.

    Raises:
        ValueError: if both numbers are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to be set, "
            f"but `num_parallel_batches` was set to {num_parallel_batches} and `num_parallel_calls` as set "
            f"to {num_parallel_calls}."
        )
    calls = num_parallel_calls
    if calls is None:
        calls = batch_size * (num_parallel_batches or 1)

    def step(dataset: Dataset) -> Dataset:
        function, structure = dataset._traced(map_func, "map_and_batch_function")
        size = _static_size(batch_size, drop_remainder)
        settings = {
            "batch_size": batch_size, "num_parallel_calls": calls, "drop_remainder": drop_remainder
        }  # fmt: skip
        joined = mapped(lambda leaf: _stacked(leaf, size), structure)
        return dataset._then(
            "MapAndBatchDataset", settings, {"f": function}, joined, preserve_cardinality=True
        )

    return step


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Step:
    """Return the step ``Dataset.interleave`` with threads that read ahead; the order is the same.

    Args:
        map_func: see ``Dataset.interleave``.
        cycle_length: see ``Dataset.interleave``.
        block_length: see ``Dataset.interleave``.
        sloppy: accepted for compatibility.
        buffer_output_elements: accepted for compatibility.
        prefetch_input_elements: accepted for compatibility.
    """
    ahead, before = buffer_output_elements, prefetch_input_elements
    turns = {
        "cycle_length": cycle_length, "block_length": block_length,
        "buffer_output_elements": 2 * block_length if ahead is None else ahead,
        "prefetch_input_elements": 2 * cycle_length if before is None else before,
    }  # fmt: skip
    order = "default" if sloppy is None else "false" if sloppy else "true"
    return lambda dataset: dataset._interleaved(
        "LegacyParallelInterleaveDatasetV2", map_func, turns, None, deterministic=order
    )


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Step:
    """Return the step ``Dataset.prefetch``; elements are sent to where they are used in any case."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Step:
    """Return a step that changes nothing; elements are sent to where they are used in any case."""
    return lambda dataset: dataset


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Step:
    """Return a step that joins the elements of windows, of which those that are not full are left out.

    Args:
        window_size: the number of elements in a window.
        stride: an older name of ``window_shift``.
        window_shift: the distance of windows, 1 by default.
        window_stride: the distance of elements in a window.

    Raises:
        ValueError: if both names are used.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = 1 if stride is None and window_shift is None else stride or window_shift

    def step(dataset: Dataset) -> Dataset:
        structure = mapped(lambda leaf: _stacked(leaf, None), dataset._structure)
        settings = {
            "window_size": window_size, "window_shift": shift, "window_stride": window_stride
        }  # fmt: skip
        return dataset._then("SlidingWindowDataset", settings, None, structure)

    return step


def assert_element_shape(expected_shapes: Any) -> Step:
    """Return a step that checks the shapes of components.

    Args:
        expected_shapes: a nest of shapes; what is unknown in them fits everything. InvalidArgumentError at
            run time for an element of another shape.
    """

    def step(dataset: Dataset) -> Dataset:
        wanted = taken(dataset._structure, expected_shapes, "expected_shapes")

        def checked(*element: Any) -> Any:
            found = spec_of(element)[1]
            made = [
                tensor
                if as_shape(shape).rank is None
                else ops.ensure_shape(tensor, as_shape(shape))
                for tensor, shape in zip(found, wanted, strict=True)
            ]
            return like(dataset._structure, made)

        return dataset.map(checked)

    return step


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Step:
    """Return a step that parses batches of serialized examples.

    Args:
        features: see ``parse_example``.
        num_parallel_calls: accepted for compatibility.
        deterministic: accepted for compatibility.

    Raises:
        ValueError: as ``parse_example``.
    """
    if features is None:
        raise ValueError("Missing: features was None.")
    wanted = wanted_of(with_blocks(features))

    def step(dataset: Dataset) -> Dataset:
        given = dataset._structure
        if (
            not isinstance(given, TensorSpec)
            or given.dtype is not string
            or given.shape.rank not in (None, 1)
        ):
            raise TypeError("Input dataset should be a dataset of vectors of strings.")
        batch = TensorShape([None]) if given.shape.rank is None else given.shape
        specs: dict[str, Any] = {
            key: SparseSpec(dtype, batch.concatenate(TensorShape([None])))
            for key, dtype in wanted.sparse.items()
        }
        for key, dtype in wanted.dense.items():
            specs[key] = TensorSpec(dtype, batch.concatenate(wanted.shapes[key]))
        inputs = {
            "num_parallel_calls": num_parallel_calls,
            "dense_defaults": wanted.default_tensors(dataset._dataset_tensor.graph),
        }
        made = dataset._then(
            "ParseExampleDatasetV2", inputs, None, dict(sorted(specs.items())),
            sparse_keys=tuple(wanted.sparse), dense_keys=tuple(wanted.dense),
            sparse_types=tuple(wanted.sparse.values()), dense_shapes=tuple(wanted.shapes.values()),
        )  # fmt: skip
        if any(isinstance(feature, SparseFeature) for feature in features.values()):
            made = made.map(lambda found: assembled(features, found), num_parallel_calls)
        return made

    return step


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element; see ``Dataset.get_single_element``.

    Raises:
        TypeError: for anything that is no dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(f"Invalid `dataset`. Expected a `Dataset` object but got {type(dataset)}.")
    return dataset.get_single_element()


def cardinality(dataset: Dataset) -> Tensor:
    """Return the number of elements; see ``Dataset.cardinality``."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: Any) -> Step:
    """Return a step that raises an error at the end unless there were as many elements as expected."""
    settings = {"cardinality": expected_cardinality}
    return lambda dataset: dataset._then("AssertCardinalityDataset", settings)


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Dataset:
    """Return a dataset of numbers at equal distances, without end."""
    with get_default_graph().name_scope("counter"):
        first = convert_to_tensor(start, as_dtype(dtype), name="start")
        distance = convert_to_tensor(step, as_dtype(dtype), name="step")
        endless = Dataset.from_tensors(0).repeat()
        return endless.scan(first, lambda state, _: (state + distance, state))


def RandomDataset(
    seed: int | None = None, rerandomize_each_iteration: Any = None, name: str | None = None
) -> Dataset:
    """Return a dataset of random numbers; see ``Dataset.random``."""
    return Dataset.random(seed, name=name)


# -- groups ----------------------------------------------------------------------------------------


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Step:
    """Return the step ``Dataset.group_by_window``."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Step:
    """Return a step that joins elements of similar length to padded batches.

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

    def window(bucket: Any) -> Any:
        return constant(sizes, int64)[bucket]

    def reduced(bucket: Any, group: Dataset) -> Dataset:
        size = window(bucket)
        if no_padding:
            return group.batch(size, drop_remainder)
        shapes = group.output_shapes if padded_shapes is None else padded_shapes
        if pad_to_bucket_boundary:
            check = assert_less(
                bucket, constant(len(boundaries), int64),
                message="When pad_to_bucket_boundary=True, elements must have length < "
                "max(bucket_boundaries).",
            )  # fmt: skip
            with control_dependencies([check]):
                filler = constant([b - 1 for b in boundaries], int64)[bucket]
            shapes = mapped(lambda shape: _filled(shape, filler), _as_shapes(group, shapes))
        return group.padded_batch(size, shapes, padding_values, drop_remainder)

    return lambda dataset: dataset.group_by_window(key, reduced, window_size_func=window)


def _as_shapes(group: Dataset, shapes: Any) -> Any:
    return like(group._structure, taken(group._structure, shapes, "padded_shapes"))


def _filled(shape: Any, filler: Tensor) -> Tensor:
    sizes = as_shape(shape).as_list()
    if not sizes:
        return constant([], int64)
    return convert_to_tensor([filler if size is None else constant(size, int64) for size in sizes])


class Reducer:
    """The functions of ``group_by_reducer``.

    Args:
        init_func: a function of a key that returns the first state.
        reduce_func: a function of a state and an element that returns the next state.
        finalize_func: a function of the last state that returns the result.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Step:
    """Return a step that reduces the elements of each key to one, given at the end.

    Args:
        key_func: a function of an element that returns an int64 scalar.
        reducer: how they are reduced.
    """

    def step(dataset: Dataset) -> Dataset:
        graph = dataset._dataset_tensor.graph
        key, _ = dataset._traced(key_func, "key_function")
        states: list[Any] = []
        results: list[Any] = []

        def first(values: list[Tensor]) -> list[Tensor]:
            structure, tensors = spec_of(reducer.init_func(values[0]))
            states.append(structure)
            return tensors

        begin = traced(first, [TensorSpec(int64, scalar_shape)], graph, "init_function")

        def next_state(state: Any, *element: Any) -> Any:
            return reducer.reduce_func(state, *element)

        advance, after = dataset._traced(next_state, "reduce_function", before=(states[0],))
        state = merged(states[0], after)

        def last(values: list[Tensor]) -> list[Tensor]:
            structure, tensors = spec_of(
                reducer.finalize_func(*as_arguments(packed(state, values, Dataset)))
            )
            results.append(structure)
            return tensors

        end = traced(last, flat_specs(state), graph, "finalize_function")
        functions = {
            "key_func": key, "init_func": begin, "reduce_func": advance, "finalize_func": end
        }  # fmt: skip
        return dataset._then("ExperimentalGroupByReducerDataset", None, functions, results[0])

    return step


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Step:
    """Return a step that joins elements of different sizes to sparse tensors.

    Args:
        batch_size: the number of elements.
        row_shape: the shape of a row of the result, which is at least as large as every element.
    """

    def step(dataset: Dataset) -> Dataset:
        leaf = dataset._structure
        if not isinstance(leaf, TensorSpec):
            raise TypeError(
                "`dense_to_sparse_batch` requires an input dataset whose elements have a single "
                "component, but the given dataset has the following component types: "
                f"{dataset.output_types}."
            )
        shape = as_shape(row_shape)
        sizes = [-1 if size is None else size for size in shape.as_list()]
        settings = {"batch_size": batch_size, "row_shape": sizes}
        structure = SparseSpec(leaf.dtype, TensorShape([None, *shape.as_list()]))
        return dataset._then("DenseToSparseBatchDataset", settings, None, structure)

    return step


# -- several datasets ------------------------------------------------------------------------------


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
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Return a dataset of elements of several, as a dataset of their numbers says.

    Args:
        datasets: datasets of one structure.
        choice_dataset: a dataset of int64 scalars.
        stop_on_empty_dataset: whether the end of one of them is the end; else it is passed over from then on.
    """
    choice = choice_dataset._structure
    if (
        isinstance(choice, DatasetSpec)
        or getattr(choice, "dtype", None) is not int64
        or choice.shape.rank
    ):
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `int64` tensors but "
            f"are {said_of(choice)}."
        )
    return _directed(choice_dataset, datasets, stop_on_empty_dataset)


def _directed(choice: Dataset, datasets: Sequence[Dataset], stops: bool) -> Dataset:
    inputs = {"selector_input_dataset": choice, "data_input_datasets": list(datasets)}
    return Dataset._made(
        "DirectedInterleaveDataset", _joined(datasets), inputs, stop_on_empty_dataset=stops
    )


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Return a dataset of elements of several, drawn at random.

    Args:
        datasets: datasets of one structure.
        weights: the probability of each, a tensor; equal if left out.
        seed: seed of the draws.
        stop_on_empty_dataset: whether the end of one of them is the end; else it is passed over from then on.

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
    given = (
        cast(weights, float64)
        if isinstance(weights, Tensor)
        else convert_to_tensor(weights, float64)
    )
    odds = ops.expand_dims(ops.log(given), 0)

    def drawn(seeds: Tensor) -> Tensor:
        found = make_one(
            "StatelessMultinomial",
            [odds, constant(1, int32), seeds],
            {"output_dtype": int64},
            "drawn",
        )
        return ops.squeeze(found)

    choices = Dataset.random(seed).batch(2, drop_remainder=True).map(drawn)
    return _directed(choices, datasets, stop_on_empty_dataset)


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
) -> Step:
    """Return a step that drops elements at random, so that classes come as often as wanted.

    Args:
        class_func: a function of an element that returns its class, an integer scalar.
        target_dist: the wanted probability of each class.
        initial_dist: the probability of each class before; counted on the way if left out.
        seed: seed of the draws.

    Returns:
        The step, which gives pairs of a class and an element.
    """

    def step(dataset: Dataset) -> Dataset:
        target = cast(convert_to_tensor(target_dist), float32)

        def classed(*element: Any) -> Any:
            kind = cast(class_func(*element), int32)
            return kind, element[0] if len(element) == 1 else element

        def counted(counts: Tensor, pair: Any) -> Any:
            kind, element = pair
            numbers = ops.range(ops.shape(target)[0])
            counts = counts + cast(ops.equal(numbers, kind), float32)
            return counts, (kind, element, counts)

        def accepted(kind: Tensor, element: Any, before: Tensor) -> Tensor:
            ratio = target / ops.maximum(before / reduce_sum(before), 1e-9)
            chance = ops.gather(ratio / ops.reduce_max(ratio), kind)
            return less(ops.random_uniform([], seed=seed), chance)

        pairs = dataset.map(classed)
        if initial_dist is None:
            # As if each class had come once, as long as nothing is known.
            known = pairs.scan(ops.ones_like(target), counted)
        else:
            given = cast(convert_to_tensor(initial_dist), float32)
            known = pairs.map(lambda kind, element: (kind, element, given))
        return known.filter(accepted).map(lambda kind, element, before: (kind, element))

    return step
