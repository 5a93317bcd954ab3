"""Operations and tensors as lists, the placeholders that stand for tensors, and elements of one name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from actorsession import ops
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor

__all__ = [
    "ControlOutputs", "check_graphs", "find_corresponding", "find_corresponding_elem", "flattened",
    "get_consuming_ops", "get_generating_ops", "get_tensors", "get_unique_graph", "is_iterable",
    "make_list_of_op", "make_list_of_t", "make_placeholder_from_dtype_and_shape",
    "make_placeholder_from_tensor", "mapped", "placeholder_name", "scope_finalize", "unique",
]  # fmt: skip

_PREFIX = "geph"


def unique(*lists: Iterable[Any]) -> list[Any]:
    """Return the items of lists in their order, each once."""
    return list(dict.fromkeys(item for each in lists for item in each))


def is_iterable(obj: Any) -> bool:
    """Return whether a value is a collection of others; a tensor and a text are none."""
    return isinstance(obj, Iterable) and not isinstance(obj, (str, bytes, Tensor, Operation))


def flattened(tree: Any) -> Iterator[Any]:
    """Yield the leaves of nested collections, the values of dictionaries."""
    if not is_iterable(tree):
        yield tree
        return
    for inner in tree.values() if isinstance(tree, Mapping) else tree:
        yield from flattened(inner)


def mapped(tree: Any, function: Any) -> Any:
    """Return nested collections with other leaves, of the same kinds."""
    if not is_iterable(tree):
        return function(tree)
    if isinstance(tree, Mapping):
        return type(tree)((key, mapped(inner, function)) for key, inner in tree.items())  # type: ignore[call-arg]
    members = [mapped(inner, function) for inner in tree]
    if isinstance(tree, tuple):
        kind: Any = type(tree)
        return kind(*members) if hasattr(tree, "_fields") else tuple(members)
    return members


# -- lists -----------------------------------------------------------------------------------------


def get_unique_graph(tops: Any, check_types: Any = None, none_if_empty: bool = False) -> Graph | None:
    """Return the graph of operations, tensors, views or graphs.

    Args:
        tops: one of them, or a collection.
        check_types: the classes that are taken.
        none_if_empty: whether there may be none.

    Raises:
        TypeError: for anything else.
        ValueError: if they belong to different graphs, or there are none.
    """
    if isinstance(tops, Graph):
        return tops
    graph: Graph | None = None
    members = list(tops) if is_iterable(tops) else [tops]
    for each in members:
        kinds = check_types or (Operation, Tensor)
        if not isinstance(each, kinds):
            raise TypeError(f"operations and tensors are taken, got {type(each).__name__}: {each!r:.100}")
        if graph is not None and graph is not each.graph:
            raise ValueError(f"{each!r} is of another graph than what stands before it")
        graph = each.graph
    if graph is None and not none_if_empty:
        raise ValueError("there is no operation or tensor that says which graph is meant")
    return graph


def check_graphs(*args: Any) -> None:
    """Check that views, operations and tensors are of one graph.

    Raises:
        ValueError: if they are not.
    """
    graphs = {id(each.graph) for each in args if getattr(each, "graph", None) is not None}
    if len(graphs) > 1:
        raise ValueError("the elements are of different graphs")


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """Return operations as a list.

    Args:
        ops: an operation, a collection of some, or a graph, which stands for all of its operations.
        check_graph: whether they have to be of one graph.
        allow_graph: whether a graph is taken.
        ignore_ts: whether tensors among them are passed over.

    Raises:
        TypeError: for anything else.
        ValueError: if they are of different graphs.
    """
    return _listed(ops, Operation, Tensor if ignore_ts else None, check_graph, allow_graph)


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Tensor]:
    """Return tensors as a list; see ``make_list_of_op``."""
    return _listed(ts, Tensor, Operation if ignore_ops else None, check_graph, allow_graph)


def _listed(members: Any, kind: Any, ignored: Any, check: bool, allow_graph: bool) -> list[Any]:
    if isinstance(members, Graph):
        if not allow_graph:
            raise TypeError("a graph is not taken here, but a list of its elements is")
        return members.get_operations() if kind is Operation else get_tensors(members)
    elements = []
    for each in members if is_iterable(members) else [members]:
        element = each._as_graph_element() if hasattr(each, "_as_graph_element") else each
        if ignored is not None and isinstance(element, ignored):
            continue
        elements.append(element)
    if check:
        get_unique_graph(elements, kind, none_if_empty=True)
    return elements


def get_tensors(graph: Graph) -> list[Tensor]:
    """Return all tensors of a graph.

    Raises:
        TypeError: for what is no graph.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"a graph is taken, got {graph!r:.100}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Operation]:
    """Return the operations of tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Operation]:
    """Return the operations that read tensors, each once."""
    return unique(*(tensor.consumers() for tensor in make_list_of_t(ts, allow_graph=False)))


class ControlOutputs:
    """The operations that wait for each operation of a graph.

    Args:
        graph: the graph.

    Raises:
        TypeError: for what is no graph.
    """

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"a graph is taken, got {graph!r:.100}")
        self._graph = graph
        self._outputs: dict[Operation, list[Operation]] = {}
        self.update()

    def update(self) -> ControlOutputs:
        """Look at the graph again, which may have changed."""
        self._outputs.clear()
        for op in self._graph.get_operations():
            for before in op.control_inputs:
                self._outputs.setdefault(before, []).append(op)
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Return the waiting operations by those that they wait for."""
        return self._outputs

    def get(self, op: Operation) -> list[Operation]:
        """Return the operations that wait for one."""
        return self._outputs.get(op, [])

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph


