"""Layers of TensorFlow 1.15 that the package does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorsession.compat.v1 as _tf
from actorsession.compat.v1.tf_keras.layer import Layer

__all__ = ["AdditiveAttention", "Attention", "DenseFeatures", "LayerNormalization"]

tf: Any = _tf


class DenseFeatures(Layer):
    """The values of feature columns, side by side.

    Args:
        feature_columns: the columns, which are dense.
        **kwargs: those of ``Layer``.
    """

    def __init__(self, feature_columns: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._columns = feature_columns

    def __call__(self, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Return the columns of features.

        Args:
            inputs: tensors by their names.
            *args: none.
            **kwargs: none.
        """
        with tf.variable_scope(self.name, reuse=tf.AUTO_REUSE):
            weights: list[Any] = []
            columns = tf.feature_column.input_layer(inputs, self._columns, cols_to_vars={})
            scope = tf.get_variable_scope().name
            weights += tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, f"{scope}/")
        self._trainable_weights = weights
        self.built = True
        return columns


class LayerNormalization(Layer):
    """Normalises each example over some axes.

    Args:
        axis: the axes.
        epsilon: what is added to the variance.
        center: whether there is a ``beta``, which is added.
        scale: whether there is a ``gamma``, by which it is multiplied.
        beta_initializer: the first value of ``beta``.
        gamma_initializer: the first value of ``gamma``.
        **kwargs: regularizers and constraints of both, and those of ``Layer``.
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        weights = {
            name: kwargs.pop(name, None)
            for name in ("beta_regularizer", "gamma_regularizer", "beta_constraint", "gamma_constraint")
        }
        super().__init__(**kwargs)
        self.axis, self.epsilon = axis, epsilon
        self.center, self.scale, self._weights_of = center, scale, weights
        self._first = {"beta": beta_initializer, "gamma": gamma_initializer}
        self.supports_masking = True

    def _axes(self, rank: int) -> list[int]:
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        return sorted(axis % rank for axis in axes)

    def build(self, input_shape: Any = None) -> None:
        """Make the weights."""
        sizes = input_shape.as_list()
        shape = [sizes[axis] for axis in self._axes(len(sizes))]
        for name, enabled in (("gamma", self.scale), ("beta", self.center)):
            if not enabled:
                setattr(self, name, None)
                continue
            weight = self.add_weight(
                name,
                shape,
                initializer=self._first[name],
                regularizer=self._weights_of[f"{name}_regularizer"],
                constraint=self._weights_of[f"{name}_constraint"],
            )
            setattr(self, name, weight)
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """Return the normalised values."""
        sizes = inputs.shape.as_list()
        axes = self._axes(len(sizes))
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        shape = [size if axis in axes else 1 for axis, size in enumerate(sizes)]

        def spread(weight: Any) -> Any:
            return None if weight is None else tf.reshape(weight, shape)

        return tf.nn.batch_normalization(inputs, mean, variance, spread(self.beta), spread(self.gamma), self.epsilon)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        own = {"axis": self.axis, "epsilon": self.epsilon, "center": self.center, "scale": self.scale}
        return {**super().get_config(), **own}


class _Attention(Layer):
    """Values in the proportions in which their keys match a query.

    Args:
        use_scale: whether there are weights for the scores.
        causal: whether a position sees none behind it.
        **kwargs: those of ``Layer``.
    """

    def __init__(self, use_scale: bool = False, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.causal, self.scale = use_scale, causal, None
        self.supports_masking = True

    def _scores(self, query: Any, key: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Return the sums of values.

        Args:
            inputs: query and value, and the key if it is not the value.
            mask: masks of query and value.
        """
        query, value, *rest = inputs
        scores = self._scores(query, rest[0] if rest else value)
        allowed = None
        if mask is not None and mask[1] is not None:
            allowed = tf.cast(mask[1], tf.bool)[:, None, :] & tf.ones_like(scores, tf.bool)
        if self.causal:
            lower = tf.matrix_band_part(tf.ones_like(scores), -1, 0) > 0
            allowed = lower if allowed is None else allowed & lower
        if allowed is not None:
            scores -= 1e9 * tf.cast(~allowed, scores.dtype)
        attended = tf.matmul(tf.nn.softmax(scores), value)
        if mask is not None and mask[0] is not None:
            attended *= tf.cast(mask[0], attended.dtype)[:, :, None]
        return attended

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the query."""
        return mask[0] if isinstance(mask, (list, tuple)) else None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {**super().get_config(), "use_scale": self.use_scale, "causal": self.causal}


class Attention(_Attention):
    """Attention whose scores are the products of queries and keys."""

    def build(self, input_shape: Any = None) -> None:
        """Make the weight."""
        if self.use_scale:
            self.scale = self.add_weight("scale", (), initializer="ones")
        super().build(input_shape)

    def _scores(self, query: Any, key: Any) -> Any:
        scores = tf.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


class AdditiveAttention(_Attention):
    """Attention whose scores are sums of hyperbolic tangents.

    Args:
        use_scale: whether there are weights for the scores.
        causal: whether a position sees none behind it.
        **kwargs: those of ``Layer``.
    """

    def __init__(self, use_scale: bool = True, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(use_scale, causal, **kwargs)

    def build(self, input_shape: Any = None) -> None:
        """Make the weights."""
        if self.use_scale:
            self.scale = self.add_weight("scale", input_shape[1].as_list()[-1:], initializer="glorot_uniform")
        super().build(input_shape)

    def _scores(self, query: Any, key: Any) -> Any:
        activations = tf.tanh(query[:, :, None, :] + key[:, None, :, :])
        return tf.reduce_sum(activations if self.scale is None else activations * self.scale, -1)
