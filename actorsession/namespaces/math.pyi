# Written by scripts/generated.py.
"""Mathematical functions of elements, reductions and segments.

Inside this package, ``import math`` imports Python's own module, since imports are absolute.
"""

from actorsession.ops.arrays.layout import invert_permutation as invert_permutation
from actorsession.ops.arrays.scatter import unsorted_segment_sum as unsorted_segment_sum
from actorsession.ops.elements.arithmetic import (
add as add, add_n as add_n, divide as divide, floordiv as floordiv, floormod as floormod, maximum as
maximum, minimum as minimum, mod as mod, multiply as multiply, pow as pow, squared_difference as
squared_difference, subtract as subtract, truediv as truediv
)
from actorsession.ops.elements.clip import clip_by_average_norm as clip_by_average_norm
from actorsession.ops.elements.comparison import (
equal as equal, greater as greater, greater_equal as greater_equal, is_finite as is_finite, is_inf
as is_inf, is_nan as is_nan, less as less, less_equal as less_equal, logical_and as logical_and,
logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, not_equal as
not_equal
)
from actorsession.ops.elements.complex_numbers import (
angle as angle, complex as complex, imag as imag, real as real
)
from actorsession.ops.elements.division import (
truncatediv as truncatediv, truncatemod as truncatemod
)
from actorsession.ops.elements.elementwise import (
abs as abs, ceil as ceil, conj as conj, cos as cos, exp as exp, expm1 as expm1, floor as floor, log
as log, log1p as log1p, negative as negative, reciprocal as reciprocal, round as round, rsqrt as
rsqrt, sign as sign, sin as sin, sqrt as sqrt, square as square, tan as tan
)
from actorsession.ops.elements.error_functions import (
erf as erf, erfc as erfc, erfcinv as erfcinv, erfinv as erfinv, ndtri as ndtri
)
from actorsession.ops.elements.nearness import nextafter as nextafter, rint as rint
from actorsession.ops.elements.quotients import (
div_no_nan as div_no_nan, div_no_nan as divide_no_nan, multiply_no_nan as multiply_no_nan,
reciprocal_no_nan as reciprocal_no_nan, xdivy as xdivy, xlog1py as xlog1py, xlogy as xlogy
)
from actorsession.ops.elements.trigonometry import (
acos as acos, acosh as acosh, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh as
atanh, cosh as cosh, sinh as sinh
)
from actorsession.ops.linear.products import (
accumulate_n as accumulate_n, polyval as polyval, scalar_mul as scalar_mul
)
from actorsession.ops.neural.activations import (
sigmoid as sigmoid, softplus as softplus, tanh as tanh
)
from actorsession.ops.neural.rectifiers import log_sigmoid as log_sigmoid, softsign as softsign
from actorsession.ops.neural.softmax import log_softmax as log_softmax, softmax as softmax
from actorsession.ops.reductions.argmax import argmax as argmax, argmin as argmin
from actorsession.ops.reductions.cumulative import (
cumprod as cumprod, cumsum as cumsum, cumulative_logsumexp as cumulative_logsumexp
)
from actorsession.ops.reductions.histograms import (
bincount as bincount, confusion_matrix as confusion_matrix, histogram_fixed_width as
histogram_fixed_width, histogram_fixed_width_bins as histogram_fixed_width_bins
)
from actorsession.ops.reductions.reduction import (
reduce_all as reduce_all, reduce_any as reduce_any, reduce_euclidean_norm as reduce_euclidean_norm,
reduce_logsumexp as reduce_logsumexp, reduce_max as reduce_max, reduce_mean as reduce_mean,
reduce_min as reduce_min, reduce_prod as reduce_prod, reduce_sum as reduce_sum
)
from actorsession.ops.reductions.segments import (
segment_max as segment_max, segment_mean as segment_mean, segment_min as segment_min, segment_prod
as segment_prod, segment_sum as segment_sum, unsorted_segment_max as unsorted_segment_max,
unsorted_segment_mean as unsorted_segment_mean, unsorted_segment_min as unsorted_segment_min,
unsorted_segment_prod as unsorted_segment_prod, unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
)
from actorsession.ops.reductions.spread import (
count_nonzero as count_nonzero, is_non_decreasing as is_non_decreasing, is_strictly_increasing as
is_strictly_increasing, l2_normalize as l2_normalize, reduce_std as reduce_std, reduce_variance as
reduce_variance, zero_fraction as zero_fraction
)
from actorsession.ops.reductions.topk import in_top_k as in_top_k, top_k as top_k
from actorsession.opsets.special.bessel import (
bessel_i0 as bessel_i0, bessel_i0e as bessel_i0e, bessel_i1 as bessel_i1, bessel_i1e as bessel_i1e
)
from actorsession.opsets.special.gamma import (
digamma as digamma, lbeta as lbeta, lgamma as lgamma, polygamma as polygamma, zeta as zeta
)
from actorsession.opsets.special.incomplete import (
betainc as betainc, igamma as igamma, igammac as igammac
)


__all__ = [
"abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin",
"asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "betainc",
"bincount", "ceil", "clip_by_average_norm", "complex", "confusion_matrix", "conj", "cos", "cosh",
"count_nonzero", "cumprod", "cumsum", "cumulative_logsumexp", "digamma", "div_no_nan", "divide",
"divide_no_nan", "equal", "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor", "floordiv",
"floormod", "greater", "greater_equal", "histogram_fixed_width", "histogram_fixed_width_bins",
"igamma", "igammac", "imag", "in_top_k", "invert_permutation", "is_finite", "is_inf", "is_nan",
"is_non_decreasing", "is_strictly_increasing", "l2_normalize", "lbeta", "less", "less_equal",
"lgamma", "log", "log1p", "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or",
"logical_xor", "maximum", "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative",
"nextafter", "not_equal", "polygamma", "polyval", "pow", "real", "reciprocal", "reciprocal_no_nan",
"reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max",
"reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "rint",
"round", "rsqrt", "scalar_mul", "segment_max", "segment_mean", "segment_min", "segment_prod",
"segment_sum", "sigmoid", "sign", "sin", "sinh", "softmax", "softplus", "softsign", "sqrt",
"square", "squared_difference", "subtract", "tan", "tanh", "top_k", "truediv", "truncatediv",
"truncatemod", "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
"unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum", "xdivy", "xlog1py",
"xlogy", "zero_fraction", "zeta"
]
