"""Special functions of float64 arrays in numpy, for where scipy is not installed.

Each is correct to some units of the last place, also at the ends of its domain. A function that is computed
by different expansions fills its result part by part. The names are those of ``scipy.special``, which has the
same functions; they are NaN outside of their domain.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from actorsession.graph.registry import Array, Kernel

__all__ = ["FUNCTIONS", "factorial", "gammainc_slope", "gammaln", "psi", "zeta"]

_EPSILON = 2.0**-53
# A series or fraction ends before: those here need some ten terms, and the square root of large parameters.
_MOST_TERMS = 20_000
_ROOT_OF_TAU = math.sqrt(2 * math.pi)


def _float64(function: Callable[..., Any]) -> Kernel:
    """Return a function of arrays of one shape as one of values that broadcast, without warnings."""

    @functools.wraps(function)
    def computed(*values: Any) -> Any:
        wide = np.broadcast_arrays(*[np.asarray(value, np.float64) for value in values])
        with np.errstate(all="ignore"):
            return function(*[np.atleast_1d(value) for value in wide]).reshape(wide[0].shape)[()]

    return computed


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """Return a function of Python's ``math`` for arrays; infinite at poles and where it overflows."""

    def guarded(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.inf

    return np.vectorize(guarded, otypes=[np.float64])


_erfc, _gamma, _lgamma = _each(math.erfc), _each(math.gamma), _each(math.lgamma)


def _fill(out: Array, where: Array, function: Callable[..., Array], *values: Array) -> None:
    """Set a part of a result."""
    if where.any():
        out[where] = function(*[value[where] for value in values])


def _polynomial(coefficients: list[float], x: Array) -> Any:
    """Return a polynomial by its coefficients, from the constant on."""
    out = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        out = out * x + coefficient
    return out


@functools.cache
def _bernoulli(count: int) -> list[Fraction]:
    """Return the Bernoulli numbers of even order from 2 on."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        total = sum((math.comb(n + 1, k) * b for k, b in enumerate(numbers)), Fraction(0))
        numbers.append(-total / (n + 1))
    return numbers[2::2]


# -- gamma ---------------------------------------------------------------------------------------


@functools.cache
def _log_gamma_terms() -> list[float]:
    """Return the coefficients of the logarithm of ``gamma(1 + x)``, from that of x on."""
    order = np.arange(2.0, 40.0)
    return [-float(np.euler_gamma), *(zeta(order, 1.0) / order * (-1) ** order).tolist()]


def _log_gamma_1p(x: Array) -> Any:
    """Return the logarithm of ``gamma(1 + x)``, exact also for small x."""
    out = np.empty_like(x)
    near = abs(x) < 0.3
    _fill(out, ~near, lambda x: _lgamma(1 + x), x)
    _fill(out, near, lambda x: x * _polynomial(_log_gamma_terms(), x), x)
    return out


@_float64
def gammaln(x: Array) -> Any:
    """Return the logarithm of the absolute value of the gamma function, exact also around 1 and 2."""
    out = np.empty_like(x)
    one, two = abs(x - 1) < 0.3, abs(x - 2) < 0.3
    _fill(out, one, lambda x: _log_gamma_1p(x - 1), x)
    _fill(out, two, lambda x: np.log1p(x - 2) + _log_gamma_1p(x - 2), x)
    _fill(out, ~one & ~two, _lgamma, x)
    return out


# The positive root of psi, and what is left of it; psi(x) / (x - root) on [1, 2] by Chebyshev polynomials.
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17
_NEAR_ROOT = [
    0.983570260441567, -0.2270640863346444, 0.03336889902393011, -0.005320077271596548,
    0.0008788656937820505, -0.00014773492650606044, 2.5060543468359146e-05, -4.2721034029993324e-06,
    7.302769272465923e-07, -1.2502886813559594e-07, 2.1425009322359472e-08, -3.673295918565179e-09,
    6.299717236108931e-10, -1.080593028883266e-10, 1.853735192053638e-11, -3.18023536582553e-12,
    5.456147570322795e-13, -9.360993131036438e-14, 1.606064636295075e-14, -2.7555431377438815e-15,
    4.727736178601912e-16, -8.11148420346509e-17,
]  # fmt: skip


def _psi_large(x: Array) -> Any:
    terms = [0.0, *[-float(b / (2 * k)) for k, b in enumerate(_bernoulli(8), 1)]]
    return np.log(x) - 0.5 / x + _polynomial(terms, 1 / (x * x))


def _psi_small(x: Array) -> Any:
    """Return psi below 10, by that between 1 and 2."""
    z, total = x.copy(), np.zeros_like(x)
    below = z < 1
    total[below] -= 1 / z[below]
    z[below] += 1
    while (above := z > 2).any():
        z[above] -= 1
        total[above] += 1 / z[above]
    near = np.polynomial.chebyshev.chebval(2 * z - 3, _NEAR_ROOT)
    return total + ((z - _ROOT) - _ROOT_REST) * near


def _psi_positive(x: Array) -> Any:
    out = np.full_like(x, np.nan)
    _fill(out, x >= 10, _psi_large, x)
    _fill(out, (x > 0) & (x < 10), _psi_small, x)
    return out


def _psi_negative(x: Array) -> Any:
    rest = x - np.round(x)  # exact, while the tangent of a large argument is not
    return _psi_positive(1 - x) - np.where(abs(rest) == 0.5, 0.0, np.pi / np.tan(np.pi * rest))


@_float64
def factorial(n: Array) -> Any:
    """Return the product of the whole numbers up to ``n``."""
    return _gamma(n + 1)


@_float64
def psi(x: Array) -> Any:
    """Return the derivative of the logarithm of the gamma function; the values at poles are any."""
    out = np.full_like(x, np.nan)
    _fill(out, x > 0, _psi_positive, x)
    _fill(out, (x <= 0) & np.isfinite(x), _psi_negative, x)
    return out


# Terms of the zeta function that are added before the rest is expanded, and terms of its expansion.
_ADDED, _EXPANDED = 10, 12


@_float64
def zeta(s: Array, q: Array) -> Any:
    """Return Hurwitz's zeta function by Euler's and Maclaurin's formula."""
    out = np.full_like(s, np.nan)
    out[s == 1] = np.inf
    pole = (q <= 0) & (q == np.floor(q))
    # Except where all terms are positive.
    out[pole & ((s == np.inf) | ((s > 1) & (s % 2 == 0)))] = np.inf
    inside = (s > 1) & ~pole & ((q > 0) | (s == np.floor(s)))
    out[inside & np.isinf(q)] = 0
    _fill(out, inside & np.isfinite(q) & np.isfinite(s), _zeta_sum, s, q)
    large = inside & np.isposinf(s) & ~np.isnan(q)
    out[large] = np.where(q[large] > 1, 0.0, np.where(q[large] == 1, 1.0, np.inf))
    return out


def _zeta_sum(s: Array, q: Array) -> Any:
    total, at = np.zeros_like(s), q.copy()
    count = 0
    while count < _ADDED or ((low := at < _ADDED).any() and count < _MOST_TERMS):
        which = np.ones_like(at, bool) if count < _ADDED else low
        total[which] += at[which] ** -s[which]
        at[which] += 1
        count += 1
    power = at**-s
    rest = at * power / (s - 1) + 0.5 * power
    factor = s * power / at  # s (s+1) ... (s + 2k - 2) at**(-s - 2k + 1)
    for k, number in enumerate(_bernoulli(_EXPANDED), 1):
        rest += float(number / math.factorial(2 * k)) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (at * at)
    return total + rest


# -- incomplete gamma ----------------------------------------------------------------------------


def _log1p_rest(x: Array) -> Any:
    """Return ``log(1 + x) - x``, exact also for small x."""
    s = x / (2 + x)
    odd = _polynomial([2 / (2 * k + 1) for k in range(1, 20)], s * s)
    return np.where(_is_near(x), s * (s * s * odd - x), np.log1p(x) - x)


def _is_near(x: Array) -> Any:
    return (x > -0.5) & (x < 1)


def _stirling_rest(a: Array) -> Any:
    """Return what Stirling's formula leaves of the logarithm of the gamma function."""
    out = np.empty_like(a)
    terms = [float(b / (2 * k * (2 * k - 1))) for k, b in enumerate(_bernoulli(8), 1)]
    _fill(out, a >= 10, lambda a: _polynomial(terms, 1 / (a * a)) / a, a)
    half = 0.5 * math.log(2 * math.pi)
    _fill(out, a < 10, lambda a: _lgamma(a) - (a - 0.5) * np.log(a) + a - half, a)
    return out


def _power_over_gamma(a: Array, x: Array) -> Any:
    """Return ``x**a * exp(-x) / gamma(a + 1)``."""
    out = np.empty_like(a)

    def small(a: Array, x: Array) -> Any:
        half = np.exp(-x / 2)  # the whole may be below all numbers, while its product with the power is not
        return np.where(half == 0, 0.0, x**a * half * (half / _gamma(a + 1)))

    def large(a: Array, x: Array) -> Any:
        apart = (x - a) / a
        rest = np.where(_is_near(apart), _log1p_rest(apart), np.log(x / a) - apart)
        exponent = a * rest - _stirling_rest(a)
        return np.exp(exponent) / (np.sqrt(a) * _ROOT_OF_TAU)

    _fill(out, a < 20, small, a, x)
    _fill(out, a >= 20, large, a, x)
    return out


def _lower_series(a: Array, x: Array) -> Any:
    term, total = np.ones_like(a), np.ones_like(a)
    for n in range(1, _MOST_TERMS):
        term = term * x / (a + n)
        total += term
        if np.all(term <= _EPSILON * total):
            break
    return _power_over_gamma(a, x) * total


def _upper_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """Return the continued fraction of the upper function, and its derivative by a.

    Forwards, as Lentz does it, shows how many parts there are; backwards gives the value. With a whole number
    the fraction ends early, while its derivative does not: there they are counted for a number beside it.
    """
    beside = np.floor(a) + 0.5
    c, d = np.full_like(a, 1e300), 1 / (x + 1 - beside)
    count, ended = 0, False
    while not ended and count < _MOST_TERMS:
        count += 1
        factor, at = -count * (count - beside), x + 1 - beside + 2 * count
        d, c = 1 / (factor * d + at), at + factor / c
        ended = bool(np.all(abs(c * d - 1) <= 2 * _EPSILON))
    b = x + 1 - a
    count += 10  # for the derivative
    out, slope = b + 2 * count, -np.ones_like(a)
    for n in range(count, 0, -1):
        factor = -n * (n - a)
        slope = -1 + (n - factor * slope / out) / out
        out = b + 2 * (n - 1) + factor / out
    return 1 / out, -slope / (out * out)


def _upper_fraction(a: Array, x: Array) -> Any:
    return _power_over_gamma(a, x) * a * _upper_parts(a, x)[0]


def _upper_series(a: Array, x: Array) -> Any:
    """Return the upper function for small x."""
    term, total = np.ones_like(a), np.zeros_like(a)
    for n in range(1, 60):
        term = term * -x / n
        total += term / (a + n)
    log = np.log(x)
    logarithm = a * log - _log_gamma_1p(a)
    return -np.expm1(logarithm) - np.exp(logarithm) * a * total


_ORDER = 25


@functools.cache
def _uniform_terms() -> list[list[float]]:
    """Return the coefficients of Temme's uniform expansion, by the power of 1/a and that of eta."""
    count = 3 * _ORDER + 3
    alpha = [Fraction(0), Fraction(1)]
    for n in range(2, count):
        known = sum(((n + 1 - i) * alpha[i] * alpha[n + 1 - i] for i in range(2, n)), Fraction(0))
        alpha.append((alpha[n - 1] - known) / (n + 1))
    first = [Fraction(-1, 3), *[(n + 2) * alpha[n + 2] for n in range(1, count - 2)]]
    rows, double = [first], Fraction(1)
    for k in range(1, _ORDER):
        double *= 2 * k + 1
        factor = (-1) ** k * double * alpha[2 * k + 1]
        last = rows[-1]
        rows.append([factor * first[n] + (n + 2) * last[n + 2] for n in range(len(last) - 2)])
    return [[float(value) for value in row[:_ORDER]] for row in rows]


def _uniform(a: Array, x: Array, sign: int) -> Any:
    """Return the lower function for a sign of -1, the upper one for 1, where both parameters are close."""
    apart = (x - a) / a
    eta = np.sign(apart) * np.sqrt(-2 * _log1p_rest(apart))
    inverse = 1 / a
    total = np.zeros_like(a)
    for row in reversed(_uniform_terms()):
        total = total * inverse + _polynomial(row, eta)
    share = np.exp(-0.5 * a * eta * eta) * total / (_ROOT_OF_TAU * np.sqrt(a))
    return 0.5 * _erfc(sign * eta * np.sqrt(a / 2)) + sign * share


def _gamma_function(lower: bool) -> Kernel:
    """Return the lower or the upper regularised incomplete gamma function."""

    @_float64
    def function(a: Array, x: Array) -> Any:
        out = np.full_like(a, np.nan)
        inside = (a > 0) & (x >= 0)
        if lower:
            out[x == 0] = 0
        at_zero, at_end = inside & ((x == 0) | np.isinf(a)), inside & np.isinf(x) & np.isfinite(a)
        out[at_zero], out[at_end] = 1.0 - lower, 1.0 * lower
        left = inside & ~at_zero & ~at_end
        close = left & (a > 20) & (abs(x - a) < 0.3 * a)
        _fill(out, close, lambda a, x: _uniform(a, x, -1 if lower else 1), a, x)
        left &= ~close
        by_fraction = left & (x > 1.1) & (x > a)
        small_share = np.where(x <= 0.5, a <= -0.4 / np.log(np.minimum(x, 0.5)), a <= x * 1.1)
        by_upper = left & (x <= 1.1) & small_share
        by_lower = left & ~by_fraction & ~by_upper
        _fill(out, by_lower, _lower_series, a, x)
        _fill(out, by_fraction, _upper_fraction, a, x)
        if lower:
            _fill(out, by_upper, _lower_series, a, x)
            turned = by_fraction
        else:
            _fill(out, by_upper, _upper_series, a, x)
            turned = by_lower
        out[turned] = 1 - out[turned]
        return out

    return function


def _lower_slope(a: Array, x: Array) -> Any:
    """Return the derivative of the lower function by a as a series.

    The function is ``f * s`` with ``f = x**a * exp(-x) / gamma(a + 1)`` and ``s`` the sum over n of ``t(n) =
    x**n / ((a + 1) ... (a + n))``. The derivative of ``t(n)`` is ``-t(n) * h(n)``, where ``h(n)`` is the sum
    of ``1 / (a + k)`` for k to n.
    """
    term, total = np.ones_like(a), np.ones_like(a)
    harmonic, slope = np.zeros_like(a), np.zeros_like(a)
    for n in range(1, _MOST_TERMS):
        term = term * x / (a + n)
        harmonic += 1 / (a + n)
        total += term
        slope += term * harmonic
        if np.all(term * harmonic <= _EPSILON * (slope + total)):
            break
    return _power_over_gamma(a, x) * (total * (np.log(x) - psi(a + 1)) - slope)


def _upper_slope(a: Array, x: Array) -> Any:
    """Return the same by the derivative of the upper function's fraction."""
    part, slope = _upper_parts(a, x)
    return -_power_over_gamma(a, x) * a * (part * (np.log(x) - psi(a)) + slope)


@_float64
def gammainc_slope(a: Array, x: Array) -> Any:
    """Return the derivative of the lower incomplete gamma function by its parameter."""
    out = np.full_like(a, np.nan)
    inside = (a > 0) & (x >= 0)
    out[(inside & ((x == np.inf) ^ (a == np.inf))) | (x == 0)] = 0
    inside &= np.isfinite(a) & np.isfinite(x) & (x > 0)
    above = inside & (x > 1) & (x > a)
    _fill(out, above, _upper_slope, a, x)
    _fill(out, inside & ~above, _lower_slope, a, x)
    return out


# -- incomplete beta -----------------------------------------------------------------------------


def _powers_over_beta(a: Array, b: Array, x: Array, y: Array) -> Any:
    """Return ``x**a * y**b / beta(a, b)`` with ``y = 1 - x``."""
    out = np.empty_like(a)
    small = a + b <= 100

    def direct(a: Array, b: Array, x: Array, y: Array) -> Any:
        # Of x and y, the smaller is exact.
        powers = np.where(x < y, x**a * np.exp(b * np.log1p(-x)), y**b * np.exp(a * np.log1p(-y)))
        return powers * (_gamma(a + b) / _gamma(a)) / _gamma(b)

    def stirling(a: Array, b: Array, x: Array, y: Array) -> Any:
        both = a + b
        apart = np.where(x < 0.5, a - both * x, both * y - b)
        u, v = -apart / a, apart / b
        near = (np.minimum(u, v) > -0.9) & (np.maximum(u, v) < 10)
        logs = a * np.log(both * x / a) + b * np.log(both * y / b)
        exponent = np.where(near, a * _log1p_rest(u) + b * _log1p_rest(v), logs)
        rests = _stirling_rest(both) - _stirling_rest(a) - _stirling_rest(b)
        return np.exp(exponent + rests) * np.sqrt(a / both) * np.sqrt(b) / _ROOT_OF_TAU

    _fill(out, small, direct, a, b, x, y)
    _fill(out, ~small, stirling, a, b, x, y)
    return out


def _beta_factors(a: Array, b: Array, x: Array, n: int) -> tuple[Array, Array]:
    """Return two factors of the continued fraction."""
    return (
        -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)),
        (n + 1) * (b - n - 1) * x / ((a + 2 * n + 1) * (a + 2 * n + 2)),
    )


