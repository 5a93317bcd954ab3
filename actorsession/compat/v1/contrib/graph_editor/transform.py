"""What copies parts of a graph, beside them or into another graph, with other inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession.compat.v1.contrib.graph_editor.elements import (
    ControlOutputs,
    flattened,
    get_unique_graph,
    is_iterable,
    make_list_of_t,
    make_placeholder_from_tensor,
    mapped,
    scope_finalize,
)
from actorsession.compat.v1.contrib.graph_editor.reroute import add_control_inputs
from actorsession.compat.v1.contrib.graph_editor.select import get_walks_intersection_ops
from actorsession.compat.v1.contrib.graph_editor.subgraph import SubGraphView, make_view
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import GraphKeys

__all__ = [
    "Transformer",
    "TransformerInfo",
    "assign_renamed_collections_handler",
    "copy",
    "copy_op_handler",
    "copy_with_input_replacements",
    "graph_replace",
    "keep_t_if_possible_handler",
    "replace_t_with_placeholder_handler",
    "transform_op_if_inside_handler",
]


class _Copying:
    """A copy that is being made, which handlers get.

    Attributes:
        sgv: the view that is copied.
        graph: its graph.
        graph_: the graph of the copy.
        scope: the scope that names lose.
        scope_: the scope that names get.
        transformed_ops: the copies so far, by their originals.
        transformed_ts: likewise.
        collections: the collections of the view's graph.
        early: originals of tensors that were read before their copies were made, with what was read in
            their place and by which copy.
    """

    def __init__(self, sgv: SubGraphView, dst_graph: Graph, dst_scope: str, src_scope: str) -> None:
        graph = get_unique_graph([*sgv.ops, *sgv.passthroughs])
        assert graph is not None
        self.sgv, self.graph, self.graph_ = sgv, graph, dst_graph
        self.scope, self.scope_ = src_scope, dst_scope
        self.ops, self.sgv_inputs_set = frozenset(sgv.ops), frozenset(sgv.inputs)
        self.transformed_ops: dict[Operation, Operation] = {}
        self.transformed_ts: dict[Tensor, Tensor] = {}
        self.collections = {key: graph.get_collection(key) for key in graph.collections}
        self.early: list[tuple[Tensor, Tensor, Operation]] = []

    def new_name(self, name: str) -> str:
        """Return the name of a copy.

        Raises:
            ValueError: if the original is not in the scope that was given.
        """
        if not name.startswith(self.scope):
            raise ValueError(f"{name!r} is not in the source scope {self.scope!r}")
        return self.scope_ + name[len(self.scope) :]


# -- handlers --------------------------------------------------------------------------------------


def replace_t_with_placeholder_handler(info: Any, t: Tensor) -> Tensor:
    """Return a placeholder for a tensor that enters what is copied."""
    with info.graph_.as_default():
        return make_placeholder_from_tensor(t, scope=info.scope_)


def keep_t_if_possible_handler(info: Any, t: Tensor) -> Tensor:
    """Return a tensor as it is, or a placeholder for it in another graph."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: Any, elem: Any, elem_: Any) -> None:
    """Add a copy to the collections of its original; those of programs are renamed as elements are."""
    known = {value for key, value in vars(GraphKeys).items() if not key.startswith("_")}
    for name, members in info.collections.items():
        if any(member is elem for member in members):
            kept = name in known or not isinstance(name, str)
            info.graph_.add_to_collection(name if kept else info.new_name(name), elem_)


def transform_op_if_inside_handler(info: Any, op: Operation, keep_if_possible: bool = True) -> Operation | None:
    """Return the copy of an operation; itself if it is not copied, ``None`` in another graph."""
    if op in info.ops:
        copied: Operation = info.transformed_ops[op]
        return copied
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: Any,
    op: Operation,
    new_inputs: Iterable[Tensor],
    copy_shape: bool = False,
    nodedef_fn: Callable[[Any], Any] | None = None,
) -> tuple[Operation, list[Tensor]]:
    """Return a copy of an operation, and its outputs.

    Args:
        info: the copy that is being made.
        op: the operation.
        new_inputs: its inputs.
        copy_shape: whether the outputs have at least the static shapes of the originals.
        nodedef_fn: a function of the operation as a message that returns it with other marks: attributes
            whose names begin with an underscore.

    Raises:
        TypeError: if the inputs are no collection.
    """
    if not is_iterable(new_inputs):
        raise TypeError("the `new_inputs` argument must be an iterable.")
    attrs, marks = op.attrs, {}
    if nodedef_fn is not None:
        message = nodedef_fn(op.node_def)
        marks = {key: message.attr[key] for key in message.attr if key.startswith("_")}
        attrs = {key: value for key, value in attrs.items() if not key.startswith("_")}
    graph = info.graph_
    # No scope around the call applies: the copy has the name, device and order of its original.
    with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
        with graph.device(None):
            name = graph.unique_name(info.new_name(op.name))
            copied = graph.create_op(op.type, list(new_inputs), attrs, f"{name}/")
        copied._device = op.device
    for mark, value in marks.items():
        copied._set_attr(mark, value)
    copied._original_op = op._original_op
    if copy_shape:
        for new, old in zip(copied.outputs, op.outputs, strict=True):
            new.set_shape(old.shape)
    return copied, list(copied.outputs)


