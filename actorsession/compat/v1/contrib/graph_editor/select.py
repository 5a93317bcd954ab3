"""Which operations and tensors of a graph are meant: by name, by what they read, by what reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from actorsession.compat.v1.contrib.graph_editor.elements import (
    ControlOutputs,
    get_consuming_ops,
    get_generating_ops,
    is_iterable,
    make_list_of_op,
    make_list_of_t,
    unique,
)
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor

__all__ = [
    "can_be_regex", "check_cios", "compute_boundary_ts", "filter_ops", "filter_ops_from_regex",
    "filter_ts", "filter_ts_from_regex", "get_backward_walk_ops", "get_forward_walk_ops",
    "get_name_scope_ops", "get_ops_ios", "get_walks_intersection_ops", "get_walks_union_ops",
    "get_within_boundary_ops", "make_regex", "select_ops", "select_ops_and_ts", "select_ts",
]  # fmt: skip

_OPS_ONLY, _TS_ONLY = "(?#ops)", "(?#ts)"


# -- by name ---------------------------------------------------------------------------------------


def can_be_regex(obj: Any) -> bool:
    """Return whether a value is a regular expression or the text of one."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> re.Pattern[str]:
    """Return a regular expression.

    Raises:
        ValueError: for what is neither one nor its text.
    """
    if not can_be_regex(obj):
        raise ValueError(f"a regular expression is taken, got {obj!r:.100}")
    return re.compile(obj)


def _by(condition: Any) -> Callable[[Any], Any]:
    if can_be_regex(condition):
        regex = make_regex(condition)
        return lambda each: regex.search(each.name)
    if not callable(condition):
        raise TypeError(f"a filter is a function or a regular expression, got {condition!r:.100}")
    return condition  # type: ignore[no-any-return]


def filter_ops(ops: Any, positive_filter: Any) -> list[Operation]:
    """Return the operations for which a filter holds.

    Args:
        ops: operations, or a graph.
        positive_filter: a function, or a regular expression of the name; ``True`` for all.
    """
    listed = make_list_of_op(ops)
    return listed if positive_filter is True else [op for op in listed if _by(positive_filter)(op)]


def filter_ts(ops: Any, positive_filter: Any) -> list[Tensor]:
    """Return the tensors that operations read and make for which a filter holds; see ``filter_ops``."""
    listed = make_list_of_op(ops)
    every = unique(_inputs(listed), _outputs(listed))
    return every if positive_filter is True else [t for t in every if _by(positive_filter)(t)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Operation]:
    """Return the operations in whose name a regular expression is found."""
    return filter_ops(make_list_of_op(ops), make_regex(regex))


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Tensor]:
    """Return the tensors of operations in whose name a regular expression is found."""
    return filter_ts(make_list_of_op(ops), make_regex(regex))


def get_name_scope_ops(ops: Any, scope: str) -> list[Operation]:
    """Return the operations in a name scope.

    Args:
        ops: operations, or a graph.
        scope: the scope, with or without a slash at its end.
    """
    inside = rf"^{re.escape(scope.rstrip('/'))}(/.*)?$" if scope else ".*"
    return filter_ops_from_regex(ops, inside)


def _inputs(ops: Iterable[Operation]) -> list[Tensor]:
    return unique(*(op.inputs for op in ops))


def _outputs(ops: Iterable[Operation]) -> list[Tensor]:
    return [tensor for op in ops for tensor in op.outputs]


# -- by connections --------------------------------------------------------------------------------


