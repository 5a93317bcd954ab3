"""``create_train_op``: a training operation whose value is the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession import ops
from actorsession import train as trainers
from actorsession.compat.v1 import logging
from actorsession.compat.v1.contrib.layers.optimizers import multiplied
from actorsession.graph.graph import add_to_collection, control_dependencies, get_collection
from actorsession.graph.operation import Tensor
from actorsession.namespaces import debugging
from actorsession.ops import GraphKeys, IndexedSlices

__all__ = [
    "USE_GLOBAL_STEP", "add_gradients_summaries", "clip_gradient_norms", "clip_gradient_norms_fn",
    "create_train_op", "multiply_gradients",
]  # fmt: skip

USE_GLOBAL_STEP = 0
"""Stands for the step counter of the graph."""

multiply_gradients = multiplied


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Iterable[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = trainers.Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
    transform_grads_fn: Callable[[Any], Any] | None = None,
) -> Tensor:
    """Return the loss, whose computation trains the model by one step.

    Args:
        total_loss: a scalar.
        optimizer: the optimiser.
        global_step: the step counter; that of the graph, which is made if there is none; ``None`` for none.
        update_ops: what runs before the loss; the collection ``UPDATE_OPS`` if left out.
        variables_to_train: the variables; all that are trainable if left out.
        clip_gradient_norm: the greatest norm of a gradient; 0 for no limit.
        summarize_gradients: whether gradients are summarised.
        gate_gradients: see ``tf.train.Optimizer``.
        aggregation_method: see there.
        colocate_gradients_with_ops: see there.
        gradient_multipliers: factors of gradients by variables or their names.
        check_numerics: whether a loss that is not finite is an error of the step.
        transform_grads_fn: a function of the pairs of gradients and variables that returns others.

    Raises:
        ValueError: for a variable that is not trainable.
    """
    if global_step is USE_GLOBAL_STEP:
        global_step = trainers.get_or_create_global_step()
    collected = get_collection(GraphKeys.UPDATE_OPS)
    updates = list(collected if update_ops is None else update_ops)
    if any(not any(each is one for one in updates) for each in collected):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS"
        )
    loss = ops.convert_to_tensor(total_loss)
    if updates:
        with control_dependencies(updates):
            barrier = ops.no_op(name="update_barrier")
        with control_dependencies([barrier]):
            loss = ops.identity(loss)
    trainable = ops.trainable_variables()
    if variables_to_train is None:
        trained = trainable
    else:
        trained = list(variables_to_train)
        for each in trained:
            if not any(each is one for one in trainable):
                raise ValueError(f"variable {each.name} is not trainable")
    if not trained:
        raise ValueError("there are no variables to train")
    pairs = optimizer.compute_gradients(
        loss, trained, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )  # fmt: skip
    if gradient_multipliers:
        pairs = multiplied(pairs, gradient_multipliers)
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if clip_gradient_norm > 0:
        pairs = clip_gradient_norms(pairs, clip_gradient_norm)
    if summarize_gradients:
        add_gradients_summaries(pairs)
    applied = optimizer.apply_gradients(pairs, global_step=global_step)
    with loss.graph.name_scope("train_op"):
        if check_numerics:
            loss = debugging.check_numerics(loss, "LossTensor is inf or nan")
        with control_dependencies([applied]):
            made = ops.identity(loss)
    add_to_collection(GraphKeys.TRAIN_OP, made)
    return made


def clip_gradient_norms(gradients_to_variables: Iterable[Any], max_norm: float) -> list[Any]:
    """Return gradients and variables with each gradient's norm limited."""
    found: list[Any] = []
    for gradient, variable in gradients_to_variables:
        if isinstance(gradient, IndexedSlices):
            clipped = ops.clip_by_norm(gradient.values, max_norm)
            gradient = IndexedSlices(clipped, gradient.indices, gradient.dense_shape)
        elif gradient is not None:
            gradient = ops.clip_by_norm(gradient, max_norm)
        found.append((gradient, variable))
    return found


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Any], list[Any]]:
    """Return a function for ``transform_grads_fn`` that limits the norm of each gradient."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def add_gradients_summaries(grads_and_vars: Iterable[Any]) -> list[Any]:
    """Return a histogram and the norm of each gradient as summaries."""
    from actorsession.compat.v1 import summary

    found = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        found.append(summary.histogram(f"{variable.op.name}_gradient", values))
        norm = ops.global_norm([values])
        found.append(summary.scalar(f"{variable.op.name}_gradient_norm", norm))
    return found