class TransformerInfo:
    """Which copy belongs to which original.

    Args:
        info: the copy that was made.
    """

    def __init__(self, info: Any) -> None:
        self._graph, self._graph_ = info.graph, info.graph_
        self._scope, self._scope_ = info.scope, info.scope_
        self._transformed_ops, self._transformed_ts = info.transformed_ops, info.transformed_ts

    def _counterpart(self, elements: Any, backward: bool, missing_fn: Any) -> Any:
        def one(element: Any) -> Any:
            if isinstance(element, str):
                source = self._graph_ if backward else self._graph
                element = source.as_graph_element(element)
            ops, tensors = self._transformed_ops, self._transformed_ts
            table = tensors if isinstance(element, Tensor) else ops
            if backward:
                table = {copied: original for original, copied in table.items()}
            if element in table:
                return table[element]
            return None if missing_fn is None else missing_fn(element)

        return mapped(elements, one)

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return the copies of elements.

        Args:
            original: an operation, a tensor, the name of one, or collections of these.
            missing_fn: called with what has no copy; ``None`` stands for it without one.
        """
        return self._counterpart(original, False, missing_fn)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return the originals of copies; see ``transformed``."""
        return self._counterpart(transformed, True, missing_fn)

    def __str__(self) -> str:
        rows = ["Transformer result info:"]
        for original, copied in {**self._transformed_ops, **self._transformed_ts}.items():
            rows.append(f"  {original.name} -> {copied.name}")
        return "\n".join(rows)


