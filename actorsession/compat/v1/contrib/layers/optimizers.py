"""``optimize_loss``, which makes the training operation of a model from names and numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession import ops
from actorsession import train as trainers
from actorsession.graph.graph import control_dependencies, get_collection
from actorsession.graph.operation import Tensor
from actorsession.ops import GraphKeys, IndexedSlices

__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "optimize_loss"]

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": trainers.AdagradOptimizer,
    "Adam": trainers.AdamOptimizer,
    "Ftrl": trainers.FtrlOptimizer,
    "Momentum": lambda learning_rate: trainers.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": trainers.RMSPropOptimizer,
    "SGD": trainers.GradientDescentOptimizer,
}
"""Optimisers by the names that ``optimize_loss`` takes."""

OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
"""What ``optimize_loss`` can summarise."""


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[..., Any] | None = None,
    update_ops: Iterable[Any] | None = None,
    variables: Iterable[Any] | None = None,
    name: str | None = None,
    summaries: Iterable[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Return the loss after a step of training.

    Args:
        loss: a scalar.
        global_step: the step counter; that of the graph if ``None``.
        learning_rate: a number or scalar tensor, or ``None`` if the optimiser needs none.
        optimizer: a name of ``OPTIMIZER_CLS_NAMES``, a class or function of the learning rate, an optimiser,
            or a function without arguments.
        gradient_noise_scale: the size of noise that is added to gradients.
        gradient_multipliers: factors of gradients by variables or their names.
        clip_gradients: the greatest norm of all gradients, or a function of the pairs of gradients and
            variables.
        learning_rate_decay_fn: a function of the learning rate and the step that returns the rate.
        update_ops: what runs before the loss is used; the collection ``UPDATE_OPS`` if left out.
        variables: what is trained; all that are trainable if left out.
        name: the scope; ``OptimizeLoss`` if left out.
        summaries: names of ``OPTIMIZER_SUMMARIES``.
        colocate_gradients_with_ops: see ``minimize``.
        increment_global_step: whether the step is counted.

    Raises:
        ValueError: for an unknown optimiser or summary, an argument of a wrong kind, or a loss that no
            variable has a gradient of.
    """
    loss = ops.convert_to_tensor(loss)
    step = trainers.get_global_step() if global_step is None else global_step
    if step is not None:
        trainers.assert_global_step(step)
    with ops.variable_scope(name, "OptimizeLoss", [loss]):
        updates = list(get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
        if updates:
            with control_dependencies(updates):
                loss = ops.identity(loss)
        rate = _rate(learning_rate, step, learning_rate_decay_fn)
        chosen = _optimizer(optimizer, rate)
        trained = list(ops.trainable_variables() if variables is None else variables)
        pairs = chosen.compute_gradients(loss, trained, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gradient_noise_scale is not None:
            pairs = _noisy(pairs, gradient_noise_scale)
        if gradient_multipliers is not None:
            if not isinstance(gradient_multipliers, Mapping) or not gradient_multipliers:
                raise ValueError("Empty gradient multipliers passed")
            pairs = multiplied(pairs, gradient_multipliers)
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif isinstance(clip_gradients, (int, float)):
            pairs = _clipped(pairs, clip_gradients)
        elif clip_gradients is not None:
            raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
        _summarise(summaries, loss, rate, pairs)
        applied = chosen.apply_gradients(pairs, global_step=step if increment_global_step else None, name="train")
        with control_dependencies([applied]):
            return ops.identity(loss)


def _rate(learning_rate: Any, step: Any, decay: Callable[..., Any] | None) -> Any:
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor):
        if learning_rate.shape.rank != 0:
            raise ValueError(
                f"Invalid learning_rate {learning_rate}: it has shape {learning_rate.shape}, a scalar is needed"
            )
        rate: Any = learning_rate
    elif isinstance(learning_rate, (int, float)):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}.")
        rate = ops.get_variable(
            "learning_rate", [], trainable=False, initializer=ops.constant_initializer(float(learning_rate))
        )
    else:
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if decay is None:
        return rate
    if step is None:
        raise ValueError("global_step is required for learning_rate_decay_fn.")
    return decay(rate, step)


