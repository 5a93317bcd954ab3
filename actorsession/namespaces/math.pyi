# Written by scripts/generated.py.
"""Mathematical functions of elements, reductions and segments.

Inside this package, ``import math`` imports Python's own module, since imports are absolute.
"""

from actorsession.ops.arrays.layout import invert_permutation as invert_permutation
from actorsession.ops.arrays.scatter import unsorted_segment_sum as unsorted_segment_sum
from actorsession.ops.elements.arithmetic import add as add
from actorsession.ops.elements.arithmetic import add_n as add_n
from actorsession.ops.elements.arithmetic import divide as divide
from actorsession.ops.elements.arithmetic import floordiv as floordiv
from actorsession.ops.elements.arithmetic import floormod as floormod
from actorsession.ops.elements.arithmetic import maximum as maximum
from actorsession.ops.elements.arithmetic import minimum as minimum
from actorsession.ops.elements.arithmetic import mod as mod
from actorsession.ops.elements.arithmetic import multiply as multiply
from actorsession.ops.elements.arithmetic import pow as pow
from actorsession.ops.elements.arithmetic import squared_difference as squared_difference
from actorsession.ops.elements.arithmetic import subtract as subtract
from actorsession.ops.elements.arithmetic import truediv as truediv
from actorsession.ops.elements.clip import clip_by_average_norm as clip_by_average_norm
from actorsession.ops.elements.comparison import equal as equal
from actorsession.ops.elements.comparison import greater as greater
from actorsession.ops.elements.comparison import greater_equal as greater_equal
from actorsession.ops.elements.comparison import is_finite as is_finite
from actorsession.ops.elements.comparison import is_inf as is_inf
from actorsession.ops.elements.comparison import is_nan as is_nan
from actorsession.ops.elements.comparison import less as less
from actorsession.ops.elements.comparison import less_equal as less_equal
from actorsession.ops.elements.comparison import logical_and as logical_and
from actorsession.ops.elements.comparison import logical_not as logical_not
from actorsession.ops.elements.comparison import logical_or as logical_or
from actorsession.ops.elements.comparison import logical_xor as logical_xor
from actorsession.ops.elements.comparison import not_equal as not_equal
from actorsession.ops.elements.complex_numbers import angle as angle
from actorsession.ops.elements.complex_numbers import complex as complex
from actorsession.ops.elements.complex_numbers import imag as imag
from actorsession.ops.elements.complex_numbers import real as real
from actorsession.ops.elements.division import truncatediv as truncatediv
from actorsession.ops.elements.division import truncatemod as truncatemod
from actorsession.ops.elements.elementwise import abs as abs
from actorsession.ops.elements.elementwise import ceil as ceil
from actorsession.ops.elements.elementwise import conj as conj
from actorsession.ops.elements.elementwise import cos as cos
from actorsession.ops.elements.elementwise import exp as exp
from actorsession.ops.elements.elementwise import expm1 as expm1
from actorsession.ops.elements.elementwise import floor as floor
from actorsession.ops.elements.elementwise import log as log
from actorsession.ops.elements.elementwise import log1p as log1p
from actorsession.ops.elements.elementwise import negative as negative
from actorsession.ops.elements.elementwise import reciprocal as reciprocal
from actorsession.ops.elements.elementwise import round as round
from actorsession.ops.elements.elementwise import rsqrt as rsqrt
from actorsession.ops.elements.elementwise import sign as sign
from actorsession.ops.elements.elementwise import sin as sin
from actorsession.ops.elements.elementwise import sqrt as sqrt
from actorsession.ops.elements.elementwise import square as square
from actorsession.ops.elements.elementwise import tan as tan
from actorsession.ops.elements.error_functions import erf as erf
from actorsession.ops.elements.error_functions import erfc as erfc
from actorsession.ops.elements.error_functions import erfcinv as erfcinv
from actorsession.ops.elements.error_functions import erfinv as erfinv
from actorsession.ops.elements.error_functions import ndtri as ndtri
from actorsession.ops.elements.nearness import nextafter as nextafter
from actorsession.ops.elements.nearness import rint as rint
from actorsession.ops.elements.quotients import div_no_nan as div_no_nan
from actorsession.ops.elements.quotients import div_no_nan as divide_no_nan
from actorsession.ops.elements.quotients import multiply_no_nan as multiply_no_nan
from actorsession.ops.elements.quotients import reciprocal_no_nan as reciprocal_no_nan
from actorsession.ops.elements.quotients import xdivy as xdivy
from actorsession.ops.elements.quotients import xlog1py as xlog1py
from actorsession.ops.elements.quotients import xlogy as xlogy
from actorsession.ops.elements.trigonometry import acos as acos
from actorsession.ops.elements.trigonometry import acosh as acosh
from actorsession.ops.elements.trigonometry import asin as asin
from actorsession.ops.elements.trigonometry import asinh as asinh
from actorsession.ops.elements.trigonometry import atan as atan
from actorsession.ops.elements.trigonometry import atan2 as atan2
from actorsession.ops.elements.trigonometry import atanh as atanh
from actorsession.ops.elements.trigonometry import cosh as cosh
from actorsession.ops.elements.trigonometry import sinh as sinh
from actorsession.ops.linear.products import accumulate_n as accumulate_n
from actorsession.ops.linear.products import polyval as polyval
from actorsession.ops.linear.products import scalar_mul as scalar_mul
from actorsession.ops.neural.activations import sigmoid as sigmoid
from actorsession.ops.neural.activations import softplus as softplus
from actorsession.ops.neural.activations import tanh as tanh
from actorsession.ops.neural.rectifiers import log_sigmoid as log_sigmoid
from actorsession.ops.neural.rectifiers import softsign as softsign
from actorsession.ops.neural.softmax import log_softmax as log_softmax
from actorsession.ops.neural.softmax import softmax as softmax
from actorsession.ops.reductions.argmax import argmax as argmax
from actorsession.ops.reductions.argmax import argmin as argmin
from actorsession.ops.reductions.cumulative import cumprod as cumprod
from actorsession.ops.reductions.cumulative import cumsum as cumsum
from actorsession.ops.reductions.cumulative import cumulative_logsumexp as cumulative_logsumexp
from actorsession.ops.reductions.histograms import bincount as bincount
from actorsession.ops.reductions.histograms import confusion_matrix as confusion_matrix
from actorsession.ops.reductions.histograms import histogram_fixed_width as histogram_fixed_width
from actorsession.ops.reductions.histograms import histogram_fixed_width_bins as histogram_fixed_width_bins
from actorsession.ops.reductions.reduction import reduce_all as reduce_all
from actorsession.ops.reductions.reduction import reduce_any as reduce_any
from actorsession.ops.reductions.reduction import reduce_euclidean_norm as reduce_euclidean_norm
from actorsession.ops.reductions.reduction import reduce_logsumexp as reduce_logsumexp
from actorsession.ops.reductions.reduction import reduce_max as reduce_max
from actorsession.ops.reductions.reduction import reduce_mean as reduce_mean
from actorsession.ops.reductions.reduction import reduce_min as reduce_min
from actorsession.ops.reductions.reduction import reduce_prod as reduce_prod
from actorsession.ops.reductions.reduction import reduce_sum as reduce_sum
from actorsession.ops.reductions.segments import segment_max as segment_max
from actorsession.ops.reductions.segments import segment_mean as segment_mean
from actorsession.ops.reductions.segments import segment_min as segment_min
from actorsession.ops.reductions.segments import segment_prod as segment_prod
from actorsession.ops.reductions.segments import segment_sum as segment_sum
from actorsession.ops.reductions.segments import unsorted_segment_max as unsorted_segment_max
from actorsession.ops.reductions.segments import unsorted_segment_mean as unsorted_segment_mean
from actorsession.ops.reductions.segments import unsorted_segment_min as unsorted_segment_min
from actorsession.ops.reductions.segments import unsorted_segment_prod as unsorted_segment_prod
from actorsession.ops.reductions.segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorsession.ops.reductions.spread import count_nonzero as count_nonzero
from actorsession.ops.reductions.spread import is_non_decreasing as is_non_decreasing
from actorsession.ops.reductions.spread import is_strictly_increasing as is_strictly_increasing
from actorsession.ops.reductions.spread import l2_normalize as l2_normalize
from actorsession.ops.reductions.spread import reduce_std as reduce_std
from actorsession.ops.reductions.spread import reduce_variance as reduce_variance
from actorsession.ops.reductions.spread import zero_fraction as zero_fraction
from actorsession.ops.reductions.topk import in_top_k as in_top_k
from actorsession.ops.reductions.topk import top_k as top_k
from actorsession.opsets.special.bessel import bessel_i0 as bessel_i0
from actorsession.opsets.special.bessel import bessel_i0e as bessel_i0e
from actorsession.opsets.special.bessel import bessel_i1 as bessel_i1
from actorsession.opsets.special.bessel import bessel_i1e as bessel_i1e
from actorsession.opsets.special.gamma import digamma as digamma
from actorsession.opsets.special.gamma import lbeta as lbeta
from actorsession.opsets.special.gamma import lgamma as lgamma
from actorsession.opsets.special.gamma import polygamma as polygamma
from actorsession.opsets.special.gamma import zeta as zeta
from actorsession.opsets.special.incomplete import betainc as betainc
from actorsession.opsets.special.incomplete import igamma as igamma
from actorsession.opsets.special.incomplete import igammac as igammac

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
