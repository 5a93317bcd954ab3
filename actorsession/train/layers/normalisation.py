"""Normalisation: over a batch with running statistics, and over the features of each example."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.dtypes import DType, as_dtype, bfloat16, float16, float32
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.neural.fused_batch_norm import fused_batch_norm
from actorsession.ops.neural.normalisation import batch_normalization, moments
from actorsession.train.layers.arguments import checked_count, checked_number
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

    _order = ("gamma", "beta")

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
        self._epsilon = checked_number("epsilon", epsilon)
        self._enabled = {"gamma": scale, "beta": center}
        self._of = {
            name: weight_arguments(*settings_of)
            for name, *settings_of in zip(("beta", "gamma"), initializers, regularizers, constraints, strict=True)
        }

    def _dtype_of(self, inputs: Any) -> DType:
        # The range of half types is too small for sums of squares.
        return float32 if inputs.dtype in (float16, bfloat16) else as_dtype(inputs.dtype)

    def _add_scale_and_offset(self, shape: Sequence[int]) -> None:
        if not self.dtype.is_floating:
            raise TypeError(
                f"{type(self).__name__} {self.name!r} takes inputs of a floating dtype, got {self.dtype.name}"
            )
        weights = {
            name: self.add_weight(name, shape, **self._of[name]) if self._enabled[name] else None
            for name in self._order
        }
        self.gamma, self.beta = weights["gamma"], weights["beta"]


def _rank_of(layer: Layer, inputs: Any) -> int:
    rank = TensorShape(inputs).rank
    if rank is None:
        raise ValueError(f"{type(layer).__name__} {layer.name!r} takes inputs of a known rank, got {inputs}")
    return rank


def _positive(layer: Layer, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(
            f"{type(layer).__name__} {layer.name!r} normalises axis {axis}, which inputs of rank {rank} do not have"
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

    Renormalisation corrects what a small batch is normalised by towards running averages of its own, so that
    training and inference compute alike; virtual batches are parts of a batch that are normalised each on
    its own.

    Args:
        axis: the axis of the channels, or several of them.
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
        renorm: whether batches are renormalised, which adds the weights ``moving_stddev``, ``renorm_mean``
            and ``renorm_stddev``.
        renorm_clipping: bounds of the corrections: ``rmin`` and ``rmax`` of the factor, ``dmax`` of the
            shift; there are none for what is left out.
        renorm_momentum: the same as ``momentum`` for the averages that corrections are computed from.
        virtual_batch_size: the number of virtual batches of a batch, which has to divide its size; ``None``
            for none.
        adjustment: a function of the shape of a batch that returns a factor and a shift for it while
            training, which apply before ``gamma`` and ``beta``.
        settings: see ``Layer``.

    Raises:
        ValueError: for contradicting arguments; in the first call for inputs of unknown rank or number of
            channels, or without the axis.
        TypeError: for inputs that are not floating, or for a ``training`` that is no bool.
    """

    moving_mean: Any
    moving_variance: Any
    moving_stddev: Any
    renorm_mean: Any
    renorm_stddev: Any

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
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
        renorm: bool = False,
        renorm_clipping: Mapping[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        virtual_batch_size: int | None = None,
        adjustment: Callable[[Any], tuple[Any, Any]] | None = None,
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(
            epsilon,
            center,
            scale,
            (beta_initializer, gamma_initializer),
            (beta_regularizer, gamma_regularizer),
            (beta_constraint, gamma_constraint),
            **settings,
        )
        self._given_axes, self._momentum = axes_of(axis), checked_number("momentum", momentum)
        self._renorms, self._renorm_momentum = renorm, checked_number("renorm_momentum", renorm_momentum)
        self._fuses = fused
        self._bounds = dict(renorm_clipping or {}) if renorm else {}
        if set(self._bounds) - set(_BOUNDS):
            raise ValueError(
                f"renorm_clipping {self._bounds} contains keys not in {list(_BOUNDS)}: the factor has bounds "
                "rmin and rmax, the shift has dmax"
            )
        self._parts, self._adjustment = virtual_batch_size, adjustment
        self._check_parts()
        self._of_averages = {
            "moving_mean": initializer_of(moving_mean_initializer),
            "moving_variance": initializer_of(moving_variance_initializer),
        }

    def _check_parts(self) -> None:
        if self._parts is None:
            return
        if checked_count("virtual_batch_size", self._parts, None) <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of the input "
                f"Tensor, got {self._parts}"
            )
        if self._adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def build(self, shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        rank = _rank_of(self, shape)
        axes = [_positive(self, axis, rank) for axis in self._given_axes]
        if len(axes) != len(set(axes)):
            raise ValueError(f"Duplicate axis: {axes}; each axis is named once")
        if self._parts is not None and 0 in axes:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
            )
        self._sizes = known_sizes(self, shape, axes)
        self._axes = axes
        sizes = self._sizes
        if len(axes) > 1 or self._parts is not None:
            known = dict(zip(axes, sizes, strict=True))
            sizes = [known.get(axis, 1) for axis in range(rank)]
        if self._parts is not None:
            sizes.insert(1, 1)
            self._axes = [axis + 1 for axis in axes]
        self._add_scale_and_offset(sizes)
        self._add_averages(sizes)

    def _add_averages(self, sizes: Sequence[int]) -> None:
        """Create the running averages; these are in one piece, as in TensorFlow."""
        of_mean, of_variance = self._of_averages.values()
        initializers = {"moving_mean": of_mean, "moving_variance": of_variance}
        if self._renorms:

            def of_deviation(*args: Any, **kwargs: Any) -> Any:
                initial = ops.ones_initializer() if of_variance is None else of_variance
                return ops.sqrt(initial(*args, **kwargs))

            initializers["moving_stddev"] = initializers["renorm_stddev"] = of_deviation
            initializers["renorm_mean"] = of_mean
        scope = self._enter_scope(None)
        partitioner = scope.partitioner
        scope.set_partitioner(None)
        try:
            for name in ("moving_mean", "moving_variance", *_OF_RENORM):
                if name in initializers:
                    weight = self.add_weight(name, sizes, initializer=initializers[name], trainable=False)
                    setattr(self, name, weight)
        finally:
            scope.set_partitioner(partitioner)

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """Build the outputs.

        Args:
            inputs: the inputs, of a floating dtype.
            training: whether the statistics are those of the batch: a bool or a scalar bool tensor.
        """
        rank = _rank_of(self, inputs.shape)
        layout = {(4, 3): "NHWC", (4, 1): "NCHW"}.get((rank, self._axes[0]))
        if self._renorms or self._adjustment or self._parts is not None or len(self._axes) > 1:
            layout = None
        if layout is None and self._fuses:
            raise ValueError(
                f"{type(self).__name__} {self.name!r} is fused, which is for images of rank 4 with the "
                "channels as axis 1 or 3, without renorm, virtual_batch_size and adjustment; got shape "
                f"{inputs.shape} and axis {self._axes}"
            )
        if layout is not None and self._fuses is not False:
            outputs, mean, variance = self._fused(inputs, training, layout)
        else:
            outputs, mean, variance = self._composed(inputs, training)
        outputs.set_shape(inputs.shape)
        if known_flag(training) is not False:
            self._add_updates(mean, variance, training)
        return outputs

    def _add_updates(self, mean: Any, variance: Any, training: Any) -> None:
        """Add the updates of the running averages by statistics of a batch."""
        self.add_update(self._moved(self.moving_mean, mean, self._momentum, training))
        if not self._renorms:
            self.add_update(self._moved(self.moving_variance, variance, self._momentum, training))
            return
        deviation = ops.sqrt(variance + self._epsilon)
        moved = self._moved(self.moving_stddev, deviation, self._momentum, training, True)
        squares = smart_cond(
            training,
            # Rounding may have made it negative.
            lambda: ops.maximum(moved * moved - self._epsilon, 0),
            lambda: ops.identity(self.moving_variance),
        )
        self.add_update(self.moving_variance.assign(squares, name="AssignNewValue", read_value=False))

    def _moved(self, average: Any, value: Any, momentum: Any, training: Any, read_value: bool = False) -> Any:
        """Return the update of a running average by a value, which does nothing where nothing is trained."""
        decay = smart_cond(
            training, lambda: ops.constant(1.0 - momentum, self.dtype), lambda: ops.constant(0.0, self.dtype)
        )
        change = (average - ops.cast(value, self.dtype)) * decay
        return average.assign_sub(change, name="AssignMovingAvg", read_value=read_value)

    def _fused(self, inputs: Tensor, training: Any, layout: str) -> tuple[Tensor, Tensor, Tensor]:
        """Build outputs and statistics of images with one node."""
        shape = self.moving_mean.shape
        gamma = ops.ones(shape, self.dtype) if self.gamma is None else self.gamma
        beta = ops.zeros(shape, self.dtype) if self.beta is None else self.beta

        def with_statistics(mean: Any, variance: Any) -> tuple[Tensor, Tensor, Tensor]:
            return fused_batch_norm(
                inputs, gamma, beta, mean, variance, epsilon=self._epsilon, data_format=layout, is_training=mean is None
            )

        outputs, mean, variance = smart_cond(
            training,
            lambda: with_statistics(None, None),
            lambda: with_statistics(self.moving_mean, self.moving_variance),
        )
        return outputs, mean, variance

    def _composed(self, tensor: Tensor, training: Any) -> tuple[Tensor, Any, Any]:
        """Build outputs and statistics of inputs of any rank."""
        inputs = tensor
        if self._parts is not None:
            sizes = TensorShape(tensor.shape).as_list()[1:]
            rest: Any = sizes if None not in sizes else ops.unstack(ops.shape(tensor))[1:]
            inputs = ops.reshape(tensor, ops.stack([self._parts, -1, *rest]))
            inputs.set_shape([self._parts, None, *sizes])
        rank = len(inputs.shape)
        placed = self._placing(rank)
        scale, offset = placed(self.gamma), placed(self.beta)
        mean: Any = self.moving_mean
        variance: Any = self.moving_variance
        kept = mean, variance
        if known_flag(training) is not False:
            if self._adjustment is not None:
                factor, shift = self._adjustment(ops.shape(inputs))
                factor = _while(training, factor, ops.ones_like)
                shift = _while(training, shift, ops.zeros_like)
                scale, offset = _composition(factor, shift, scale, offset)
            axes = [axis for axis in range(rank) if axis not in self._axes]
            if self._parts is not None:
                del axes[1]
            mean, variance = smart_cond(
                training,
                lambda: self._moments(ops.cast(inputs, self.dtype), axes),
                lambda: (ops.identity(self.moving_mean), ops.identity(self.moving_variance)),
            )
            kept = mean, variance
            if self._parts is not None:
                kept = (ops.reduce_mean(mean, axis=1, keepdims=True), ops.reduce_mean(variance, axis=1, keepdims=True))
            if self._renorms:
                factor, shift, kept = self._renormed(kept[0], kept[1], training)
                factor = placed(ops.stop_gradient(factor, name="renorm_r"))
                shift = placed(ops.stop_gradient(shift, name="renorm_d"))
                scale, offset = _composition(factor, shift, scale, offset)
        outputs = batch_normalization(inputs, placed(mean), placed(variance), offset, scale, self._epsilon)
        outputs.set_shape(inputs.shape)
        if self._parts is not None:
            outputs = ops.reshape(outputs, ops.shape(tensor))
        return outputs, *kept

    def _placing(self, rank: int) -> Callable[[Any], Any]:
        """Return the function that gives a vector of channels the rank of inputs, where it must."""
        shape = [1] * rank
        shape[self._axes[0]] = self._sizes[0]

        def placed(vector: Any) -> Any:
            if vector is None or len(vector.shape) == rank or self._axes == [rank - 1]:
                return vector
            return ops.reshape(vector, shape)

        return placed

    def _moments(self, inputs: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the mean and the variance of a batch over some axes."""
        return moments(inputs, axes, keepdims=self._parts is not None or len(self._axes) > 1)

    def _renormed(self, mean: Any, variance: Any, training: Any) -> tuple[Any, Any, Any]:
        """Return the factor and the shift of renormalisation, and statistics that update its averages."""
        deviation = ops.sqrt(variance + self._epsilon)
        # In the first steps the average is near to 0.
        known = ops.maximum(self.renorm_stddev, math.sqrt(self._epsilon))
        factor, shift = deviation / known, (mean - self.renorm_mean) / known
        # The corrections read the averages before these are updated.
        with control_dependencies([factor, shift]):
            mean, deviation = ops.identity(mean), ops.identity(deviation)
        rmin, rmax, dmax = (self._bounds.get(name) for name in _BOUNDS)
        if rmin is not None:
            factor = ops.maximum(factor, rmin)
        if rmax is not None:
            factor = ops.minimum(factor, rmax)
        if dmax is not None:
            shift = ops.minimum(ops.maximum(shift, -dmax), dmax)
        factor = _while(training, factor, ops.ones_like)
        shift = _while(training, shift, ops.zeros_like)
        updates = [
            self._moved(average, value, self._renorm_momentum, training)
            for average, value in ((self.renorm_mean, mean), (self.renorm_stddev, deviation))
        ]
        with control_dependencies(updates):
            return factor, shift, (ops.identity(mean), ops.identity(variance))


_BOUNDS = ("rmin", "rmax", "dmax")
_OF_RENORM = ("moving_stddev", "renorm_mean", "renorm_stddev")


def axes_of(axis: int | Sequence[int]) -> list[int]:
    """Return an axis, or several of them, as a list."""
    listed = axis if isinstance(axis, (list, tuple)) else [axis]
    return [checked_count("axis", each, None) for each in listed]


def _while(training: Any, value: Any, otherwise: Callable[[Any], Any]) -> Any:
    """Return a value for training, and what a function makes of it for inference."""
    return smart_cond(training, lambda: value, lambda: otherwise(value))


def _composition(factor: Any, shift: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
    """Return what scales and moves as a factor and a shift do with a scale and an offset after them."""
    if scale is not None:
        factor, shift = factor * scale, shift * scale
    return factor, shift if offset is None else shift + offset


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
            epsilon,
            center,
            scale,
            (beta_initializer, gamma_initializer),
            (beta_regularizer, gamma_regularizer),
            (beta_constraint, gamma_constraint),
            **settings,
        )
        self._given_axes = axes_of(axis)

    def build(self, shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        rank = _rank_of(self, shape)
        self._axes = sorted({_positive(self, axis, rank) for axis in self._given_axes})
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
            None if weight is None else ops.reshape(weight, self._placed) for weight in (self.gamma, self.beta)
        ]
        outputs = batch_normalization(values, mean, variance, beta, gamma, self._epsilon)
        return ops.cast(outputs, inputs.dtype)