class Transformer:
    """Copies views. Its attributes are functions that may be replaced.

    Attributes:
        transform_op_handler: makes the copy of an operation.
        transform_control_input_handler: returns what a copy waits for in the place of another operation.
        assign_collections_handler: adds copies to collections.
        transform_external_input_handler: returns what is read in the place of an input of the view.
        transform_external_hidden_input_handler: likewise for an input that the view leaves out.
        transform_original_op_handler: returns what stands for the operation that an original is made for.
    """

    def __init__(self) -> None:
        self.transform_op_handler: Callable[..., Any] = copy_op_handler
        self.transform_control_input_handler: Callable[..., Any] = transform_op_if_inside_handler
        self.assign_collections_handler: Callable[..., Any] = assign_renamed_collections_handler
        self.transform_external_input_handler: Callable[..., Any] = replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler: Callable[..., Any] = keep_t_if_possible_handler
        self.transform_original_op_handler: Callable[..., Any] = transform_op_if_inside_handler

    def __call__(
        self, sgv: Any, dst_graph: Graph, dst_scope: str, src_scope: str = "", reuse_dst_scope: bool = False
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Copy a view.

        Args:
            sgv: the view, or what makes one.
            dst_graph: the graph of the copy.
            dst_scope: the scope of its names.
            src_scope: the scope that names of originals lose.
            reuse_dst_scope: whether the scope may exist; it is made unique otherwise.

        Returns:
            A view of the copy, and which copy belongs to which original.

        Raises:
            TypeError: for what is no graph.
            ValueError: for an original outside of the source scope.
        """
        view = make_view(sgv)
        if not isinstance(dst_graph, Graph):
            raise TypeError(f"a graph is taken, got {dst_graph!r:.100}")
        source, target = scope_finalize(src_scope), scope_finalize(dst_scope)
        if target and not reuse_dst_scope:
            target = scope_finalize(dst_graph.unique_name(target[:-1]))
        info = _Copying(view, dst_graph, target, source)
        for op in sorted(view.ops, key=lambda each: each.number):
            self._copy(info, op)
        for tensor, read, copied in info.early:
            place = next(n for n, each in enumerate(copied.inputs) if each is read)
            copied._update_input(place, info.transformed_ts[tensor])
        for op in view.ops:
            self._connect(info, op)
        return self._view(info), TransformerInfo(info)

    def _copy(self, info: _Copying, op: Operation) -> None:
        before = len(info.early)
        inputs = [self._tensor(info, tensor) for tensor in op.inputs]
        copied, outputs = self.transform_op_handler(info, op, inputs)
        if copied is op:
            raise ValueError("In-place transformation not allowed.")
        info.early[before:] = [(t, read, copied) for t, read, _ in info.early[before:]]
        info.transformed_ops[op] = copied
        self.assign_collections_handler(info, op, copied)
        for tensor, output in zip(op.outputs, outputs, strict=True):
            info.transformed_ts[tensor] = output
            self.assign_collections_handler(info, tensor, output)

    def _tensor(self, info: _Copying, tensor: Tensor) -> Tensor:
        """Return what a copy reads in the place of a tensor."""
        if tensor in info.transformed_ts:
            return info.transformed_ts[tensor]
        if tensor in info.sgv_inputs_set:
            replacement: Tensor = self.transform_external_input_handler(info, tensor)
        elif tensor.op in info.ops:
            # It is built after its reader, as the back edge of a loop is.
            replacement = replace_t_with_placeholder_handler(info, tensor)
            info.early.append((tensor, replacement, tensor.op))
            return replacement
        else:
            replacement = self.transform_external_hidden_input_handler(info, tensor)
        info.transformed_ts[tensor] = replacement
        return replacement

    def _connect(self, info: _Copying, op: Operation) -> None:
        copied = info.transformed_ops[op]
        if op._original_op is not None:
            original = self.transform_original_op_handler(info, op._original_op)
            copied._original_op = copied._original_op if original is None else original
        waits = [self.transform_control_input_handler(info, each) for each in op.control_inputs]
        known = [each for each in waits if each is not None and each not in copied.control_inputs]
        add_control_inputs(copied, known)

    @staticmethod
    def _view(info: _Copying) -> SubGraphView:
        view = SubGraphView(list(info.transformed_ops.values()))
        inputs, outputs = view.inputs, view.outputs
        entering = [info.transformed_ts.get(tensor) for tensor in info.sgv.inputs]
        leaving = [info.transformed_ts.get(tensor) for tensor in info.sgv.outputs]
        return view.remap(
            list(dict.fromkeys(tensor for tensor in entering if tensor in inputs)),
            [tensor for tensor in leaving if tensor in outputs],
        )


def copy(
    sgv: Any, dst_graph: Graph | None = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view, with placeholders for its inputs.

    Args:
        sgv: the view, or what makes one.
        dst_graph: the graph of the copy; that of the view if left out.
        dst_scope: the scope of its names.
        src_scope: the scope that names of originals lose.
        reuse_dst_scope: whether the scope may exist; it is made unique otherwise.

    Returns:
        A view of the copy, and which copy belongs to which original.
    """
    view = make_view(sgv)
    graph: Any = view.graph if dst_graph is None else dst_graph
    return Transformer()(view, graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view that reads other tensors; see ``copy``.

    Args:
        sgv: the view, or what makes one.
        replacement_ts: what is read, by what is read in the original; the copy reads what it reads otherwise.
        dst_graph: see ``copy``, like the rest.
        dst_scope: likewise.
        src_scope: likewise.
        reuse_dst_scope: likewise.

    Raises:
        ValueError: if the graph of what is read is another one.
    """
    view = make_view(sgv)
    graph: Any = view.graph if dst_graph is None else dst_graph

    def replaced(info: Any, tensor: Tensor) -> Tensor:
        instead = replacement_ts.get(tensor)
        return keep_t_if_possible_handler(info, tensor) if instead is None else instead

    transformer = Transformer()
    transformer.transform_external_input_handler = replaced
    return transformer(view, graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Return tensors computed anew with other tensors in the place of some on which they depend.

    Args:
        target_ts: a tensor, or collections of some.
        replacement_ts: what is read, by what is read so far.
        dst_scope: see ``copy``, like the rest.
        src_scope: likewise.
        reuse_dst_scope: likewise.

    Raises:
        ValueError: if the tensors do not depend on any of those.
    """
    targets = make_list_of_t(list(flattened(target_ts)))
    graph = get_unique_graph(targets, Tensor)
    assert graph is not None
    between = get_walks_intersection_ops(list(replacement_ts), targets, control_ios=ControlOutputs(graph))
    if not between:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(between, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, lambda original: original)
