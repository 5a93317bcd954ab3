"""The categorical distribution: one of several classes."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.distributions.checks import checked_events, logits_and_probs
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Categorical distributions, whose classes are the last dimension of the parameters.

    Args:
        logits: logarithms of weights, of a floating dtype; the weights need not be normalised.
        probs: probabilities, instead of logits.
        dtype: the dtype of samples.
        validate_args: whether to check probabilities and values in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: for both logits and probabilities, or neither, or scalars.
        TypeError: if they are not floating.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, name, multidimensional=True, validate_args=validate_args
            )
            shape = ops.shape(self._logits, name="logits_shape")
            self._event_size = ops.identity(shape[-1], name="event_size")
            self._batch_shape_val = ops.identity(shape[:-1], name="batch_shape")
        super().__init__(
            dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with, [self._logits, self._probs], name
        )

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 scalar."""
        return self._event_size

    @property
    def logits(self) -> Tensor:
        """The logarithms of the weights."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs

    def _batch_shape(self) -> Any:
        return None if self.logits.shape.rank is None else self.logits.shape[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return ops.identity(self._batch_shape_val)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _event_shape_tensor(self) -> Tensor:
        return ops.constant([], int32)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rows = ops.reshape(self.logits, ops.stack([-1, self.event_size]))
        wide = int64 if self.dtype.size > 4 else int32
        drawn = ops.multinomial(rows, n, seed=seed, output_dtype=wide)
        shape = ops.concat([ops.reshape(n, [1]), self.batch_shape_tensor()], 0)
        return ops.cast(ops.reshape(ops.transpose(drawn), shape), self.dtype)

    def _log_prob(self, k: Tensor) -> Tensor:
        k, logits = self._spread(k, self.logits)
        return -nn.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k: Tensor) -> Tensor:
        k, probs = self._spread(k, self.probs)
        below = ops.sequence_mask(k, self.event_size)
        return ops.reduce_sum(ops.where_v2(below, probs, ops.zeros_like(probs)), -1)

    def _spread(self, k: Tensor, params: Tensor) -> tuple[Tensor, Tensor]:
        """Return classes and parameters broadcast to the same batch shape."""
        if self.validate_args:
            k = checked_events(k, None, "int32")
        if k.dtype.is_floating:
            k = ops.cast(k, int32)
        elif not k.dtype.is_integer:
            raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({self.dtype.name})")
        if params.shape.rank is None or k.shape != params.shape[:-1] or not k.shape.is_fully_defined():
            params = params * ops.ones_like(k[..., None], dtype=params.dtype)
            k = k * ops.ones(ops.shape(params)[:-1], k.dtype)
            if params.shape.rank is not None:
                k.set_shape(params.shape[:-1])
        return k, params

    def _entropy(self) -> Tensor:
        return -ops.reduce_sum(nn.log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Tensor:
        mode = ops.cast(ops.argmax(self.logits, axis=-1), self.dtype)
        mode.set_shape(self.batch_shape)
        return mode


@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        apart = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
        return ops.reduce_sum(nn.softmax(a.logits) * apart, -1)