def _optimizer(source: Any, rate: Any) -> Any:
    if isinstance(source, str):
        if source not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {source}."
            )
        source = OPTIMIZER_CLS_NAMES[source]
    elif isinstance(source, trainers.Optimizer):
        return source
    if not callable(source):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of "
            f"Optimizer or function with one argument. Got {source}."
        )
    if rate is None:
        if isinstance(source, type):
            raise ValueError("Learning rate must be specified when using class of Optimizer.")
        optimizer = source()
    else:
        optimizer = source(learning_rate=rate) if isinstance(source, type) else source(rate)
    if not isinstance(optimizer, trainers.Optimizer):
        raise ValueError(f"Unrecognized optimizer: function should return subclass of Optimizer. Got {optimizer}.")
    return optimizer


def _changed(gradient: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


def multiplied(pairs: Iterable[Any], factors: Mapping[Any, Any]) -> list[Any]:
    """Return gradients and variables with the gradients of some multiplied.

    Args:
        pairs: gradients and variables.
        factors: factors by variables or their names, such as ``w:0``.

    Raises:
        ValueError: for a variable that has no gradient.
    """
    products = []
    for gradient, variable in pairs:
        known = [key for key in factors if key is variable or key == variable.name]
        if known:
            if gradient is None:
                raise ValueError(f"Requested multiple of `None` gradient of {variable.name}.")
            factor = ops.cast(ops.convert_to_tensor(factors[known[0]]), gradient.dtype)
            gradient = _changed(gradient, functools.partial(ops.multiply, factor))
        products.append((gradient, variable))
    return products


def _noisy(pairs: Iterable[Any], scale: float) -> list[Any]:
    noisy = []
    for gradient, variable in pairs:
        if gradient is not None:
            gradient = ops.convert_to_tensor(gradient)
            gradient = gradient + ops.truncated_normal(ops.shape(gradient)) * scale
        noisy.append((gradient, variable))
    return noisy


def _clipped(pairs: Iterable[Any], norm: float) -> list[Any]:
    gradients, variables = zip(*pairs, strict=True)
    clipped, _ = ops.clip_by_global_norm(list(gradients), norm)
    return list(zip(clipped, variables, strict=True))


def _summarise(summaries: Iterable[str] | None, loss: Any, rate: Any, pairs: Iterable[Any]) -> None:
    names = list(summaries or ())
    for name in names:
        if name not in OPTIMIZER_SUMMARIES:
            raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {name}.")
    if not names:
        return
    from actorsession.compat.v1 import summary

    if "learning_rate" in names and rate is not None:
        summary.scalar("learning_rate", rate)
    if "loss" in names:
        summary.scalar("loss", loss)
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is not None and "gradients" in names:
            summary.histogram(f"gradients/{variable.op.name}", values)
        if values is not None and "gradient_norm" in names:
            summary.scalar(f"gradient_norm/{variable.op.name}", ops.global_norm([values]))
    if "global_gradient_norm" in names:
        summary.scalar("global_norm/gradient_norm", ops.global_norm([pair[0] for pair in pairs]))


def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Any], list[Any]]:
    """Return a function that clips gradients at the norm that is usual for them.

    Args:
        std_factor: how many deviations above the mean the greatest norm is.
        decay: the share of the running averages that remains at each step.
        static_max_norm: a greatest norm that always holds.
        global_step: the step counter, with which the first averages are of few steps.
        report_summary: whether the greatest norm is summarised.
        epsilon: added to norms inside logarithms.
        name: the scope.
    """

    def clip(pairs: Any) -> list[Any]:
        gradients, variables = zip(*pairs, strict=True)
        norm = ops.global_norm(list(gradients))
        with ops.variable_scope(name, "AdaptiveMaxNorm", [norm]):
            log_norm = ops.log(norm + epsilon)
            share: Any = decay
            if global_step is not None:
                count = ops.cast(global_step, "float32")
                share = ops.minimum(decay, count / (count + 1.0))
            averages = []
            for what, value in (("mean", log_norm), ("sq_mean", ops.square(log_norm))):
                average = ops.get_variable(what, [], initializer=ops.zeros_initializer(), trainable=False)
                averages.append(ops.assign(average, average * share + value * (1.0 - share)))
            mean, square = averages
            deviation = ops.sqrt(ops.maximum(epsilon, square - ops.square(mean)))
            greatest = ops.exp(mean + std_factor * deviation)
            if static_max_norm is not None:
                greatest = ops.minimum(greatest, static_max_norm)
            if report_summary:
                from actorsession.compat.v1 import summary

                summary.scalar("adaptive_max_gradient_norm", greatest)
            factor = ops.where(norm < greatest, ops.ones_like(norm), ops.exp(mean) / norm)
        return [
            (None if each is None else _changed(each, lambda values: values * factor), variable)
            for each, variable in zip(gradients, variables, strict=True)
        ]

    return clip