def _beta_fraction(a: Array, b: Array, x: Array, y: Array) -> Any:
    """Return the function by its continued fraction, where that converges quickly.

    Forwards shows how many factors there are, and backwards gives the value with fewer roundings.
    """
    c, d = np.full_like(a, 1e300), np.ones_like(a)
    count, ended = 0, False
    while not ended and count < _MOST_TERMS:
        change = np.ones_like(a)
        for factor in _beta_factors(a, b, x, count):
            d, c = 1 / (1 + factor * d), 1 + factor / c
            change = change * (c * d)
        ended = bool(np.all(abs(change - 1) <= 2 * _EPSILON))
        count += 1
    out = np.ones_like(a)
    for n in reversed(range(count)):
        odd, even = _beta_factors(a, b, x, n)
        out = 1 + odd / (1 + even / out)
    return _powers_over_beta(a, b, x, y) / a / out


def _beta_series(a: Array, b: Array, x: Array, y: Array) -> Any:
    """Return the function as a series in x, where b is small."""
    term, total = np.ones_like(a), np.ones_like(a)
    for n in range(1, _MOST_TERMS):
        term = term * (n - b) * x / n
        total += a * term / (a + n)
        if np.all(abs(term) <= _EPSILON * total):
            break
    return _powers_over_beta(a, b, x, y) / a * y**-b * total


