"""What numpy does about floating-point errors while kernels run: nothing, as TensorFlow.

A division by zero is infinite or not a number, and nobody is warned. ``np.errstate`` says so for a block, and
takes longer than most steps. numpy keeps the state in a context variable, which is found here once; around
kernels the variable is set and reset:

    before = FLOAT_ERRORS.set(IGNORED)
    try:
        ...
    finally:
        FLOAT_ERRORS.reset(before)

The module imports nothing of this project.
"""

from __future__ import annotations

import contextvars
from typing import Any, Protocol

import numpy as np

__all__ = ["FLOAT_ERRORS", "IGNORED"]


class ErrorState(Protocol):
    """The state of the current context, as ``contextvars.ContextVar`` has it."""

    def set(self, value: Any, /) -> Any:
        """Set the state and return what ``reset`` takes."""

    def reset(self, token: Any, /) -> None:
        """Set the state back to what it was."""


class _Blocks:
    """The state where no variable is found: entered and left as a block of ``np.errstate``."""

    def set(self, value: Any) -> np.errstate:
        block = np.errstate(**value)
        block.__enter__()
        return block

    def reset(self, token: np.errstate) -> None:
        token.__exit__(None, None, None)


def find_error_state() -> tuple[ErrorState, Any]:
    """Return numpy's error state and its value that ignores all errors."""
    outside = contextvars.copy_context()
    with np.errstate(all="ignore"):
        inside = contextvars.copy_context()
    changed: list[tuple[contextvars.ContextVar[Any], Any]] = [
        (variable, value) for variable, value in inside.items() if outside.get(variable) is not value
    ]
    return changed[0] if len(changed) == 1 else (_Blocks(), {"all": "ignore"})


FLOAT_ERRORS, IGNORED = find_error_state()
