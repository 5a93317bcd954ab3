"""The formulas of the optimisers with per-element rates, and of the proximal ones.

Called by ``updates``, which defines op types with them. A **rule** computes the new piece of the variable
from pieces of the variable, of its slots and of the gradient, all vectors of one length. Slots change in
place; everything else is only read.

Whole numbers in a rule are ints: a Python float would turn bfloat16 into float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.registry import Array

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
Arrays: TypeAlias = Sequence[Array]
# From attributes, variable, slots, gradient and the scalar inputs, as rank-0 arrays of the variable's
# dtype, to the new value of the variable.
Rule: TypeAlias = Callable[[Attrs, Array, Arrays, Array, Arrays], Array]


def adagrad(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Add ``grad**2`` to ``accum``, and return ``var - lr * grad / sqrt(accum)``."""
    (accum,), (lr,) = slots, rates
    if attrs["update_slots"]:
        accum += grad * grad
    return var - grad * lr / np.sqrt(accum)


def adagrad_v2(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply ``adagrad`` with ``epsilon`` added to the square root."""
    (accum,), (lr, epsilon) = slots, rates
    if attrs["update_slots"]:
        accum += grad * grad
    moved: Array = var - grad * lr / (np.sqrt(accum) + epsilon)
    return moved


def ada_max(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply Adam with the largest recent gradient in place of the root of their mean square."""
    m, v = slots
    beta1_power, lr, beta1, beta2, epsilon = rates
    m += (grad - m) * (1 - beta1)
    np.maximum(beta2 * v, np.abs(grad), out=v)
    moved: Array = var - lr / (1 - beta1_power) * (m / (v + epsilon))
    return moved


def adam_with_amsgrad(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply Adam with the largest mean square that there was."""
    m, v, vhat = slots
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = rates
    m += (grad - m) * (1 - beta1)
    v += (grad * grad - v) * (1 - beta2)
    np.maximum(vhat, v, out=vhat)
    alpha = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    moved: Array = var - m * alpha / (np.sqrt(vhat) + epsilon)
    return moved


def add_sign(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Scale the gradient by whether it has the sign of the mean of recent ones, added to ``alpha``."""
    (m,), (lr, alpha, sign_decay, beta) = slots, rates
    m *= beta
    m += grad * (1 - beta)
    moved: Array = var - lr * (alpha + sign_decay * np.sign(grad) * np.sign(m)) * grad
    return moved


def power_sign(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Scale the gradient by a power, of whether it has the sign of the mean of recent ones."""
    (m,), (lr, logbase, sign_decay, beta) = slots, rates
    m *= beta
    m += grad * (1 - beta)
    moved: Array = var - lr * np.exp(logbase * sign_decay * np.sign(grad) * np.sign(m)) * grad
    return moved


def keras_momentum(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply momentum to steps, and not to gradients."""
    (accum,), (lr, momentum) = slots, rates
    accum *= momentum
    accum -= grad * lr
    moved: Array = var + (accum * momentum - grad * lr if attrs["use_nesterov"] else accum)
    return moved


def adagrad_da(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply dual averaging: the new value depends only on the sums of gradients and squares."""
    total, squares = slots
    lr, l1, l2, step = rates
    total += grad
    squares += grad * grad
    below = l2 * step * lr + np.sqrt(squares)
    if l1 > 0:
        total = np.sign(total) * np.maximum(np.abs(total) - l1 * step, 0)
    moved: Array = -lr * total / below
    return moved


def adadelta(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply a step scaled by the size of recent steps over that of recent gradients."""
    accum, accum_update = slots
    lr, rho, epsilon = rates
    accum *= rho
    accum += (1 - rho) * grad * grad
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    accum_update *= rho
    accum_update += (1 - rho) * update * update
    moved: Array = var - lr * update
    return moved


def rms_prop(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Update ``ms`` towards ``grad**2``, and ``mom = momentum * mom + lr * grad / sqrt(ms + epsilon)``."""
    ms, mom = slots
    lr, rho, momentum, epsilon = rates
    ms += (grad * grad - ms) * (1 - rho)
    mom *= momentum
    mom += lr * grad / np.sqrt(ms + epsilon)
    return var - mom


def centered_rms_prop(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply ``rms_prop`` with the variance of gradients, ``ms - mg**2``, in place of their mean square."""
    mg, ms, mom = slots
    lr, rho, momentum, epsilon = rates
    ms += (grad * grad - ms) * (1 - rho)
    mg += (grad - mg) * (1 - rho)
    mom *= momentum
    mom += lr * grad / np.sqrt(ms - mg * mg + epsilon)
    return var - mom


def ftrl(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Follow the regularised leader: the new value is optimal for the sums of the past."""
    lr, l1, l2, power = rates
    return _led(attrs, var, slots, grad, (lr, l1, l2, power), grad)


def ftrl_v2(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply ``ftrl`` with ``2 * l2_shrinkage * var`` added to the gradient, but not to its square."""
    lr, l1, l2, shrinkage, power = rates
    return _led(attrs, var, slots, grad, (lr, l1, l2, power), grad + 2 * shrinkage * var)


def _led(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays, slope: Array) -> Array:
    accum, linear = slots
    lr, l1, l2, power = rates
    before = _powered(accum, power)
    accum += grad * grad
    after = _powered(accum, power)
    if attrs["multiply_linear_by_lr"]:
        # All of it times the rate, so that a rate of 0 divides nothing.
        linear += slope * lr - (after - before) * var
        l1, below = l1 * lr, after + 2 * l2 * lr
    else:
        linear += slope - (after - before) / lr * var
        below = after / lr + 2 * l2
    return np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / below, 0)


def _powered(accum: Array, power: Array) -> Array:
    """Return ``accum ** -power``; the usual power is that of a square root."""
    root: Array = np.sqrt(accum) if power == -0.5 else accum**-power
    return root


def proximal_gradient_descent(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply a step of gradient descent, followed by the shrinkage of the two regularisations."""
    lr, l1, l2 = rates
    return _proximal(var - grad * lr, lr, l1, l2)


def proximal_adagrad(attrs: Attrs, var: Array, slots: Arrays, grad: Array, rates: Arrays) -> Array:
    """Apply a step of Adagrad, followed by the shrinkage with the rate of each element."""
    (accum,), (lr, l1, l2) = slots, rates
    accum += grad * grad
    each = lr / np.sqrt(accum)
    return _proximal(var - grad * each, each, l1, l2)


def _proximal(moved: Array, lr: Array, l1: Array, l2: Array) -> Array:
    if l1 > 0:
        moved = np.sign(moved) * np.maximum(np.abs(moved) - lr * l1, 0)
    shrunk: Array = moved / (1 + l2 * lr)
    return shrunk