def check_cios(
    control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[bool, ControlOutputs | None]:
    """Return whether control inputs count, and the control outputs if they do.

    Args:
        control_inputs: whether the first do.
        control_outputs: the second.
        control_ios: both: the control outputs.

    Raises:
        TypeError: if the last two are no ``ControlOutputs``.
        ValueError: if the last is given with another.
    """
    for each in (control_outputs, control_ios):
        if each is not None and not isinstance(each, ControlOutputs):
            raise TypeError(f"a ControlOutputs is taken, got {each!r:.100}")
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios")
        return True, control_ios
    return control_inputs, control_outputs


def get_ops_ios(
    ops: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> list[Operation]:
    """Return the operations that others read or are read by; see ``check_cios`` for the rest."""
    before, after = check_cios(control_inputs, control_outputs, control_ios)
    selected = make_list_of_op(ops)
    others = [tensor.op for tensor in _inputs(selected)]
    for op in selected:
        others += [reader for tensor in op.outputs for reader in tensor.consumers()]
        others += op.control_inputs if before else []
        others += after.get(op) if after is not None else []
    return unique(others)


def compute_boundary_ts(ops: Any) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return the tensors that enter operations, those that leave them, and those between them.

    A tensor that is read inside and outside is in the last two lists.
    """
    selected = make_list_of_op(ops)
    among, written, read = set(selected), _outputs(selected), _inputs(selected)
    own, inner = set(written), set(read)
    entering = [tensor for tensor in read if tensor not in own]
    between = [tensor for tensor in read if tensor in own]
    leaving = [tensor for tensor in written if tensor not in inner or not among.issuperset(tensor.consumers())]
    return entering, leaving, between


def get_within_boundary_ops(
    ops: Any,
    seed_ops: Any,
    boundary_ops: Any = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:
    """Return the operations that are reached from some, in both directions, before a boundary.

    Args:
        ops: those that are looked at, or a graph.
        seed_ops: where it begins.
        boundary_ops: where it ends.
        inclusive: whether the boundary is part of the result.
        control_inputs: see ``check_cios``, like the rest.
        control_outputs: likewise.
        control_ios: likewise.

    Raises:
        ValueError: if it begins at the boundary.
    """
    cios = check_cios(control_inputs, control_outputs, control_ios)
    limit, reached = (set(make_list_of_op(boundary_ops)), set(make_list_of_op(seed_ops, allow_graph=False)))
    if limit & reached:
        raise ValueError("the boundary has some of the operations from which to begin")
    ahead = set(reached)
    while ahead:
        near = set(get_ops_ios(ahead, *cios)) - reached
        reached |= near if inclusive else near - limit
        ahead = near - limit
    return [op for op in make_list_of_op(ops) if op in reached]


def _walk(
    seeds: Any,
    seeds_of_tensors: Callable[[Any], list[Operation]],
    near: Callable[[Operation, set[Tensor]], Iterable[Operation]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    stop_at_ts: Any,
) -> list[Operation]:
    """Return the operations that are reached from some, the nearer ones first."""
    starts = list(seeds) if is_iterable(seeds) else [seeds]
    if not starts:
        return []
    tensors = isinstance(starts[0], Tensor)
    start = seeds_of_tensors(starts) if tensors else make_list_of_op(starts, allow_graph=False)
    among = set(make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    stops = set(make_list_of_t(stop_at_ts))

    def is_within(op: Operation) -> bool:
        return (among is None or op in among) and (within_ops_fn is None or within_ops_fn(op))

    first = unique(op for op in start if among is None or op in among)
    order, ahead = dict.fromkeys(first), first
    while ahead:
        reached = unique(op for each in ahead for op in near(each, stops))
        ahead = [op for op in reached if op not in order and is_within(op)]
        order.update(dict.fromkeys(ahead))
    left_out = () if inclusive else set(first)
    return [op for op in order if op not in left_out]


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:
    """Return the operations that depend on some.

    Args:
        seed_ops: those, or tensors, whose readers are meant.
        inclusive: whether they are part of the result.
        within_ops: the operations that count; all if left out.
        within_ops_fn: a function that says which count.
        stop_at_ts: tensors behind which nothing is looked for.
        control_outputs: a ``ControlOutputs``, if those that wait count.
    """
    check_cios(False, control_outputs)

    def near(op: Operation, stops: set[Tensor]) -> list[Operation]:
        readers = [reader for t in op.outputs if t not in stops for reader in t.consumers()]
        return readers if control_outputs is None else readers + control_outputs.get(op)

    return _walk(seed_ops, get_consuming_ops, near, inclusive, within_ops, within_ops_fn, stop_at_ts)


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """Return the operations on which some depend; see ``get_forward_walk_ops``."""

    def near(op: Operation, stops: set[Tensor]) -> list[Operation]:
        sources = [tensor.op for tensor in op.inputs if tensor not in stops]
        return sources + list(op.control_inputs) if control_inputs else sources

    return _walk(seed_ops, get_generating_ops, near, inclusive, within_ops, within_ops_fn, stop_at_ts)


def _walks(
    forward: Any, backward: Any, fits: tuple[bool, bool], within: Any, fn: Any, cios: Any
) -> tuple[list[Operation], list[Operation]]:
    before, after = cios
    return (
        get_forward_walk_ops(forward, fits[0], within, fn, control_outputs=after),
        get_backward_walk_ops(backward, fits[1], within, fn, control_inputs=before),
    )


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:
    """Return the operations on the ways from some to others; see ``get_forward_walk_ops``."""
    cios = check_cios(control_inputs, control_outputs, control_ios)
    fits = forward_inclusive, backward_inclusive
    ahead, behind = _walks(forward_seed_ops, backward_seed_ops, fits, within_ops, within_ops_fn, cios)
    both = set(behind)
    return [op for op in ahead if op in both]


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:
    """Return what ``get_forward_walk_ops`` and ``get_backward_walk_ops`` return, together."""
    cios = check_cios(control_inputs, control_outputs, control_ios)
    fits = forward_inclusive, backward_inclusive
    return unique(*_walks(forward_seed_ops, backward_seed_ops, fits, within_ops, within_ops_fn, cios))


# -- by whatever is given --------------------------------------------------------------------------


def _selected(
    args: tuple[Any, ...],
    graph: Any,
    restrict: bool,
    mark: str,
    by_name: Callable[[Any, Any], list[Any]],
    as_list: Callable[[Any], list[Any]],
) -> list[Any]:
    """Return the elements that regular expressions and collections name, each once."""
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"graph is a graph, got {graph!r:.100}")
    elements: list[Any] = []
    for arg in args:
        if not can_be_regex(arg):
            elements += as_list(arg)
            continue
        if graph is None:
            raise ValueError("a regular expression is given without graph=, in which it is looked for")
        regex = make_regex(arg)
        if restrict and not regex.pattern.startswith(mark):
            continue
        elements += by_name(graph, regex)
    return unique(elements)


def _graph_from(kwargs: dict[str, Any], *others: str) -> tuple[Any, list[Any]]:
    graph, rest = kwargs.pop("graph", None), [kwargs.pop(name, False) for name in others]
    if kwargs:
        raise ValueError(f"unknown keywords: {', '.join(sorted(kwargs))}")
    return graph, rest


def select_ops(*args: Any, **kwargs: Any) -> list[Operation]:
    """Return the operations that are named or given.

    Args:
        args: regular expressions of names, operations, and collections of these; tensors are passed over.
        kwargs: ``graph``, in which names are looked for; ``restrict_ops_regex``, whether only expressions
            count that begin with ``(?#ops)``.

    Raises:
        TypeError: for anything else.
        ValueError: for an expression without a graph, or other keywords.
    """
    graph, (restrict,) = _graph_from(kwargs, "restrict_ops_regex")
    as_list = lambda elements: make_list_of_op(elements, ignore_ts=True)  # noqa: E731
    return _selected(args, graph, restrict, _OPS_ONLY, filter_ops, as_list)


def select_ts(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Return the tensors that are named or given; see ``select_ops``, with ``(?#ts)``."""
    graph, (restrict,) = _graph_from(kwargs, "restrict_ts_regex")
    as_list = lambda elements: make_list_of_t(elements, ignore_ops=True)  # noqa: E731
    return _selected(args, graph, restrict, _TS_ONLY, filter_ts, as_list)


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Operation], list[Tensor]]:
    """Return the operations and the tensors that are named or given.

    A regular expression means operations; one that begins with ``(?#ts)`` means tensors. The arguments are
    those of ``select_ops``.
    """
    names = [arg for arg in args if can_be_regex(arg)]
    of_tensors = [arg for arg in names if make_regex(arg).pattern.startswith(_TS_ONLY)]
    elements = [arg for arg in args if not can_be_regex(arg)]
    of_ops = [arg for arg in names if not make_regex(arg).pattern.startswith(_TS_ONLY)]
    return select_ops(*of_ops, *elements, **kwargs), select_ts(*of_tensors, *elements, **kwargs)
