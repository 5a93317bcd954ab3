"""What the distributions of scalars here share: their parameters become tensors and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from actorsession import ops
from actorsession.compat.v1.distributions.checks import logits_and_probs, parameters
from actorsession.compat.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    ReparameterizationType,
)
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor

__all__ = ["Family", "nan_unless", "parameter", "shared_arguments", "uniform"]


def parameter(name: str, text: str) -> Any:
    """Return the property of a parameter."""
    return property(lambda self: getattr(self, f"_{name}"), doc=text)


def shared_arguments(local: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor from its local names."""
    return {name: value for name, value in local.items() if name not in ("self", "__class__")}


class Family(ScalarDistribution):
    """A distribution of scalars whose parameters are tensors of one floating dtype.

    Subclasses list them in ``_PARAMETERS``, and those that are positive in ``_POSITIVE``.
    """

    _POSITIVE: ClassVar[tuple[str, ...]] = ()
    _KIND: ClassVar[ReparameterizationType] = FULLY_REPARAMETERIZED

    def _begin(self, made_with: Mapping[str, Any], **named: Any) -> None:
        """Do what a constructor does.

        Args:
            made_with: the arguments of the constructor.
            named: the parameters, where they are not among the arguments.
        """
        kept = shared_arguments(made_with)
        values = named or {name: kept[name] for name in self._PARAMETERS}
        with name_scope(kept["name"], values=list(values.values())) as name:
            checks = [ops.assert_positive(values[each]) for each in self._POSITIVE] if kept["validate_args"] else []
            tensors = parameters(checks, **values)
        for each, tensor in zip(values, tensors, strict=True):
            setattr(self, f"_{each}", tensor)
        super().__init__(
            tensors[0].dtype, self._KIND, kept["validate_args"], kept["allow_nan_stats"], kept, tensors, name
        )

    def _begin_with_odds(self, made_with: Mapping[str, Any], *others: str) -> None:
        """Do what a constructor does that takes ``logits`` or ``probs``, and other parameters."""
        kept = shared_arguments(made_with)
        with name_scope(kept["name"]) as name:
            self._logits, self._probs = logits_and_probs(
                kept["logits"], kept["probs"], name, validate_args=kept["validate_args"]
            )
            for each in others:
                value = ops.convert_to_tensor(kept[each], self._probs.dtype, name=each)
                setattr(self, f"_{each}", value)
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            kept["validate_args"],
            kept["allow_nan_stats"],
            kept,
            [self._logits, self._probs],
            name,
        )

    def _spread(self, value: Any) -> Tensor:
        """Return a value for each distribution of the batch."""
        spread: Tensor = value + ops.zeros(self.batch_shape_tensor(), self.dtype)
        spread.set_shape(self.batch_shape)
        return spread


def uniform(of: Any, count: Any, seed: int | None) -> Tensor:
    """Return numbers between 0 and 1, both of which are excluded, for samples of a distribution."""
    import numpy as np

    least = float(np.finfo(of.dtype.np_dtype).tiny)
    return ops.random_uniform(of._drawn_shape(count), least, 1.0, of.dtype, seed)


def nan_unless(of: Any, holds: Tensor, value: Tensor, what: str) -> Tensor:
    """Return a statistic where it is defined; elsewhere it is NaN, or fails the step.

    Args:
        of: the distribution.
        holds: where it is defined.
        value: the statistic.
        what: the error.
    """
    from actorsession.compat.v1.distributions.checks import checked

    if of.allow_nan_stats:
        nan = ops.constant(float("nan"), of.dtype)
        return ops.where_v2(holds, value, nan)
    return checked([ops.Assert(ops.reduce_all(holds), [what])], value)
