"""The multinomial distribution: how often each of several classes is drawn."""

from __future__ import annotations

from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1.distributions.checks import checked, checked_counts, logits_and_probs
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import DType, int32
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn

__all__ = ["Multinomial", "drawn_counts"]


class Multinomial(Distribution):
    """Multinomial distributions, whose classes are the last dimension of the parameters.

    Args:
        total_count: the number of trials, of the dtype of the other parameters.
        logits: logarithms of weights, of a floating dtype.
        probs: probabilities, instead of logits.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: for both logits and probabilities, or neither.
        TypeError: if they are not floating.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as name:
            self._total_count = ops.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checked_counts(self._total_count)
            self._logits, self._probs = logits_and_probs(
                logits, probs, name, multidimensional=True, validate_args=validate_args
            )
            self._mean_val = self._total_count[..., None] * self._probs
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [self._total_count, self._logits, self._probs],
            name,
        )

    @property
    def total_count(self) -> Tensor:
        """The number of trials."""
        return self._total_count

    @property
    def logits(self) -> Tensor:
        """The logarithms of the weights."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs

    def _batch_shape(self) -> Any:
        shape = self._mean_val.shape
        return None if shape.rank is None else shape[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return ops.shape(self._mean_val)[:-1]

    def _event_shape(self) -> Any:
        shape = self._mean_val.shape
        return [None] if shape.rank is None else shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return ops.shape(self._mean_val)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        counts = ops.cast(self.total_count, int32)
        counts = ops.ones_like(self.logits[..., 0], dtype=int32) * counts
        logits = ops.ones_like(counts[..., None], dtype=self.logits.dtype) * self.logits
        classes = self.event_shape_tensor()[0]
        rows = ops.reshape(logits, ops.stack([-1, classes]))
        drawn = drawn_counts(rows, ops.reshape(counts, [-1]), n, self.dtype, seed)
        shape = [ops.reshape(n, [1]), self.batch_shape_tensor(), ops.reshape(classes, [1])]
        return ops.reshape(ops.transpose(drawn, [1, 0, 2]), ops.concat(shape, 0))

    def _log_prob(self, counts: Tensor) -> Tensor:
        counts = self._checked_value(counts)
        unnormalised = ops.reduce_sum(counts * nn.log_softmax(self.logits), -1)
        orders = opsets.lgamma(self.total_count + 1.0) - ops.reduce_sum(opsets.lgamma(counts + 1.0), -1)
        return unnormalised + orders

    def _mean(self) -> Tensor:
        return ops.identity(self._mean_val)

    def _spread_probs(self) -> Tensor:
        return self.probs * ops.ones_like(self.total_count)[..., None]

    def _variance(self) -> Tensor:
        return self._mean_val * (1.0 - self._spread_probs())

    def _covariance(self) -> Tensor:
        outer = ops.matmul(self._mean_val[..., None], self._spread_probs()[..., None, :])
        return ops.matrix_set_diag(-outer, self._variance())

    def _checked_value(self, counts: Tensor) -> Tensor:
        if not self.validate_args:
            return counts
        counts = checked_counts(counts)
        message = "counts must sum to `self.total_count`"
        total = ops.assert_equal(self.total_count, ops.reduce_sum(counts, -1), message=message)
        return checked([total], counts)


def drawn_counts(logits: Tensor, counts: Tensor, n: Any, dtype: DType, seed: int | None) -> Tensor:
    """Return the counts of each class in ``n`` samples for each row.

    Args:
        logits: logarithms of weights, a row for each distribution.
        counts: the number of trials of each distribution.
        n: the number of samples.
        dtype: the dtype of the result, whose shape is ``[rows, n, classes]``.
        seed: the operation's seed.
    """

    def draw(row: Any) -> Tensor:
        weights, count = row
        drawn = ops.multinomial(weights[None], n * count, seed=seed)
        ones = ops.one_hot(ops.reshape(drawn, ops.stack([n, count])), ops.size(weights))
        return ops.cast(ops.reduce_sum(ones, -2), dtype)

    drawn: Tensor = ops.map_fn(draw, [logits, counts], fn_output_signature=dtype)
    return drawn