@_float64
def _betainc(a: Array, b: Array, x: Array) -> Any:
    """Return the regularised incomplete beta function."""
    out = np.full_like(a, np.nan)
    valid = (a > 0) & (b > 0)
    out[valid & (x == 0)], out[valid & (x == 1)] = 0, 1
    inside = valid & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    y = 1 - x
    by_series = inside & (b * x <= 1) & (x <= 0.95)
    below = inside & ~by_series & (x <= (a + 1) / (a + b + 2))
    _fill(out, by_series, _beta_series, a, b, x, y)
    _fill(out, below, _beta_fraction, a, b, x, y)
    _fill(out, inside & ~by_series & ~below, lambda *v: 1 - _beta_fraction(*v), b, a, y, x)
    return out


# -- Bessel --------------------------------------------------------------------------------------

# From here on the terms of the expansion for large arguments become small enough.
_LARGE = 20.0


def _bessel(order: int, scaled: bool) -> Kernel:
    """Return the modified Bessel function of the first kind, times ``exp(-abs(x))`` if scaled."""

    def series(x: Array) -> Any:
        quarter = x * x / 4
        term = x / 2 if order else np.ones_like(x)
        total = term.copy()
        for k in range(1, 80):
            term = term * quarter / (k * (k + order))
            total += term
        return total * np.exp(-x) if scaled else total

    def expansion(x: Array) -> Any:
        term, total = np.ones_like(x), np.ones_like(x)
        for k in range(1, 32):
            term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k * x)
            total += term
        total = total / (_ROOT_OF_TAU * np.sqrt(x))
        return total if scaled else total * np.exp(x / 2) * np.exp(x / 2)

    @_float64
    def function(x: Array) -> Any:
        size = abs(x)
        out = np.full_like(x, np.nan)
        _fill(out, size <= _LARGE, series, size)
        _fill(out, (size > _LARGE) & np.isfinite(x), expansion, size)
        out[np.isinf(x)] = 0 if scaled else np.nan  # as in TensorFlow
        return np.copysign(out, x) if order else out

    return function


FUNCTIONS: dict[str, Kernel] = {
    "betainc": _betainc,
    "gammainc": _gamma_function(True),
    "gammaincc": _gamma_function(False),
    "gammaln": gammaln,
    "i0": _bessel(0, False),
    "i0e": _bessel(0, True),
    "i1": _bessel(1, False),
    "i1e": _bessel(1, True),
    "psi": psi,
}
"""The functions by scipy's names."""
