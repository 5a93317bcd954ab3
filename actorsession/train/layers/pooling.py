"""Pooling: the maxima or averages of windows, or of all elements, over one to three spatial axes.

A class differs from its neighbours in its kind and its number of spatial axes only.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.ops.convolutions.pooling import pool
from actorsession.train.layers.kernels import check_rank, data_layout, padding_of, per_axis, spatial_axes
from actorsession.train.layers.layer import Layer, LayerSettings

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
]


class Pooling(Layer):
    """The common part of pooling over windows; ``MaxPooling2D`` describes the arguments."""

    _spatial: ClassVar[int]
    _kind: ClassVar[str]

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        *,
        data_format: str = "channels_last",
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(**settings)
        self._layout = data_layout(data_format, self._spatial)
        self._size = per_axis("pool_size", pool_size, self._spatial)
        self._strides = self._size
        if strides is not None:
            self._strides = per_axis("strides", strides, self._spatial)
        self._padding = padding_of(padding)

    def _check_inputs(self, inputs: Tensor) -> None:
        check_rank(self, inputs, len(self._layout), f"laid out as {self._layout}")

    def call(self, inputs: Tensor) -> Tensor:
        """Build the outputs."""
        size, steps, layout = list(self._size), list(self._strides), self._layout
        name = f"{'Max' if self._kind == 'MAX' else 'Avg'}Pool{'3D' if self._spatial == 3 else ''}"
        if self._spatial > 1:
            return pool(inputs, size, self._kind, self._padding, None, steps, name=name, data_format=layout)
        # Sequences are images of one row, with TensorFlow's names of nodes.
        row = spatial_axes(layout)[0]
        image = ops.expand_dims(inputs, row)
        pooled = pool(
            image,
            [1, *size],
            self._kind,
            self._padding,
            None,
            [1, *steps],
            name=name,
            data_format=layout.replace("W", "HW"),
        )
        return ops.squeeze(pooled, [row])


class MaxPooling1D(Pooling):
    """The maxima of windows of sequences; see ``MaxPooling2D``."""

    _spatial, _kind = 1, "MAX"


class MaxPooling2D(Pooling):
    """The maxima of windows of images ``[batch, height, width, channels]``.

    Args:
        pool_size: the size of the window: one number, or one for each spatial axis.
        strides: steps of the window, given in the same way; ``pool_size`` if left out.
        padding: ``"valid"``, or ``"same"`` for outputs with the sizes of the inputs divided by the strides.
        data_format: ``channels_last``, or ``channels_first`` for inputs with the channels as axis 1.
        settings: see ``Layer``.

    Raises:
        ValueError: for arguments out of range, or inputs of another rank.
    """

    _spatial, _kind = 2, "MAX"


class MaxPooling3D(Pooling):
    """The maxima of windows of volumes; see ``MaxPooling2D``."""

    _spatial, _kind = 3, "MAX"


class AveragePooling1D(Pooling):
    """The averages of windows of sequences; see ``MaxPooling2D``."""

    _spatial, _kind = 1, "AVG"


class AveragePooling2D(Pooling):
    """The averages of windows of images; see ``MaxPooling2D``."""

    _spatial, _kind = 2, "AVG"


class AveragePooling3D(Pooling):
    """The averages of windows of volumes; see ``MaxPooling2D``."""

    _spatial, _kind = 3, "AVG"


_REDUCTIONS = {"MAX": ops.reduce_max, "AVG": ops.reduce_mean}


class GlobalPooling(Layer):
    """The common part of pooling over all elements; ``GlobalMaxPooling2D`` describes the arguments."""

    _spatial: ClassVar[int]
    _kind: ClassVar[str]

    def __init__(
        self, *, data_format: str = "channels_last", keepdims: bool = False, **settings: Unpack[LayerSettings]
    ) -> None:
        super().__init__(**settings)
        self._layout, self._keepdims = data_layout(data_format, self._spatial), keepdims

    def _check_inputs(self, inputs: Tensor) -> None:
        check_rank(self, inputs, len(self._layout), f"laid out as {self._layout}")

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        axes = list(spatial_axes(self._layout))
        return _REDUCTIONS[self._kind](inputs, axes, keepdims=self._keepdims)


class GlobalMaxPooling1D(GlobalPooling):
    """The maximum of each channel of sequences; see ``GlobalMaxPooling2D``."""

    _spatial, _kind = 1, "MAX"


class GlobalMaxPooling2D(GlobalPooling):
    """The maximum of each channel of images; the spatial axes are gone in the outputs ``[batch, channels]``.

    Args:
        data_format: ``channels_last``, or ``channels_first`` for inputs with the channels as axis 1.
        keepdims: whether the spatial axes stay, with size 1.
        settings: see ``Layer``.

    Raises:
        ValueError: for another format, or inputs of another rank.
    """

    _spatial, _kind = 2, "MAX"


class GlobalMaxPooling3D(GlobalPooling):
    """The maximum of each channel of volumes; see ``GlobalMaxPooling2D``."""

    _spatial, _kind = 3, "MAX"


class GlobalAveragePooling1D(GlobalPooling):
    """The average of each channel of sequences; see ``GlobalMaxPooling2D``."""

    _spatial, _kind = 1, "AVG"


class GlobalAveragePooling2D(GlobalPooling):
    """The average of each channel of images; see ``GlobalMaxPooling2D``."""

    _spatial, _kind = 2, "AVG"


class GlobalAveragePooling3D(GlobalPooling):
    """The average of each channel of volumes; see ``GlobalMaxPooling2D``."""

    _spatial, _kind = 3, "AVG"
