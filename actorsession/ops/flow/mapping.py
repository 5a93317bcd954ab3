"""Functions over the items of tensors: ``map_fn``, ``foldl``, ``foldr`` and ``scan``.

They are loops over ``TensorArray``s, as in TensorFlow. Tensors may be nested in lists, tuples and dicts;
items lie along the first axis. Iterations run one after another, whatever ``parallel_iterations`` is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.flow.control_flow import while_loop
from actorsession.ops.lists.tensor_array import TensorArray
from actorsession.ops.structures import Composite, check_same_structure, flatten, pack

__all__ = ["foldl", "foldr", "map_fn", "scan"]


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    back_prop: bool = True,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Return the results of a function for each item, stacked.

    Args:
        fn: a function of an item, or of a structure of items, that returns a structure of values.
        elems: a tensor, or a structure of tensors with equally many items.
        back_prop: whether gradients flow through the loop.
        infer_shape: whether all results must have the same static shape.
        name: wanted name; ``map`` if left out.
        fn_output_signature: a structure of dtypes, if the results differ from ``elems`` in dtype or
            structure.

    Returns:
        The structure of the results, with tensors as leaves.

    Raises:
        TypeError: if ``fn`` is not a function, or its results have other dtypes.
        ValueError: for scalars, no tensors, or results of another structure.
    """
    _check_function(fn, "map_fn")
    signature = fn_output_signature
    graph = graph_of(*flatten(elems))
    with graph.as_default(), graph.name_scope(name or "map"):
        items = _Items(elems, graph, "map_fn")
        structure = elems if signature is None else signature
        dtypes = [_dtype(leaf) for leaf in flatten(structure if signature is not None else items.all)]
        arrays = [
            TensorArray(d, size=items.count, infer_shape=infer_shape, element_shape=_shape(leaf))
            for d, leaf in zip(dtypes, flatten(structure), strict=True)
        ]

        def turn(i: Tensor, written: list[TensorArray]) -> Any:
            values = fn(items.at(i))
            check_same_structure(structure, values, "the signature and the result of fn")
            leaves = flatten(values)
            return i + 1, [a.write(i, v) for a, v in zip(written, leaves, strict=True)]

        _, arrays = while_loop(lambda i, _: i < items.count, turn, (constant(0), arrays), back_prop=back_prop)
        return pack(structure, _stacked(arrays, items))


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    back_prop: bool = True,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the stacked results of a function of its previous result and the next item.

    Args:
        fn: a function of the previous result and an item that returns the next result.
        elems: a tensor, or a structure of tensors with equally many items.
        initializer: the result before the first item, a structure like the results of ``fn``; if left out,
            the first item is the first result.
        back_prop: whether gradients flow through the loop.
        infer_shape: whether all results must have the same static shape.
        reverse: whether to start at the last item.
        name: wanted name; ``scan`` if left out.

    Returns:
        The structure of the results, with tensors as leaves.

    Raises:
        TypeError: if ``fn`` is not a function, or its results have other dtypes.
        ValueError: for scalars, no tensors, or results of another structure.
    """
    _check_function(fn, "scan")
    graph = graph_of(*flatten(elems), *flatten(initializer))
    with graph.as_default(), graph.name_scope(name or "scan"):
        items = _Items(elems, graph, "scan")
        last = items.count - 1
        start, done, first = items.start(initializer, last if reverse else 0)
        arrays = [
            TensorArray(
                t.dtype, size=items.count, infer_shape=infer_shape, element_shape=t.shape if infer_shape else None
            )
            for t in first
        ]

        def place(i: Any) -> Any:
            return last - i if reverse else i

        if done:  # the first item itself is a result
            arrays = [a.write(place(0), t) for a, t in zip(arrays, first, strict=True)]

        def turn(i: Tensor, before: list[Tensor], arrays_before: list[TensorArray]) -> Any:
            values = fn(pack(start, before), items.at(place(i)))
            check_same_structure(start, values, "the initializer and the result of fn")
            leaves = _like(flatten(values), before)
            written = [a.write(place(i), v) for a, v in zip(arrays_before, leaves, strict=True)]
            return i + 1, leaves, written

        _, _, arrays = while_loop(
            lambda i, *_: i < items.count, turn, (constant(done), first, arrays), back_prop=back_prop
        )
        return pack(start, _stacked(arrays, items))


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return the last result of ``scan``, from the first item to the last; arguments as ``scan``."""
    return _fold(fn, elems, initializer, back_prop, name or "foldl", backwards=False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return the last result of ``scan``, from the last item to the first; arguments as ``scan``."""
    return _fold(fn, elems, initializer, back_prop, name or "foldr", backwards=True)


def _fold(fn: Callable[..., Any], elems: Any, initializer: Any, back_prop: bool, name: str, backwards: bool) -> Any:
    what = "foldr" if backwards else "foldl"
    _check_function(fn, what)
    graph = graph_of(*flatten(elems), *flatten(initializer))
    with graph.as_default(), graph.name_scope(name):
        items = _Items(elems, graph, what)
        last = items.count - 1
        start, done, first = items.start(initializer, last if backwards else 0)

        def turn(i: Tensor, before: list[Tensor]) -> Any:
            values = fn(pack(start, before), items.at(last - i if backwards else i))
            check_same_structure(start, values, "the initializer and the result of fn")
            return i + 1, _like(flatten(values), before)

        _, last_values = while_loop(lambda i, _: i < items.count, turn, (constant(done), first), back_prop=back_prop)
        return pack(start, last_values)


# -- helpers -------------------------------------------------------------------------------------


class _Items:
    """The items of a structure of tensors.

    Args:
        elems: the structure.
        graph: the graph.
        what: name of the public function, for messages.

    Attributes:
        all: the tensors.
        count: the number of items of each tensor, an int if it is statically known.
    """

    def __init__(self, elems: Any, graph: Graph, what: str) -> None:
        _refuse_composites(elems, what)
        self._structure = elems
        self.all = [convert_to_tensor(leaf, name="elems", graph=graph) for leaf in flatten(elems)]
        if not self.all:
            raise ValueError(f"{what}: elems must hold a tensor at least, got {elems!r:.100}")
        for tensor in self.all:
            if tensor.shape.rank == 0:
                raise ValueError(f"{what}: elems must be tensors of rank 1 at least, got the scalar {tensor!r}")
        self.static = _common_count(self.all, what)
        self.count: Any = self.static
        if self.static is None:
            self.count = raw.Shape(self.all[0])[0]
        self._arrays = [TensorArray(t.dtype, size=self.count, infer_shape=True).unstack(t) for t in self.all]

    def at(self, index: Any) -> Any:
        """Return the items at an index, in the structure."""
        return pack(self._structure, [array.read(index) for array in self._arrays])

    def start(self, initializer: Any, first: Any) -> tuple[Any, int, list[Tensor]]:
        """Return the structure of the results, the number of items used for the first one, and that one."""
        if initializer is None:
            return self._structure, 1, [array.read(first) for array in self._arrays]
        graph = self.all[0].graph
        return initializer, 0, [convert_to_tensor(v, graph=graph) for v in flatten(initializer)]


def _refuse_composites(structure: Any, what: str) -> None:
    """Raise TypeError for a composite, whose component tensors do not hold its items."""
    if isinstance(structure, Composite):
        raise TypeError(f"{what}: elems must be tensors, got {structure!r:.100}: make it dense, or go over its parts")
    if isinstance(structure, Mapping):
        structure = list(structure.values())
    if isinstance(structure, (list, tuple)):
        for part in structure:
            _refuse_composites(part, what)


def _common_count(tensors: Sequence[Tensor], what: str) -> int | None:
    known = {t.shape.sizes[0] for t in tensors if t.shape.sizes} - {None}
    if len(known) > 1:
        raise ValueError(f"{what}: elems have different numbers of items: {sorted(map(str, known))}")
    return next(iter(known), None)


def _stacked(arrays: Sequence[TensorArray], items: _Items) -> list[Tensor]:
    stacked = [array.stack() for array in arrays]
    for tensor, array in zip(stacked, arrays, strict=True):
        dims = array.element_shape.sizes
        if dims is not None:
            tensor.set_shape(TensorShape([items.static, *dims]))
    return stacked


def _like(values: Sequence[Any], before: Sequence[Tensor]) -> list[Tensor]:
    """Return values as tensors of the dtypes of the previous ones."""
    return [convert_to_tensor(v, t.dtype, graph=t.graph) for v, t in zip(values, before, strict=True)]


def _check_function(fn: Any, what: str) -> None:
    if not callable(fn):
        raise TypeError(f"{what}: fn must be callable, got {fn!r:.100}")


def _dtype(leaf: Any) -> DType:
    return leaf.dtype if isinstance(leaf, (Tensor, TensorSpec)) else as_dtype(leaf)


def _shape(leaf: Any) -> TensorShape | None:
    return leaf.shape if isinstance(leaf, TensorSpec) else None
