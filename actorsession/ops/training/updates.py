"""Op types of the optimisers with per-element rates and of the proximal ones, dense and sparse.

Owns TensorFlow's ``ResourceApplyX`` and ``ResourceSparseApplyX`` for Adadelta, Adagrad (two versions),
KerasMomentum, AdagradDA, (Centered)RMSProp, Ftrl (two versions), ProximalAdagrad and
ProximalGradientDescent, and ``ResourceApplyX`` for AdaMax, AdamWithAmsgrad, AddSign and PowerSign; ``train/``
builds most of them.
``nodes`` has the three most common ones, written out for speed.

The dense op applies a rule of ``rules`` to whole arrays, numpy's in blocks, the sparse op to copies of the rows
selected by the indices. Rows with equal indices are summed first: TensorFlow's optimisers use separate ops for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, Kernel, KernelContext
from actorsession.ops.rows import op
from actorsession.ops.training import rules
from actorsession.ops.training.blocks import (
    GRADIENTS,
    flat,
    in_pieces,
    inputs_of,
    stored,
    target_of,
    update,
    update_cost,
    with_slots,
)
from actorsession.ops.variables.state import check_same_shape, flat_rows, sum_duplicates

__all__: list[str] = []


# -- kernels -------------------------------------------------------------------------------------


# Loops over the elements that a rule has, roughly: from 5 of Adagrad to 20 of Ftrl.
_LOOPS = 10


def _check_scalars(op: str, names: Sequence[str], values: Sequence[Any]) -> None:
    for name, value in zip(names, values, strict=True):
        if value.ndim:
            raise InvalidArgumentError(f"{op}: {name} is a scalar, got a value of shape {list(np.shape(value))}")


def _computed(
    rule: rules.Rule,
    xp: Any,
    attrs: Mapping[str, Any],
    old: Any,
    slots: Sequence[Array],
    grad: Any,
    rates: Sequence[Any],
    out: Array | None,
) -> Any:
    """Return the new value of whole arrays, computed block by block if they are numpy's; ``slots`` change in place."""
    # A global step is an int64; with a variable of half precision it must not widen the rule.
    if xp is not np:
        scalars = [xp.asarray(r, dtype=old.dtype, device=old.device) if isinstance(r, np.generic) else r for r in rates]
        out = xp.asarray(old, copy=True) if out is None else out
        rule(xp, attrs, out, slots, grad, scalars)
        return out
    target = target_of(old, out)
    scalars = [np.asarray(rate, target.dtype) for rate in rates]
    if target is not old:
        target[...] = old

    def move(var: Array, *others: Array) -> None:
        *moments, slope, _scratch = others
        rule(xp, attrs, var, moments, slope, scalars)

    in_pieces(move, _LOOPS, target.dtype, flat(target), *map(flat, slots), flat(grad))
    return stored(target, out)


def _sentence(rule: rules.Rule, xp: Any, ctx: KernelContext) -> Kernel:
    op_type, attrs = ctx.op, ctx.attrs
    sparse = op_type.startswith("ResourceSparse")
    args = inputs_of(op_type)[1:]
    count = sum(arg.type == "resource" for arg in args)
    (where,) = (place for place, arg in enumerate(args) if arg.name in GRADIENTS)
    behind = where + (2 if sparse else 1)
    names = [arg.name for arg in (*args[count:where], *args[behind:])]

    def kernel(var: Any, *operands: Any) -> None:
        grad, rates = operands[where], operands[count:where] + operands[behind:]
        _check_scalars(op_type, names, rates)

        def move(*slots: Array) -> None:
            def step(old: Any, out: Array | None = None) -> Any:
                for other in (*slots, grad):
                    if other.shape != old.shape:
                        check_same_shape(op_type, old, other)
                return _computed(rule, xp, attrs, old, slots, grad, rates, out)

            def step_of_rows(whole: Array) -> Array:
                for slot in slots:
                    check_same_shape(op_type, whole, slot)
                rows, summed = sum_duplicates(*flat_rows(op_type, whole, operands[where + 1], grad))
                some = [slot[rows] for slot in slots]
                whole[rows] = _computed(rule, xp, attrs, whole[rows], some, summed, rates, None)
                for slot, moved in zip(slots, some, strict=True):
                    slot[rows] = moved
                return whole

            if sparse:
                var.access(step_of_rows)
            else:
                var.update(step)

        with_slots(operands[:count], move)

    return kernel


_SPARSE, _DENSE = "ResourceSparseApply", "ResourceApply"
_DENSE_ALONE = frozenset({"AdaMax", "AdamWithAmsgrad", "AddSign", "PowerSign"})

for _name, _rule in {
    "AdaMax": rules.ada_max,
    "AdamWithAmsgrad": rules.adam_with_amsgrad,
    "AdagradV2": rules.adagrad_v2,
    "AddSign": rules.add_sign,
    "KerasMomentum": rules.keras_momentum,
    "PowerSign": rules.power_sign,
    "Adadelta": rules.adadelta,
    "Adagrad": rules.adagrad,
    "AdagradDA": rules.adagrad_da,
    "CenteredRMSProp": rules.centered_rms_prop,
    "Ftrl": rules.ftrl,
    "FtrlV2": rules.ftrl_v2,
    "ProximalAdagrad": rules.proximal_adagrad,
    "ProximalGradientDescent": rules.proximal_gradient_descent,
    "RMSProp": rules.rms_prop,
}.items():
    for _prefix, _cost in ((_DENSE, 1e-3), (_SPARSE, 5e-3))[: 1 if _name in _DENSE_ALONE else 2]:
        op(
            _prefix + _name,
            update,
            kernel=partial(_sentence, _rule, np),
            sentence=partial(_sentence, _rule) if _prefix == _DENSE else None,
            grad=NOT_DIFFERENTIABLE,
            cost=update_cost(_cost),
            divides=True,
        )
