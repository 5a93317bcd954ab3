"""TensorFlow's ``tf.math`` namespace; other op files define its functions.

Inside this package, ``import math`` still imports Python's own module, since imports are absolute.
"""

from __future__ import annotations

from actorsession.ops.arrays.layout import invert_permutation
from actorsession.ops.arrays.scatter import unsorted_segment_sum
from actorsession.ops.elements.arithmetic import (
    add,
    add_n,
    divide,
    floordiv,
    floormod,
    maximum,
    minimum,
    mod,
    multiply,
    pow,
    squared_difference,
    subtract,
    truediv,
)
from actorsession.ops.elements.bessel import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e
from actorsession.ops.elements.comparison import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from actorsession.ops.elements.complex_numbers import angle, imag, real
from actorsession.ops.elements.elementwise import (
    abs,
    ceil,
    conj,
    cos,
    exp,
    expm1,
    floor,
    log,
    log1p,
    negative,
    reciprocal,
    round,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
    tan,
)
from actorsession.ops.elements.error_functions import erf, erfc, erfcinv, erfinv, ndtri
from actorsession.ops.elements.gamma_functions import digamma, lbeta, lgamma, polygamma, zeta
from actorsession.ops.elements.incomplete import betainc, igamma, igammac
from actorsession.ops.elements.nearness import nextafter, rint
from actorsession.ops.elements.quotients import (
    div_no_nan,
    multiply_no_nan,
    reciprocal_no_nan,
    xdivy,
    xlog1py,
    xlogy,
)
from actorsession.ops.elements.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cosh,
    sinh,
)
from actorsession.ops.linear.products import accumulate_n, polyval, scalar_mul
from actorsession.ops.neural.activations import sigmoid, softplus, tanh
from actorsession.ops.neural.rectifiers import log_sigmoid, softsign
from actorsession.ops.neural.softmax import log_softmax, softmax
from actorsession.ops.reductions.argmax import argmax, argmin
from actorsession.ops.reductions.cumulative import cumprod, cumsum, cumulative_logsumexp
from actorsession.ops.reductions.histograms import bincount, confusion_matrix
from actorsession.ops.reductions.reduction import (
    reduce_all,
    reduce_any,
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from actorsession.ops.reductions.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
)
from actorsession.ops.reductions.spread import (
    count_nonzero,
    is_non_decreasing,
    is_strictly_increasing,
    l2_normalize,
    reduce_std,
    reduce_variance,
    zero_fraction,
)
from actorsession.ops.reductions.topk import in_top_k, top_k

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin",
    "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e",
    "betainc", "bincount", "ceil", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero",
    "cumprod", "cumsum", "cumulative_logsumexp", "digamma", "divide", "divide_no_nan", "equal", "erf",
    "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor", "floordiv", "floormod", "greater",
    "greater_equal", "igamma", "igammac", "imag", "in_top_k", "invert_permutation", "is_finite",
    "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing", "l2_normalize", "lbeta",
    "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid", "log_softmax", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply",
    "multiply_no_nan", "ndtri", "negative", "nextafter", "not_equal", "polygamma", "polyval", "pow",
    "real", "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std",
    "reduce_sum", "reduce_variance", "rint", "round", "rsqrt", "scalar_mul", "segment_max",
    "segment_mean", "segment_min", "segment_prod", "segment_sum", "sigmoid", "sign", "sin", "sinh",
    "softmax", "softplus", "softsign", "sqrt", "square", "squared_difference", "subtract", "tan",
    "tanh", "top_k", "truediv", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "xdivy", "xlog1py", "xlogy", "zero_fraction", "zeta",
]  # fmt: skip

divide_no_nan = div_no_nan
