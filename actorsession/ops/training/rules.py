"""The formulas of the optimisers with per-element rates, and of the proximal ones.

Called by ``updates``, which defines op types with them. A **rule** changes a variable and its slots, or pieces of
them, by the gradient, all of one shape. The variable and slots change in place; everything else is only read.

A rule is a sentence of array functions: its first argument is the module of them. Whole numbers in it are ints: a
Python float would turn bfloat16 into float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

__all__ = [
    "Rule",
    "ada_max",
    "adadelta",
    "adagrad",
    "adagrad_da",
    "adagrad_v2",
    "adam_with_amsgrad",
    "add_sign",
    "centered_rms_prop",
    "ftrl",
    "ftrl_v2",
    "keras_momentum",
    "power_sign",
    "proximal_adagrad",
    "proximal_gradient_descent",
    "rms_prop",
]

Attrs: TypeAlias = Mapping[str, Any]
Arrays: TypeAlias = Sequence[Any]
# From the module of functions of the arrays, attributes, variable, slots, gradient and the scalar inputs, as rank-0
# arrays of the variable's dtype, for a change in place.
Rule: TypeAlias = Callable[[Any, Attrs, Any, Arrays, Any, Arrays], None]


def adagrad(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Add ``grad**2`` to ``accum``, and subtract ``lr * grad / sqrt(accum)``."""
    (accum,), (lr,) = slots, rates
    if attrs["update_slots"]:
        accum += grad * grad
    step = grad * lr
    step /= xp.sqrt(accum)
    var -= step


def adagrad_v2(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply ``adagrad`` with ``epsilon`` added to the square root."""
    (accum,), (lr, epsilon) = slots, rates
    if attrs["update_slots"]:
        accum += grad * grad
    var -= grad * lr / (xp.sqrt(accum) + epsilon)


def ada_max(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply Adam with the largest recent gradient in place of the root of their mean square."""
    m, v = slots
    beta1_power, lr, beta1, beta2, epsilon = rates
    _approach(m, grad - m, 1 - beta1)
    xp.maximum(beta2 * v, xp.abs(grad), out=v)
    var -= lr / (1 - beta1_power) * (m / (v + epsilon))


def adam_with_amsgrad(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply Adam with the largest mean square that there was."""
    m, v, vhat = slots
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = rates
    _approach(m, grad - m, 1 - beta1)
    _approach(v, grad * grad - v, 1 - beta2)
    xp.maximum(vhat, v, out=vhat)
    alpha = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    var -= m * alpha / (xp.sqrt(vhat) + epsilon)


def add_sign(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Scale the gradient by whether it has the sign of the mean of recent ones, added to ``alpha``."""
    (m,), (lr, alpha, sign_decay, beta) = slots, rates
    m *= beta
    m += grad * (1 - beta)
    var -= lr * (alpha + sign_decay * xp.sign(grad) * xp.sign(m)) * grad


def power_sign(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Scale the gradient by a power, of whether it has the sign of the mean of recent ones."""
    (m,), (lr, logbase, sign_decay, beta) = slots, rates
    m *= beta
    m += grad * (1 - beta)
    var -= lr * xp.exp(logbase * sign_decay * xp.sign(grad) * xp.sign(m)) * grad


def keras_momentum(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply momentum to steps, and not to gradients."""
    (accum,), (lr, momentum) = slots, rates
    accum *= momentum
    accum -= grad * lr
    var += accum * momentum - grad * lr if attrs["use_nesterov"] else accum


def adagrad_da(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply dual averaging: the new value depends only on the sums of gradients and squares."""
    total, squares = slots
    lr, l1, l2, step = rates
    total += grad
    squares += grad * grad
    below = l2 * step * lr + xp.sqrt(squares)
    if l1 > 0:
        total = xp.sign(total) * xp.clip(xp.abs(total) - l1 * step, 0, None)
    var[...] = -lr * total / below


def adadelta(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply a step scaled by the size of recent steps over that of recent gradients."""
    accum, accum_update = slots
    lr, rho, epsilon = rates
    accum *= rho
    accum += (1 - rho) * grad * grad
    update = xp.sqrt(accum_update + epsilon)
    update /= xp.sqrt(accum + epsilon)
    update *= grad
    accum_update *= rho
    accum_update += (1 - rho) * update * update
    update *= lr
    var -= update


def rms_prop(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Update ``ms`` towards ``grad**2``, and ``mom = momentum * mom + lr * grad / sqrt(ms + epsilon)``."""
    ms, mom = slots
    lr, rho, momentum, epsilon = rates
    _approach(ms, grad * grad - ms, 1 - rho)
    step = lr * grad
    step /= xp.sqrt(ms + epsilon)
    mom *= momentum
    mom += step
    var -= mom


def centered_rms_prop(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply ``rms_prop`` with the variance of gradients, ``ms - mg**2``, in place of their mean square."""
    mg, ms, mom = slots
    lr, rho, momentum, epsilon = rates
    _approach(ms, grad * grad - ms, 1 - rho)
    _approach(mg, grad - mg, 1 - rho)
    mom *= momentum
    mom += lr * grad / xp.sqrt(ms - mg * mg + epsilon)
    var -= mom


def _approach(mean: Any, distance: Any, share: Any) -> None:
    """Move a mean by a share of its distance from a number; that array is not needed any more."""
    distance *= share
    mean += distance


def ftrl(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Follow the regularised leader: the new value is optimal for the sums of the past."""
    lr, l1, l2, power = rates
    _led(xp, attrs, var, slots, grad, (lr, l1, l2, power), grad)


def ftrl_v2(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply ``ftrl`` with ``2 * l2_shrinkage * var`` added to the gradient, but not to its square."""
    lr, l1, l2, shrinkage, power = rates
    _led(xp, attrs, var, slots, grad, (lr, l1, l2, power), grad + 2 * shrinkage * var)


def _led(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays, slope: Any) -> None:
    accum, linear = slots
    lr, l1, l2, power = rates
    before = _powered(xp, accum, power)
    accum += grad * grad
    after = _powered(xp, accum, power)
    if attrs["multiply_linear_by_lr"]:
        # All of it times the rate, so that a rate of 0 divides nothing.
        linear += slope * lr - (after - before) * var
        l1, below = l1 * lr, after + 2 * l2 * lr
    else:
        linear += slope - (after - before) / lr * var
        below = after / lr + 2 * l2
    var[...] = xp.where(xp.abs(linear) > l1, (xp.sign(linear) * l1 - linear) / below, 0)


def _powered(xp: Any, accum: Any, power: Any) -> Any:
    """Return ``accum ** -power``; the usual power is that of a square root."""
    return xp.sqrt(accum) if power == -0.5 else accum**-power


def proximal_gradient_descent(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply a step of gradient descent, followed by the shrinkage of the two regularisations."""
    lr, l1, l2 = rates
    var -= grad * lr
    _proximal(xp, var, lr, l1, l2)


def proximal_adagrad(xp: Any, attrs: Attrs, var: Any, slots: Arrays, grad: Any, rates: Arrays) -> None:
    """Apply a step of Adagrad, followed by the shrinkage with the rate of each element."""
    (accum,), (lr, l1, l2) = slots, rates
    accum += grad * grad
    each = lr / xp.sqrt(accum)
    var -= grad * each
    _proximal(xp, var, each, l1, l2)


def _proximal(xp: Any, var: Any, lr: Any, l1: Any, l2: Any) -> None:
    if l1 > 0:
        var[...] = xp.sign(var) * xp.clip(xp.abs(var) - lr * l1, 0, None)
    var /= 1 + l2 * lr
