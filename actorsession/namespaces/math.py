"""Mathematical functions of elements, reductions and segments.

Inside this package, ``import math`` imports Python's own module, since imports are absolute.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.arrays.layout": "invert_permutation",
    "actorsession.ops.arrays.scatter": "unsorted_segment_sum",
    "actorsession.ops.elements.arithmetic": (
        "add add_n divide floordiv floormod maximum minimum mod multiply pow squared_difference subtract truediv"
    ),
    "actorsession.ops.elements.clip": "clip_by_average_norm",
    "actorsession.ops.elements.comparison": (
        "equal greater greater_equal is_finite is_inf is_nan less less_equal logical_and "
        "logical_not logical_or logical_xor not_equal"
    ),
    "actorsession.ops.elements.complex_numbers": "angle complex imag real",
    "actorsession.ops.elements.division": "truncatediv truncatemod",
    "actorsession.ops.elements.elementwise": (
        "abs ceil conj cos exp expm1 floor log log1p negative reciprocal round rsqrt sign sin sqrt square tan"
    ),
    "actorsession.ops.elements.error_functions": "erf erfc erfcinv erfinv ndtri",
    "actorsession.ops.elements.nearness": "nextafter rint",
    "actorsession.ops.elements.quotients": (
        "div_no_nan div_no_nan=divide_no_nan multiply_no_nan reciprocal_no_nan xdivy xlog1py xlogy"
    ),
    "actorsession.ops.elements.trigonometry": "acos acosh asin asinh atan atan2 atanh cosh sinh",
    "actorsession.ops.linear.products": "accumulate_n polyval scalar_mul",
    "actorsession.ops.neural.activations": "sigmoid softplus tanh",
    "actorsession.ops.neural.rectifiers": "log_sigmoid softsign",
    "actorsession.ops.neural.softmax": "log_softmax softmax",
    "actorsession.ops.reductions.argmax": "argmax argmin",
    "actorsession.ops.reductions.cumulative": "cumprod cumsum cumulative_logsumexp",
    "actorsession.ops.reductions.histograms": (
        "bincount confusion_matrix histogram_fixed_width histogram_fixed_width_bins"
    ),
    "actorsession.ops.reductions.reduction": (
        "reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean "
        "reduce_min reduce_prod reduce_sum"
    ),
    "actorsession.ops.reductions.segments": (
        "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
        "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n"
    ),
    "actorsession.ops.reductions.spread": (
        "count_nonzero is_non_decreasing is_strictly_increasing l2_normalize reduce_std reduce_variance zero_fraction"
    ),
    "actorsession.ops.reductions.topk": "in_top_k top_k",
    "actorsession.opsets.special.bessel": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e",
    "actorsession.opsets.special.gamma": "digamma lbeta lgamma polygamma zeta",
    "actorsession.opsets.special.incomplete": "betainc igamma igammac",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
