"""Normalisation: over a batch with running statistics, and over the features of each example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.dtypes import DType, as_dtype, bfloat16, float16, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.neural.fused_batch_norm import fused_batch_norm
from actorsession.ops.neural.normalisation import batch_normalization, moments
from actorsession.train.layers.layer import (
    Layer,
    LayerSettings,
    Regularizer,
    known_flag,
    known_sizes,
    smart_cond,
    weight_arguments,
)
from actorsession.train.layers.names import initializer_of

__all__ = ["BatchNormalization", "LayerNormalization"]


class _Normalization(Layer):
    """The common part of both: a scale ``gamma`` and an offset ``beta``.

    Args:
        epsilon: added to variances.
        center: whether there is an offset.
        scale: whether there is a scale.
        initializers: those of ``beta`` and ``gamma``.
        regularizers: likewise.
        constraints: likewise.
        settings: see ``Layer``.
    """

    def __init__(
        self,
        epsilon: float,
        center: bool,
        scale: bool,
        initializers: tuple[Any, Any],
        regularizers: tuple[Any, Any],
        constraints: tuple[Any, Any],
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(**settings)
        self._epsilon = epsilon
        self._wanted = {"gamma": scale, "beta": center}
        self._of = {
            name: weight_arguments(*given)
            for name, *given in zip(
                ("beta", "gamma"), initializers, regularizers, constraints, strict=True
            )
        }

    def _dtype_of(self, inputs: Any) -> DType:
        # The range of half types is too small for sums of squares.
        return float32 if inputs.dtype in (float16, bfloat16) else as_dtype(inputs.dtype)

    def _add_scale_and_offset(self, shape: Sequence[int]) -> None:
        if not self.dtype.is_floating:
            raise TypeError(
                f"{type(self).__name__} {self.name!r} takes inputs of a floating dtype, got {self.dtype.name}"
            )
        self.gamma, self.beta = [
            self.add_weight(name, shape, **self._of[name]) if self._wanted[name] else None
            for name in ("gamma", "beta")
        ]


def _rank_of(layer: Layer, inputs: Any) -> int:
    rank = TensorShape(inputs).rank
    if rank is None:
        raise ValueError(
            f"{type(layer).__name__} {layer.name!r} takes inputs of a known rank, got {inputs}"
        )
    return rank


def _positive(layer: Layer, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(
            f"{type(layer).__name__} {layer.name!r} normalises axis {axis}, which inputs of rank {rank} "
            "do not have"
        )
    return axis % rank


class BatchNormalization(_Normalization):
    """Normalise each channel to mean ``beta`` and deviation ``gamma`` over a batch.

    The statistics are those of the batch while training, and running averages otherwise. The operations that
    update the averages join ``GraphKeys.UPDATE_OPS``: a training step must run them, for example with
    ``minimize`` in ``control_dependencies(get_collection(GraphKeys.UPDATE_OPS))``. The weights, all with a
    number for each channel, are ``gamma``, ``beta``, and, not trainable, ``moving_mean`` and
    ``moving_variance``. For images of rank 4 that one node normalises (``fused``) the running
    variance is unbiased, as in TensorFlow.

    Args:
        axis: the axis of the channels.
        momentum: the share of a running average that remains at each update.
        epsilon: added to variances.
        center: whether an offset ``beta`` is added.
        scale: whether there is a factor ``gamma``.
        fused: whether images of rank 4 are normalised by one node; if left out, where that is possible.
        beta_initializer: the initialiser of ``beta``, or the name of one, as for the following.
        gamma_initializer: the initialiser of ``gamma``.
        moving_mean_initializer: the initialiser of ``moving_mean``.
        moving_variance_initializer: the initialiser of ``moving_variance``.
        beta_regularizer: the regulariser of ``beta``.
        gamma_regularizer: the regulariser of ``gamma``.
        beta_constraint: a function that optimisers apply to the updated ``beta``.
        gamma_constraint: the same of ``gamma``.
        settings: see ``Layer``.

    Raises:
        ValueError: in the first call for inputs of unknown rank or number of channels, or without the axis.
        TypeError: for inputs that are not floating, or for a ``training`` that is no bool.
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        *,
        fused: bool | None = None,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Regularizer | None = None,
        gamma_regularizer: Regularizer | None = None,
        beta_constraint: Callable[..., Any] | None = None,
        gamma_constraint: Callable[..., Any] | None = None,
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(
            epsilon, center, scale, (beta_initializer, gamma_initializer),
            (beta_regularizer, gamma_regularizer), (beta_constraint, gamma_constraint), **settings,
        )  # fmt: skip
        self._wanted_axis, self._momentum, self._fuses = axis, momentum, fused
        self._of_averages = {
            "moving_mean": initializer_of(moving_mean_initializer),
            "moving_variance": initializer_of(moving_variance_initializer),
        }

    def build(self, shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        self._axis = _positive(self, self._wanted_axis, _rank_of(self, shape))
        channels = known_sizes(self, shape, [self._axis])
        self._add_scale_and_offset(channels)
        self.moving_mean, self.moving_variance = self._add_averages(channels)

    def _add_averages(self, channels: Sequence[int]) -> list[Any]:
        """Create the running averages; these are in one piece, as in TensorFlow."""
        scope = self._enter_scope(None)
        partitioner = scope.partitioner
        scope.set_partitioner(None)
        try:
            return [
                self.add_weight(name, channels, initializer=initializer, trainable=False)
                for name, initializer in self._of_averages.items()
            ]
        finally:
            scope.set_partitioner(partitioner)

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """Build the outputs.

        Args:
            inputs: the inputs, of a floating dtype.
            training: whether the statistics are those of the batch: a bool or a scalar bool tensor.
        """
        rank = _rank_of(self, inputs.shape)
        layout = {(4, 3): "NHWC", (4, 1): "NCHW"}.get((rank, self._axis))
        if layout is None and self._fuses:
            raise ValueError(
                f"{type(self).__name__} {self.name!r} is fused, which is for images of rank 4 with the "
                f"channels as axis 1 or 3; got shape {inputs.shape} and axis {self._axis}"
            )
        layout = None if self._fuses is False else layout
        if layout is not None:
            outputs, mean, variance = self._fused(inputs, training, layout)
        else:
            outputs, mean, variance = self._composed(inputs, training, rank)
        outputs.set_shape(inputs.shape)
        if known_flag(training) is not False:
            decay = smart_cond(
                training,
                lambda: ops.constant(1.0 - self._momentum, self.dtype),
                lambda: ops.constant(0.0, self.dtype),
            )
            for average, value in (
                (self.moving_mean, mean),
                (self.moving_variance, variance),
            ):
                change = (average - ops.cast(value, self.dtype)) * decay
                self.add_update(
                    average.assign_sub(change, name="AssignMovingAvg", read_value=False)
                )
        return outputs

    def _fused(self, inputs: Tensor, training: Any, layout: str) -> tuple[Tensor, Tensor, Tensor]:
        """Build outputs and statistics of images with one node."""
        shape = self.moving_mean.shape
        gamma = ops.ones(shape, self.dtype) if self.gamma is None else self.gamma
        beta = ops.zeros(shape, self.dtype) if self.beta is None else self.beta

        def with_statistics(mean: Any, variance: Any) -> tuple[Tensor, Tensor, Tensor]:
            return fused_batch_norm(
                inputs, gamma, beta, mean, variance, epsilon=self._epsilon, data_format=layout,
                is_training=mean is None,
            )  # fmt: skip

        outputs, mean, variance = smart_cond(
            training,
            lambda: with_statistics(None, None),
            lambda: with_statistics(self.moving_mean, self.moving_variance),
        )
        return outputs, mean, variance

    def _composed(self, inputs: Tensor, training: Any, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        """Build outputs and statistics of inputs of any rank."""
        axes = [axis for axis in range(rank) if axis != self._axis]
        mean, variance = smart_cond(
            training,
            lambda: moments(ops.cast(inputs, self.dtype), axes),
            lambda: (ops.identity(self.moving_mean), ops.identity(self.moving_variance)),
        )
        shape = [1] * rank
        shape[self._axis] = -1

        def placed(vector: Any) -> Any:
            last = vector is None or self._axis == rank - 1
            return vector if last else ops.reshape(vector, shape)

        outputs = batch_normalization(
            inputs, placed(mean), placed(variance), placed(self.beta), placed(self.gamma),
            self._epsilon,
        )  # fmt: skip
        return outputs, mean, variance


class LayerNormalization(_Normalization):
    """Normalise the features of each example to mean ``beta`` and deviation ``gamma``.

    The weights ``gamma`` and ``beta`` have the sizes of the normalised axes. Training and inference do not
    differ.

    Args:
        axis: the axis to normalise over, or several.
        epsilon: added to variances.
        center: whether an offset ``beta`` is added.
        scale: whether there is a factor ``gamma``.
        beta_initializer: the initialiser of ``beta``, or the name of one.
        gamma_initializer: the initialiser of ``gamma``, or the name of one.
        beta_regularizer: the regulariser of ``beta``.
        gamma_regularizer: the regulariser of ``gamma``.
        beta_constraint: a function that optimisers apply to the updated ``beta``.
        gamma_constraint: the same of ``gamma``.
        settings: see ``Layer``.

    Raises:
        ValueError: in the first call for inputs of unknown rank or sizes, or without an axis.
        TypeError: in the first call for inputs that are not floating.
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        *,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Regularizer | None = None,
        gamma_regularizer: Regularizer | None = None,
        beta_constraint: Callable[..., Any] | None = None,
        gamma_constraint: Callable[..., Any] | None = None,
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(
            epsilon, center, scale, (beta_initializer, gamma_initializer),
            (beta_regularizer, gamma_regularizer), (beta_constraint, gamma_constraint), **settings,
        )  # fmt: skip
        self._wanted_axes = [axis] if isinstance(axis, int) else list(axis)

    def build(self, shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        rank = _rank_of(self, shape)
        self._axes = sorted({_positive(self, axis, rank) for axis in self._wanted_axes})
        sizes = known_sizes(self, shape, self._axes)
        self._add_scale_and_offset(sizes)
        self._placed = [1] * rank
        for axis, size in zip(self._axes, sizes, strict=True):
            self._placed[axis] = size

    def call(self, inputs: Tensor) -> Tensor:
        """Build the outputs."""
        values = ops.cast(inputs, self.dtype)
        mean, variance = moments(values, self._axes, keepdims=True)
        gamma, beta = [
            None if weight is None else ops.reshape(weight, self._placed)
            for weight in (self.gamma, self.beta)
        ]
        outputs = batch_normalization(values, mean, variance, beta, gamma, self._epsilon)
        return ops.cast(outputs, inputs.dtype)
