"""Op types of the optimisers with per-element rates and of the proximal ones, dense and sparse.

Owns TensorFlow's ``ResourceApplyX`` and ``ResourceSparseApplyX`` for Adadelta, Adagrad, AdagradDA,
(Centered)RMSProp, Ftrl (two versions), ProximalAdagrad and ProximalGradientDescent; ``train/`` builds them.
``nodes`` has the three most common ones, written out for speed.

The dense op applies a rule of ``rules`` to whole arrays in blocks, the sparse op to copies of the rows
selected by the indices. Rows with equal indices are summed first: TensorFlow's optimisers use separate ops
for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    Array,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)  # fmt: skip
from actorsession.ops.training import rules as training_rules
from actorsession.ops.training.blocks import (
    blocks,
    flat,
    infer_update,
    stored,
    target_of,
    update_cost,
    with_slots,
)
from actorsession.ops.training.rules import Rule
from actorsession.ops.variables.state import check_same_shape, flat_rows, sum_duplicates
from actorsession.records import dataclass

__all__: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Update:
    """One op type in its dense form; the sparse form has a further input ``indices`` after the gradient.

    Attributes:
        name: the part of the op type after ``ResourceApply``.
        inputs: names of the inputs after the variable, slots first.
        slots: number of inputs that are slots.
        rule: the rule that it applies.
        attrs: its additional attributes.
    """

    name: str
    inputs: tuple[str, ...]
    slots: int
    rule: Rule
    attrs: Mapping[str, Any] = field(default_factory=dict)


_UPDATES = [
    _Update(
        name="Adagrad",
        inputs=("accum", "lr", "grad"),
        slots=1,
        rule=training_rules.adagrad,
        attrs={"update_slots": True},
    ),
    _Update(
        name="AdagradDA",
        inputs=(
            "gradient_accumulator",
            "gradient_squared_accumulator",
            "grad",
            "lr",
            "l1",
            "l2",
            "global_step",
        ),
        slots=2,
        rule=training_rules.adagrad_da,
    ),
    _Update(
        name="Adadelta",
        inputs=("accum", "accum_update", "lr", "rho", "epsilon", "grad"),
        slots=2,
        rule=training_rules.adadelta,
    ),
    _Update(
        name="RMSProp",
        inputs=("ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"),
        slots=2,
        rule=training_rules.rms_prop,
    ),
    _Update(
        name="CenteredRMSProp",
        inputs=("mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"),
        slots=3,
        rule=training_rules.centered_rms_prop,
    ),
    _Update(
        name="Ftrl",
        inputs=("accum", "linear", "grad", "lr", "l1", "l2", "lr_power"),
        slots=2,
        rule=training_rules.ftrl,
        attrs={"multiply_linear_by_lr": False},
    ),
    _Update(
        name="FtrlV2",
        inputs=("accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"),
        slots=2,
        rule=training_rules.ftrl_v2,
        attrs={"multiply_linear_by_lr": False},
    ),
    _Update(
        name="ProximalGradientDescent",
        inputs=("alpha", "l1", "l2", "grad"),
        slots=0,
        rule=training_rules.proximal_gradient_descent,
    ),
    _Update(
        name="ProximalAdagrad",
        inputs=("accum", "lr", "l1", "l2", "grad"),
        slots=1,
        rule=training_rules.proximal_adagrad,
    ),
]


# -- kernels -------------------------------------------------------------------------------------


def _check_scalars(op: str, names: Sequence[str], values: Sequence[Any]) -> None:
    for name, value in zip(names, values, strict=True):
        if np.ndim(value):
            raise InvalidArgumentError(
                f"{op}: {name} is a scalar, got a value of shape {list(np.shape(value))}"
            )


def _computed(
    update: _Update,
    attrs: Mapping[str, Any],
    old: Any,
    slots: Sequence[Array],
    grad: Any,
    rates: Sequence[Any],
    out: Array | None,
) -> Any:
    """Return the new value of whole arrays, computed block by block; ``slots`` change in place."""
    target = target_of(old, out)
    # A global step is an int64; with a variable of half precision it must not widen the rule.
    scalars = [np.asarray(rate, target.dtype) for rate in rates]
    pieces = blocks(target.dtype, flat(old), flat(target), *map(flat, slots), flat(grad))
    for before, after, *moments, slope, _scratch in pieces:
        after[...] = update.rule(attrs, before, moments, slope, scalars)
    return stored(target, out)


def _dense_kernel(update: _Update, ctx: KernelContext) -> Kernel:
    op, attrs, count, inputs = ctx.op, ctx.attrs, update.slots, update.inputs
    where = inputs.index("grad")
    names = [name for name in inputs[count:] if name != "grad"]

    def kernel(var: Any, *given: Any) -> None:
        grad = given[where]
        rates = given[count:where] + given[where + 1 :]
        _check_scalars(op, names, rates)

        def move(*slots: Array) -> None:
            def step(old: Any, out: Array | None = None) -> Any:
                for other in (*slots, grad):
                    check_same_shape(op, old, other)
                return _computed(update, attrs, old, slots, grad, rates, out)

            var.update(step)

        with_slots(given[:count], move)

    return kernel


def _sparse_kernel(update: _Update, ctx: KernelContext) -> Kernel:
    op, attrs, count, inputs = ctx.op, ctx.attrs, update.slots, update.inputs
    where = inputs.index("grad")
    names = [name for name in inputs[count:] if name != "grad"]

    def kernel(var: Any, *given: Any) -> None:
        grad, indices = given[where : where + 2]
        rates = given[count:where] + given[where + 2 :]
        _check_scalars(op, names, rates)

        def move(*slots: Array) -> None:
            def step(whole: Array) -> Array:
                for slot in slots:
                    check_same_shape(op, whole, slot)
                rows, summed = sum_duplicates(*flat_rows(op, whole, indices, grad))
                some = [slot[rows] for slot in slots]
                whole[rows] = _computed(update, attrs, whole[rows], some, summed, rates, None)
                for slot, moved in zip(slots, some, strict=True):
                    slot[rows] = moved
                return whole

            var.access(step)

        with_slots(given[:count], move)

    return kernel


# -- registration --------------------------------------------------------------------------------


def _infer(update: _Update, *, sparse: bool) -> Callable[[InferContext], list[TensorSpec]]:
    """Return the shape function; a global step is int64, all other scalars have the variable's dtype."""
    names = list(update.inputs)
    grad = names.index("grad")
    if sparse:
        names.insert(grad + 1, "indices")
    places = range(update.slots, len(names))
    scalars = [i + 1 for i in places if names[i] not in ("grad", "indices", "global_step")]
    common = infer_update(
        range(1, update.slots + 1), scalars, grad + 1, grad + 2 if sparse else None
    )

    def infer(ctx: InferContext) -> list[TensorSpec]:
        if "global_step" in names:
            step = ctx.inputs[names.index("global_step") + 1]
            if step.dtype is not int64:
                raise TypeError(f"{ctx.op}: the global step is int64, got {step.dtype.name}")
            if not step.shape.is_compatible_with(()):
                raise ValueError(f"{ctx.op}: the global step is a scalar, got shape {step.shape}")
        return common(ctx)

    return infer


def _register(update: _Update) -> None:
    grad = update.inputs.index("grad") + 1
    for sparse, prefix in ((False, "ResourceApply"), (True, "ResourceSparseApply")):
        make = _sparse_kernel if sparse else _dense_kernel
        register(
            OpDef(
                name=prefix + update.name,
                infer=_infer(update, sparse=sparse),
                kernel=partial(make, update),
                gradient=NOT_DIFFERENTIABLE,
                cost=update_cost(grad, 5e-3 if sparse else 1e-3),
            )
        )


for _update in _UPDATES:
    _register(_update)
