"""``tensorflow.python.layers.utils``: what layers do with their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.constant_value import get_static_value

__all__ = [
    "constant_value",
    "conv_input_length",
    "conv_output_length",
    "convert_data_format",
    "deconv_output_length",
    "normalize_data_format",
    "normalize_padding",
    "normalize_tuple",
    "smart_cond",
]


def constant_value(pred: Any) -> bool | None:
    """Return a condition that is known while the graph is built; ``None`` for any other.

    Args:
        pred: a bool, 0 or 1, or a tensor.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(pred, (bool, int)) and pred in (0, 1):
        return bool(pred)
    if not hasattr(pred, "_operand") and not hasattr(pred, "_as_graph_element"):
        raise TypeError(f"`pred` must be a Tensor, a Variable, or a Python bool, got {pred!r:.100}")
    value = get_static_value(ops.convert_to_tensor(pred))
    return None if value is None else bool(value)


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return what one of two functions returns: ``cond``, where the condition is not known already.

    Args:
        pred: the condition.
        true_fn: is called if it holds.
        false_fn: is called if it does not.
        name: the name of the operations.

    Raises:
        TypeError: if one of the two cannot be called.
    """
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("`true_fn` and `false_fn` must be callable.")
    known = constant_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return ops.cond(pred, true_fn, false_fn, name=name)


def convert_data_format(data_format: str, ndim: int) -> str:
    """Return ``NHWC`` and the like for ``channels_last`` and ``channels_first``.

    Raises:
        ValueError: for another text, or another number of dimensions than 3 to 5.
    """
    known = {3: "NWC NCW", 4: "NHWC NCHW", 5: "NDHWC NCDHW"}
    if ndim not in known:
        raise ValueError(f"Input rank not supported: {ndim}")
    last, first = known[ndim].split()
    return last if normalize_data_format(data_format) == "channels_last" else first


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return a number, or several of them, as a tuple of numbers.

    Args:
        value: a number, which is meant ``n`` times, or ``n`` of them.
        n: how many.
        name: of the argument, for errors.

    Raises:
        ValueError: for another number of them, or for what is no number.
    """
    if isinstance(value, int):
        return (value,) * n
    try:
        numbers = tuple(int(item) for item in value)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != n:
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}")
    return numbers


def normalize_data_format(value: str) -> str:
    """Return ``channels_last`` or ``channels_first`` in small letters.

    Raises:
        ValueError: for another text.
    """
    if value.lower() not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return value.lower()


def normalize_padding(value: str) -> str:
    """Return ``valid`` or ``same`` in small letters.

    Raises:
        ValueError: for another text.
    """
    if value.lower() not in ("valid", "same"):
        raise ValueError(f'The `padding` argument must be one of "valid", "same". Received: {value}')
    return value.lower()


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return the length of what a convolution returns; ``None`` if that of its input is not known."""
    if input_length is None:
        return None
    wide = filter_size + (filter_size - 1) * (dilation - 1)
    longest = {"same": input_length, "valid": input_length - wide + 1, "full": input_length + wide - 1}[padding]
    return (longest + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Return the length of the input of a convolution that returns a length."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Return the length of what a transposed convolution returns."""
    if input_length is None:
        return None
    more = {"valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2), "same": 0}[padding]
    return input_length * stride + more
