"""``tf.autograph.experimental``: what keeps functions as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["do_not_convert", "set_loop_options"]


def do_not_convert(func: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function as it is, since no function is rewritten.

    Args:
        func: the function; without it, a decorator is returned.
        args: accepted for compatibility.
        kwargs: accepted for compatibility.
    """
    return func if callable(func) else lambda function: function


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Do nothing: loops of Python are not rewritten, so they have no options."""
