"""``tf.raw_ops``: a function for each operation type, which takes its inputs and attributes by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from actorsession.ops import raw

__all__ = list(raw.__all__)


def __getattr__(name: str) -> Any:
    # The namespace is that of the library's functions, which take inputs by position too.
    if name not in raw.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _by_name(getattr(raw, name))
    return function


def __dir__() -> list[str]:
    return __all__


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        if args:
            possible = list(inspect.signature(function).parameters)
            raise TypeError(
                f"{function.__name__} only takes keyword args (possible keys: {possible}). Please pass these "
                "args as kwargs instead."
            )
        return function(**kwargs)

    return build
