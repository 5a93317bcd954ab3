"""``tf.while_loop`` with the structures of TensorFlow 1; the rest is ``ops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.internals import nest

__all__ = ["while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat ``body`` while ``cond`` is true; see ``actorsession.while_loop``.

    Args:
        cond: a function of the loop variables that returns a bool scalar.
        body: a function of the loop variables that returns their next values.
        loop_vars: the first values, in a list, tuple, named tuple or dictionary.
        shape_invariants: static shapes that the loop variables keep.
        parallel_iterations: accepted for compatibility; iterations run one after the other.
        back_prop: accepted for compatibility.
        swap_memory: accepted for compatibility.
        name: the name scope.
        maximum_iterations: the largest number of iterations.
        return_same_structure: whether a single loop variable is returned in its list, too.

    Returns:
        The last values in the structure in which ``body`` returned the next ones, which TensorFlow 1 does; a
        single one without its list, unless ``return_same_structure`` is set.
    """
    if not isinstance(parallel_iterations, (int, np.integer)) or parallel_iterations < 1:
        raise TypeError(
            f"'parallel_iterations' must be a positive integer. while_loop: got {parallel_iterations!r:.100}"
        )
    returned: list[Any] = []

    def noted(*values: Any) -> Any:
        results = body(*values)
        returned.append(results)
        return results

    result = ops.while_loop(
        cond,
        noted if callable(body) else body,
        loop_vars,
        shape_invariants,
        back_prop,
        name,
        maximum_iterations,
        return_same_structure,
    )
    if return_same_structure or not returned or not isinstance(result, (list, tuple)):
        return result
    last = returned[-1]
    if not isinstance(last, (list, tuple)) or len(last) != len(result):
        return result
    return nest.pack_sequence_as(last, nest.flatten(result))
