"""``tensorflow.python.ops.gen_*_ops``: a function for each operation type, in small letters.

Each is that of ``tf.raw_ops``, which takes inputs in their order, too: ``gen_math_ops.mat_mul(a, b)``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from actorsession.interop.protos import OpDef
from actorsession.ops import raw

__all__ = ["OpDef", "get", "get_registered_ops", "snake_case"]


def snake_case(op_type: str) -> str:
    """Return the name of the function of an operation type, such as ``mat_mul`` for ``MatMul``."""
    name = ""
    for place, letter in enumerate(op_type):
        # A capital begins a word after a small letter or before one.
        begins = letter.isupper() and (op_type[place - 1 : place].islower() or op_type[place + 1 : place + 2].islower())
        name += ("_" if begins and place else "") + letter.lower()
    return name


@functools.cache
def _types() -> dict[str, str]:
    return {snake_case(op_type): op_type for op_type in raw.__all__}


def __getattr__(name: str) -> Callable[..., Any]:
    # Those of operations that have another public function begin with an underscore.
    function = name.removeprefix("_")
    op_type = function if function in raw.__all__ else _types().get(function)
    if op_type is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return _with_places(getattr(raw, op_type))


def get(name: str) -> OpDef | None:
    """Return what is known of an operation type as a message; ``None`` if there is no such type."""
    return get_registered_ops().get(name)


@functools.cache
def get_registered_ops() -> dict[str, OpDef]:
    """Return what is known of all operation types as messages: their names."""
    return {op_type: OpDef(name=op_type) for op_type in raw.__all__}


@functools.cache
def _with_places(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which takes attributes by their places, too."""
    by_name = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    inputs = len(inspect.signature(function).parameters) - len(by_name)
    if not by_name:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        attributes = zip(by_name, args[inputs:], strict=False)
        return function(*args[:inputs], **dict(attributes), **kwargs)

    return call
