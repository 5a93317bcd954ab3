"""Choices among several functions: ``case`` and ``switch_case``, built from nested ``cond``s."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import bool_, int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import raw
from actorsession.ops.build import constant, graph_of
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater_equal, less, logical_or, where
from actorsession.ops.flow.assertions import Assert
from actorsession.ops.flow.constructs import as_value
from actorsession.ops.flow.control_flow import cond
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.structures import flatten, pack

__all__ = ["case", "switch_case"]

_Action = Callable[[], Any]


def case(
    pred_fn_pairs: Any,
    default: _Action | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the results of the first function whose predicate holds.

    Args:
        pred_fn_pairs: a list or tuple of pairs of a bool scalar tensor and a function, or a dict of them.
        default: called if no predicate holds; if left out, a step in which no predicate holds fails.
        exclusive: whether a step in which two predicates hold fails.
        strict: whether a list or tuple of one value is returned as such.
        name: wanted name.

    Returns:
        The results of the functions, as in ``cond``.

    Raises:
        TypeError: for elements that are not pairs of a bool tensor and a function.
        ValueError: without any pair.
    """
    pairs = _checked_pairs(pred_fn_pairs)
    predicates, actions = [p for p, _ in pairs], [fn for _, fn in pairs]
    if default is not None and not callable(default):
        raise TypeError(f"case: default must be callable, got {default!r:.100}")
    if not pairs:
        raise ValueError("case: at least one pair of a predicate and a function is needed")
    graph = graph_of(*predicates)
    with graph.as_default(), graph.name_scope(name or "case"):
        if default is None:
            *predicates_left, last = predicates
            chosen: _Action = _if_any(predicates, last, actions[-1])
            rest = list(zip(predicates_left, actions[:-1], strict=True))
        else:
            chosen, rest = default, pairs
        for predicate, action in reversed(rest):
            chosen = _either(predicate, action, chosen, strict)
        if not exclusive:
            return _unwrapped(chosen(), strict) if not rest else chosen()
        with graph.control_dependencies([_at_most_one(predicates)]):
            return _unwrapped(chosen(), strict) if not rest else chosen()


def _checked_pairs(pairs: Any) -> list[tuple[Tensor, _Action]]:
    if not isinstance(pairs, (list, tuple, Mapping)):
        raise TypeError(f"case: pred_fn_pairs must be a list, tuple or dict, got {type(pairs).__name__}")
    checked = []
    for pair in pairs.items() if isinstance(pairs, Mapping) else pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"case: each of pred_fn_pairs must be a pair, got {pair!r:.100}")
        predicate, function = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"case: a predicate must be a Tensor, got {predicate!r:.100}")
        if predicate.dtype is not bool_:
            raise TypeError(f"case: a predicate must be of type bool, got {predicate!r}")
        if not callable(function):
            raise TypeError(f"case: the function for {predicate.name} must be callable")
        checked.append((predicate, function))
    return checked


def _either(predicate: Tensor, action: _Action, otherwise: _Action, strict: bool) -> _Action:
    return lambda: cond(predicate, action, otherwise, strict=strict)


def _unwrapped(returned: Any, strict: bool) -> Any:
    """Return the result of a function in the form in which ``cond`` returns it."""
    if not strict and type(returned) in (list, tuple) and len(returned) == 1:
        return returned[0]
    return returned


def _if_any(predicates: Sequence[Tensor], last: Tensor, action: _Action) -> _Action:
    """Return the last function with an assertion that its predicate holds."""

    def run() -> Any:
        words = f"None of the conditions is true: {', '.join([p.name for p in predicates])}, and there is no default"
        assertion = Assert(last, [words, *predicates], summarize=len(predicates) + 1)
        with last.graph.control_dependencies([assertion]):
            returned = action()
            # Values that were built outside would be available before the assertion has run.
            waited = [raw.Identity(as_value(v, last.graph)) for v in flatten(returned)]
            return pack(returned, waited)

    return run


def _at_most_one(predicates: Sequence[Tensor]) -> Operation:
    stacked = raw.Pack(list(predicates), axis=0)
    names = ", ".join([p.name for p in predicates])
    return Assert(
        less(reduce_sum(cast(stacked, int32)), 2),
        [f"exclusive=True: more than 1 condition is true: {names}", stacked],
        summarize=len(predicates),
    )


def switch_case(
    branch_index: Tensor, branch_fns: Any, default: _Action | None = None, name: str = "switch_case"
) -> Any:
    """Return the results of the function that a number chooses.

    Args:
        branch_index: an integer scalar tensor.
        branch_fns: functions, or pairs of a number (counted from 0) and a function, or a dict of them.
        default: called for any other number; the last function if left out.
        name: wanted name.

    Returns:
        The results of the functions, as in ``cond``.

    Raises:
        TypeError: if the index is not an integer tensor, or for values that are not functions.
        ValueError: without any function, or if the numbers are not 0, 1, 2 and so on.
    """
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"switch_case: branch_index must be a Tensor, got {branch_index!r:.100}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"switch_case: branch_index must be an integer Tensor, got {branch_index.dtype.name}")
    actions = _numbered(branch_fns)
    if default is not None:
        if not callable(default):
            raise TypeError(f"switch_case: default must be callable, got {default!r:.100}")
        actions.append(default)
    graph, last = branch_index.graph, len(actions) - 1
    with graph.as_default(), graph.name_scope(name or "switch_case"):
        end = constant(last, branch_index.dtype)
        beyond = logical_or(less(branch_index, 0), greater_equal(branch_index, end))
        return _among(where(beyond, end, branch_index), actions, 0)()


def _among(index: Tensor, actions: Sequence[_Action], first: int) -> _Action:
    """Return a function that selects one of many by binary search, with few levels of nesting."""
    if len(actions) == 1:
        return lambda: _unwrapped(actions[0](), strict=False)
    half = len(actions) // 2
    lower = _among(index, actions[:half], first)
    upper = _among(index, actions[half:], first + half)
    return lambda: cond(less(index, first + half), lower, upper)


def _numbered(functions: Any) -> list[_Action]:
    if not isinstance(functions, (list, tuple, Mapping)):
        raise TypeError(f"switch_case: branch_fns must be a list, tuple or dict, got {type(functions).__name__}")
    if not functions:
        raise ValueError("switch_case: at least one function is needed")
    pairs = list(functions.items() if isinstance(functions, Mapping) else functions)
    if all(callable(function) for function in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"switch_case: each of branch_fns must be a pair, got {pair!r:.100}")
        if not isinstance(pair[0], (int, np.integer)):
            raise TypeError(f"switch_case: a key must be an int, got {pair[0]!r:.100}")
        if not callable(pair[1]):
            raise TypeError(f"switch_case: the function for {pair[0]} must be callable")
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(f"switch_case: the keys must be all numbers from 0 to {len(keys) - 1}, got {keys}")
    return [function for _, function in sorted(pairs, key=lambda pair: int(pair[0]))]
