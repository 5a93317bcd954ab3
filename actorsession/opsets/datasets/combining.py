"""Further steps of pipelines, most of them as functions for ``Dataset.apply``; names are TensorFlow's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec

from actorsession import ops
from actorsession.graph.dtypes import int64, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape, as_shape, scalar_shape
from actorsession.opsets.datasets.batching import stacked, static_size
from actorsession.opsets.datasets.creation import seeds
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.datasets.elements import SparseSpec, like, mapped, merged, spec_of, taken
from actorsession.opsets.datasets.mapping import interleaved
from actorsession.opsets.datasets.tracing import as_arguments, trace
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

P = ParamSpec("P")
Step = Callable[[Dataset], Dataset]


def _step(method: Callable[Concatenate[Dataset, P], Dataset]) -> Callable[P, Step]:
    """Return the function that makes the step of a method, for ``Dataset.apply``."""

    whole = inspect.signature(method)
    signature = whole.replace(parameters=[*whole.parameters.values()][1:], return_annotation=Step)

    def make(*args: P.args, **kwargs: P.kwargs) -> Step:
        _ = signature.bind(*args, **kwargs)  # refuses others here, and not when the step is applied
        return lambda dataset: method(dataset, *args, **kwargs)

    make.__name__ = make.__qualname__ = method.__name__
    make.__doc__ = f"Return the step ``Dataset.{make.__name__}``; see there."
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


bucket_by_sequence_length = _step(Dataset.bucket_by_sequence_length)
dense_to_sparse_batch = _step(Dataset.sparse_batch)
enumerate_dataset = _step(Dataset.enumerate)
group_by_window = _step(Dataset.group_by_window)
ignore_errors = _step(Dataset.ignore_errors)
rejection_resample = _step(Dataset.rejection_resample)
scan = _step(Dataset.scan)
take_while = _step(Dataset.take_while)
unbatch = _step(Dataset.unbatch)
unique = _step(Dataset.unique)

Counter = Dataset.counter
RandomDataset = Dataset.random
cardinality = Dataset.cardinality
sample_from_datasets = Dataset.sample_from_datasets


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Return ``Dataset.choose_from_datasets``, which goes on by default when one has ended."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Step:
    """Return a step that shuffles and then repeats, each time in another order."""
    times = -1 if count is None else count
    return lambda dataset: dataset._then(
        "ShuffleAndRepeatDataset", {"buffer_size": buffer_size, **seeds(seed), "count": times}
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
        size = static_size(batch_size, drop_remainder)
        settings = {"batch_size": batch_size, "num_parallel_calls": calls, "drop_remainder": drop_remainder}
        joined = mapped(lambda leaf: stacked(leaf, size), structure)
        return dataset._then("MapAndBatchDataset", settings, {"f": function}, joined, preserve_cardinality=True)

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
        sloppy: kept in the node, without effect.
        buffer_output_elements: kept in the node, without effect.
        prefetch_input_elements: kept in the node, without effect.
    """
    ahead, before = buffer_output_elements, prefetch_input_elements
    turns = {
        "cycle_length": cycle_length,
        "block_length": block_length,
        "buffer_output_elements": 2 * block_length if ahead is None else ahead,
        "prefetch_input_elements": 2 * cycle_length if before is None else before,
    }
    order = "default" if sloppy is None else "false" if sloppy else "true"
    return lambda dataset: interleaved(
        dataset, "LegacyParallelInterleaveDatasetV2", map_func, turns, None, deterministic=order
    )


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Step:
    """Return the step ``Dataset.prefetch``; elements are sent to where they are used in any case."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Step:
    """Return a step that changes nothing; elements are sent to where they are used in any case."""
    return lambda dataset: dataset


def sliding_window_batch(window_size: Any, window_shift: Any = 1, window_stride: Any = 1) -> Step:
    """Return a step that joins the elements of windows, of which those that are not full are left out.

    Args:
        window_size: the number of elements in a window.
        window_shift: the distance of windows.
        window_stride: the distance of elements in a window.
    """

    def step(dataset: Dataset) -> Dataset:
        structure = mapped(lambda leaf: stacked(leaf, None), dataset._structure)
        settings = {"window_size": window_size, "window_shift": window_shift, "window_stride": window_stride}
        return dataset._then("SlidingWindowDataset", settings, None, structure)

    return step


def assert_element_shape(expected_shapes: Any) -> Step:
    """Return a step that checks the shapes of components.

    Args:
        expected_shapes: a nest of shapes; what is unknown in them fits everything. InvalidArgumentError at
            run time for an element of another shape.
    """

    def step(dataset: Dataset) -> Dataset:
        shapes = taken(dataset._structure, expected_shapes, "expected_shapes")

        def checked(*element: Any) -> Any:
            tensors = spec_of(element)[1]
            ensured = [
                tensor if as_shape(shape).rank is None else ops.ensure_shape(tensor, as_shape(shape))
                for tensor, shape in zip(tensors, shapes, strict=True)
            ]
            return like(dataset._structure, ensured)

        return dataset.map(checked)

    return step


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Step:
    """Return a step that parses batches of serialized examples.

    Args:
        features: see ``parse_example``.
        num_parallel_calls: kept in the node, without effect.
        deterministic: kept in the node, without effect.

    Raises:
        ValueError: as ``parse_example``.
    """
    if features is None:
        raise ValueError("Missing: features was None.")
    layout = wanted_of(with_blocks(features))

    def step(dataset: Dataset) -> Dataset:
        spec = dataset._structure
        if not isinstance(spec, TensorSpec) or spec.dtype is not string or spec.shape.rank not in (None, 1):
            raise TypeError("Input dataset should be a dataset of vectors of strings.")
        batch = TensorShape([None]) if spec.shape.rank is None else spec.shape
        specs: dict[str, Any] = {
            key: SparseSpec(dtype, batch.concatenate(TensorShape([None]))) for key, dtype in layout.sparse.items()
        }
        for key, dtype in layout.dense.items():
            specs[key] = TensorSpec(dtype, batch.concatenate(layout.shapes[key]))
        inputs = {
            "num_parallel_calls": num_parallel_calls,
            "dense_defaults": layout.default_tensors(dataset._dataset_tensor.graph),
        }
        parsed = dataset._then(
            "ParseExampleDatasetV2",
            inputs,
            None,
            dict(sorted(specs.items())),
            sparse_keys=tuple(layout.sparse),
            dense_keys=tuple(layout.dense),
            sparse_types=tuple(layout.sparse.values()),
            dense_shapes=tuple(layout.shapes.values()),
        )
        if any(isinstance(feature, SparseFeature) for feature in features.values()):
            parsed = parsed.map(lambda values: assembled(features, values), num_parallel_calls)
        return parsed

    return step


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element; see ``Dataset.get_single_element``.

    Raises:
        TypeError: for anything that is no dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(f"Invalid `dataset`. Expected a `Dataset` object but got {type(dataset)}.")
    return dataset.get_single_element()


def assert_cardinality(expected_cardinality: Any) -> Step:
    """Return a step that raises an error at the end unless there were as many elements as expected."""
    settings = {"cardinality": expected_cardinality}
    return lambda dataset: dataset._then("AssertCardinalityDataset", settings)


class Reducer:
    """The functions of ``group_by_reducer``.

    Args:
        init_func: a function of a key that returns the first state.
        reduce_func: a function of a state and an element that returns the next state.
        finalize_func: a function of the last state that returns the result.
    """

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]
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
        keys = [TensorSpec(int64, scalar_shape)]
        begin, first = trace(reducer.init_func, keys, graph, "init_function")
        advance, after = dataset._traced(reducer.reduce_func, "reduce_function", before=(first,))
        state = as_arguments(merged(first, after))
        end, result = trace(reducer.finalize_func, state, graph, "finalize_function")
        functions = {"key_func": key, "init_func": begin, "reduce_func": advance, "finalize_func": end}
        return dataset._then("ExperimentalGroupByReducerDataset", None, functions, result)

    return step
