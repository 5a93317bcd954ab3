"""The steps of a pipeline that call a function of each element: methods of ``Dataset``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorsession.graph.dtypes import bool_
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import scalar_shape
from actorsession.ops.build import make
from actorsession.opsets.datasets.elements import (
    DatasetSpec,
    dtype_of,
    flat_specs,
    leaves,
    mapped,
    merged,
    packed,
    said_of,
    spec_of,
)
from actorsession.opsets.datasets.options import AUTOTUNE
from actorsession.opsets.datasets.tracing import Traced

if TYPE_CHECKING:
    from actorsession.opsets.datasets.dataset import Dataset


def map_(
    self: Dataset,
    map_func: Callable[..., Any],
    num_parallel_calls: Any = None,
    deterministic: bool | None = None,
    synchronous: bool | None = None,
    use_unbounded_threadpool: bool = False,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of what a function makes of each element.

    Args:
        map_func: a function of the components of an element, which returns a nest of tensors.
        num_parallel_calls: the number of elements that are made at a time; order is kept.
        deterministic: kept in the node; results are always in order.
        synchronous: kept in the node, without effect.
        use_unbounded_threadpool: kept in the node, without effect.
        name: wanted name.
    """
    function, structure = self._traced(map_func, f"{name or 'map'}_function")
    f = {"f": function}
    if num_parallel_calls is None:
        return self._then("MapDataset", None, f, structure, name=name)
    calls = {"num_parallel_calls": num_parallel_calls}
    return self._then(
        "ParallelMapDatasetV2", calls, f, structure, name=name, deterministic=deterministic_attr(deterministic)
    )


def filter_(self: Dataset, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
    """Return a dataset of the elements for which a function returns true."""
    functions = {"predicate": _predicate(self, predicate)}
    return self._then("FilterDataset", None, functions, name=name)


def take_while(self: Dataset, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
    """Return a dataset of the elements before the first one for which a function returns false."""
    functions = {"predicate": _predicate(self, predicate)}
    return self._then("TakeWhileDataset", None, functions, name=name)


def _predicate(self: Dataset, predicate: Callable[..., Any]) -> Traced:
    function, structure = self._traced(predicate, "predicate")
    if not (
        isinstance(structure, TensorSpec)
        and structure.dtype is bool_
        and structure.shape.is_compatible_with(scalar_shape)
    ):
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `bool` scalar tensor, but its return "
            f"type is {said_of(structure)}."
        )
    return function


def flat_map(self: Dataset, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
    """Return a dataset of the elements of the datasets that a function returns, one after the other."""
    return interleaved(self, "FlatMapDataset", map_func, {}, name)


def interleave(
    self: Dataset,
    map_func: Callable[..., Any],
    cycle_length: Any = None,
    block_length: Any = None,
    num_parallel_calls: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of the elements of the datasets that a function returns, of several in turn.

    Args:
        map_func: a function of the components of an element, which returns a dataset.
        cycle_length: the number of datasets that take turns.
        block_length: the number of elements in a turn.
        num_parallel_calls: if given, threads read ahead of the turns.
        deterministic: kept in the node; results are always in order.
        name: wanted name.
    """
    turns: dict[str, Any] = {
        "cycle_length": AUTOTUNE if cycle_length is None else cycle_length,
        "block_length": 1 if block_length is None else block_length,
    }
    if num_parallel_calls is None:
        return interleaved(self, "InterleaveDataset", map_func, turns, name)
    turns |= {
        "buffer_output_elements": AUTOTUNE,
        "prefetch_input_elements": AUTOTUNE,
        "num_parallel_calls": num_parallel_calls,
    }
    return interleaved(
        self, "ParallelInterleaveDatasetV4", map_func, turns, name, deterministic=deterministic_attr(deterministic)
    )


def interleaved(
    self: Dataset, op_type: str, map_func: Callable[..., Any], inputs: Mapping[str, Any], name: str | None, **attrs: Any
) -> Dataset:
    """Return the dataset of a node that gives the elements of the datasets that a function returns."""
    function, structure = self._traced(map_func, f"{name or op_type}_function")
    if not isinstance(structure, DatasetSpec):
        raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {said_of(structure):.200}")
    return self._then(op_type, inputs, {"f": function}, structure.structure, name=name, **attrs)


def scan(self: Dataset, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
    """Return a dataset of what a function makes of each element and a state.

    Args:
        initial_state: a nest of tensors.
        scan_func: a function of the state and an element, which returns the next state and a nest of
            tensors.
        name: wanted name.

    Raises:
        TypeError: if the function returns another state.
    """
    before, tensors = spec_of(initial_state, "state")

    def pair(state: Any, *element: Any) -> Any:
        result = scan_func(state, *([_as_element(element)] if element else []))
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and "
                f"the output value but it returned {result!r:.200}."
            )
        return result

    function, structure = self._traced(pair, "scan_function", before=(_state_spec(before, None),))
    _check_state(before, structure[0], "Invalid `scan_func`. ")
    state = {"initial_state": tensors}
    return self._then("ScanDataset", state, {"f": function}, structure[1], name=name)


def reduce(self: Dataset, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
    """Return what a function makes of all elements, one after the other.

    Args:
        initial_state: a nest of tensors.
        reduce_func: a function of the state and an element that returns the next state.
        name: wanted name.

    Raises:
        TypeError: if the function returns another state.
    """
    before, tensors = spec_of(initial_state, "state")

    def step(state: Any, *element: Any) -> Any:
        return reduce_func(state, *([_as_element(element)] if element else []))

    function, structure = self._traced(step, "reduce_function", before=(_state_spec(before, None),))
    _check_state(before, structure, "")
    specs = flat_specs(_state_spec(before, structure))
    attrs = {
        "f": function.definition,
        "output_types": tuple([s.dtype for s in specs]),
        "output_shapes": tuple([s.shape for s in specs]),
        "Tstate": tuple([tensor.dtype for tensor in tensors]),
        "Targuments": tuple([tensor.dtype for tensor in function.captures]),
    }
    inputs = [self._dataset_tensor, *tensors, *function.captures]
    op = make("ReduceDataset", inputs, attrs, name or "ReduceDataset", self._dataset_tensor.graph)
    return packed(_state_spec(before, structure), op.outputs)


def _as_element(items: Sequence[Any]) -> Any:
    return items[0] if len(items) == 1 else tuple(items)


def _state_spec(before: Any, after: Any) -> Any:
    """Return the structure of a state whose shapes may change from element to element."""
    if after is None:
        return mapped(lambda leaf: TensorSpec(leaf.dtype, leaf.shape) if isinstance(leaf, TensorSpec) else leaf, before)
    return merged(before, after)


def _check_state(before: Any, after: Any, what: str) -> None:
    one, other = leaves(before), leaves(after)
    if len(one) != len(other) or any(a.dtype is not b.dtype for a, b in zip(one, other, strict=True)):
        raise TypeError(
            f"{what}The element types for the new state must match the initial state. Expected "
            f"{said_of(mapped(dtype_of, before))} but got {said_of(mapped(dtype_of, after))}."
        )


def deterministic_attr(value: bool | None) -> str:
    """Return the attribute for an argument ``deterministic``."""
    return "default" if value is None else str(bool(value)).lower()
