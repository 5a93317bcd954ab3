"""Checks of the parameters of distributions, and of the values passed to their methods.

Checks of values are nodes that fail the step. Errors that are known statically are raised when the graph is
built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import DType, bool_, float16, float32, int16, int32, int64
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn

__all__ = [
    "checked",
    "checked_classes",
    "checked_counts",
    "checked_events",
    "logits_and_probs",
    "next_seed",
    "parameters",
    "same_float_dtype",
]


_NO_CLASSES = "A categorical-distribution parameter must have at least 1 dimension."


def checked(checks: Sequence[Any], tensor: Tensor) -> Tensor:
    """Return a tensor that depends on checks."""
    with control_dependencies(list(checks)):
        return ops.identity(tensor)


def parameters(checks: Sequence[Any], **given: Any) -> list[Tensor]:
    """Return parameters as tensors of one floating dtype that depend on checks, with their own names.

    Raises:
        ValueError: if they have several dtypes, or one that is not floating.
    """
    with control_dependencies(list(checks)):
        tensors = [ops.identity(value, name=name) for name, value in given.items()]
    same_float_dtype(tensors)
    return tensors


def same_float_dtype(tensors: Sequence[Tensor], dtype: DType | None = None) -> None:
    """Check that tensors have the same floating dtype.

    Raises:
        ValueError: if they do not.
    """
    expected = dtype or tensors[0].dtype
    wrong = [t for t in tensors if t.dtype is not expected]
    if wrong:
        raise ValueError(f"Tensor {wrong[0].name} has dtype {wrong[0].dtype.name}, expected {expected.name}")
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected.name}.")


def logits_and_probs(
    logits: Any, probs: Any, name: str, *, multidimensional: bool = False, validate_args: bool = False
) -> tuple[Tensor, Tensor]:
    """Return logits and probabilities, of which one is given.

    Args:
        logits: logarithms of odds, or of weights if there are several classes.
        probs: probabilities.
        name: name scope of the new nodes.
        multidimensional: whether the last dimension is that of classes; otherwise there are two outcomes.
        validate_args: whether to check probabilities.

    Raises:
        ValueError: for both or neither; for fewer than two classes, if arguments are validated.
        TypeError: if the given one is not floating.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    with name_scope(name):
        tensor = ops.convert_to_tensor(logits if probs is None else probs, name="logits" if probs is None else "probs")
        if not tensor.dtype.is_floating:
            raise TypeError(f"{'logits' if probs is None else 'probs'} must having floating type.")
        if multidimensional and tensor.shape.rank == 0:
            raise ValueError(_NO_CLASSES)
        if multidimensional and validate_args:
            tensor = checked_classes(tensor)
        if probs is None:
            squash = nn.softmax if multidimensional else ops.sigmoid
            return tensor, squash(tensor, name="probs")
        if validate_args:
            tensor = checked(_probability_checks(tensor, multidimensional=multidimensional), tensor)
        with name_scope("logits"):
            odds = ops.log(tensor)
            return (odds if multidimensional else odds - ops.log1p(-tensor)), tensor


def _probability_checks(probs: Tensor, *, multidimensional: bool) -> list[Any]:
    one = ops.constant(1.0, probs.dtype)
    upper = (
        ops.assert_near(ops.reduce_sum(probs, -1), one, message="probs does not sum to 1.")
        if multidimensional
        else ops.assert_less_equal(probs, one, message="probs has components greater than 1.")
    )
    return [ops.assert_non_negative(probs), upper]


def checked_classes(tensor: Tensor) -> Tensor:
    """Return a tensor with a check that its last dimension has at least two classes.

    Raises:
        ValueError: if it statically has fewer.
    """
    rank = tensor.shape.rank
    if rank == 0:
        raise ValueError(_NO_CLASSES)
    classes = None if rank is None else tensor.shape.as_list()[-1]
    too_few = "A categorical-distribution parameter must have at least 2 events."
    if classes is None:
        return checked([ops.assert_greater_equal(ops.shape(tensor)[-1], 2, message=too_few)], tensor)
    if classes < 2:
        raise ValueError(too_few)
    return tensor


_INTEGERS_OF = {float16: int16, float32: int32}


def _whole(tensor: Tensor, message: str) -> list[Any]:
    if tensor.dtype.is_integer or tensor.dtype is bool_:
        return []
    rounded = ops.cast(ops.cast(tensor, _INTEGERS_OF.get(tensor.dtype, int64)), tensor.dtype)
    return [ops.assert_equal(tensor, rounded, message=message)]


def checked_counts(tensor: Tensor) -> Tensor:
    """Return a tensor with a check that its elements are non-negative integers."""
    return checked(
        [
            ops.assert_non_negative(tensor, message=f"'{tensor}' must be non-negative."),
            *_whole(tensor, f"'{tensor}' cannot contain fractional components."),
        ],
        tensor,
    )


def checked_events(tensor: Tensor, most: int | None, what: str) -> Tensor:
    """Return a tensor with a check that its elements are integers from 0 to ``most``, if that is given."""
    if tensor.dtype is bool_:
        return tensor
    checks = [ops.assert_non_negative(tensor, message="Elements must be non-negative.")]
    checks += _whole(tensor, f"Elements must be {what}-equivalent.")
    if most is not None:
        limit = np.array(most, tensor.dtype.np_dtype)
        checks.append(ops.assert_less_equal(tensor, limit, message=f"Elements cannot exceed {most}."))
    return checked(checks, tensor)


def next_seed(seed: int | None, salt: str) -> int | None:
    """Return the seed of a further random operation of one sample, which is the same as in TensorFlow."""
    if seed is None:
        return None
    # Not for security: the seed must only differ from the first one and be the same everywhere.
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF
