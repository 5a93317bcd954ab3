"""``tf.debugging``: checks that fail a step, under their newer names."""

from __future__ import annotations

from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    "actorsession.compat.v1.graphs.tensors": ("assert_proper_iterable assert_same_float_dtype is_numeric_tensor"),
    "actorsession.ops": (
        "Assert assert_equal assert_greater assert_greater_equal assert_integer assert_less "
        "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_rank assert_rank_at_least assert_rank_in "
        "assert_scalar assert_type check_numerics is_finite is_inf is_nan is_non_decreasing "
        "is_strictly_increasing verify_tensor_all_finite=assert_all_finite"
    ),
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