# -- names and placeholders ------------------------------------------------------------------------


def scope_finalize(scope: str) -> str:
    """Return a scope with one slash at its end, if it is not empty."""
    return f"{scope.rstrip('/')}/" if scope else scope


def placeholder_name(t: Tensor | None = None, scope: str | None = None, prefix: str = _PREFIX) -> str:
    """Return the name of a placeholder that stands for a tensor.

    Args:
        t: the tensor, if there is one.
        scope: the scope of the placeholder; the tensor's if left out.
        prefix: what the name begins with.

    Raises:
        TypeError: if it is none.
    """
    if t is None:
        return f"{scope_finalize(scope or '')}{prefix}"
    if not isinstance(t, Tensor):
        raise TypeError(f"a tensor is taken, got {t!r:.100}")
    above, _, own = t.op.name.rpartition("/")
    # The placeholder of a placeholder has its name but for a number.
    own = re.sub(rf"^{prefix}__(.*)_\d+$", r"\1", own)
    return f"{scope_finalize(above if scope is None else scope)}{prefix}__{own}_{t.value_index}"


def make_placeholder_from_tensor(t: Tensor, scope: str | None = None, prefix: str = _PREFIX) -> Tensor:
    """Return a new placeholder in the default graph that can be fed in the place of a tensor.

    Args:
        t: the tensor.
        scope: the scope of its name; the tensor's if left out.
        prefix: what its name begins with.
    """
    return ops.placeholder(t.dtype.base_dtype, t.shape, name=placeholder_name(t, scope, prefix))


def make_placeholder_from_dtype_and_shape(
    dtype: Any, shape: Any = None, scope: str | None = None, prefix: str = _PREFIX
) -> Tensor:
    """Return a new placeholder in the default graph; see ``make_placeholder_from_tensor``."""
    return ops.placeholder(dtype, shape, name=placeholder_name(None, scope, prefix))


def find_corresponding_elem(target: Any, dst_graph: Graph, dst_scope: str = "", src_scope: str = "") -> Any:
    """Return the element of a graph whose name in a scope is that of another element in another scope.

    Args:
        target: an operation or a tensor.
        dst_graph: the graph.
        dst_scope: the scope in which the wanted one is.
        src_scope: the scope of the given one.

    Returns:
        The element; ``None`` if there is none.

    Raises:
        ValueError: if the given one is in another scope.
    """
    source, name = scope_finalize(src_scope), target.name
    if not name.startswith(source):
        raise ValueError(f"{name!r} is not in the scope {source!r}")
    renamed = scope_finalize(dst_scope) + name[len(source) :]
    try:
        return dst_graph.as_graph_element(renamed)
    except (KeyError, ValueError):
        return None


def find_corresponding(targets: Any, dst_graph: Graph, dst_scope: str = "", src_scope: str = "") -> Any:
    """Return what ``find_corresponding_elem`` does for each element of nested collections."""
    return mapped(targets, lambda each: find_corresponding_elem(each, dst_graph, dst_scope, src_scope))
