"""Convolutions over one to three spatial axes, their transposes, and separable ones.

Kernels are laid out as TensorFlow's: ``[*sizes, channels, filters]``, and ``[*sizes, filters, channels]`` for
transposed convolutions. A class differs from its neighbours in its number of spatial axes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.ops.convolutions.depthwise import separable_conv2d
from actorsession.ops.convolutions.operations import convolution
from actorsession.ops.convolutions.transposed import conv_transpose
from actorsession.train.layers.arguments import checked_count
from actorsession.train.layers.kernels import (
    KernelLayer,
    KernelSettings,
    check_rank,
    data_layout,
    padding_of,
    per_axis,
    spatial_axes,
    tensor_size,
)
from actorsession.train.layers.layer import Regularizer, known_sizes, weight_arguments

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "SeparableConv1D",
    "SeparableConv2D",
]


class Convolution(KernelLayer):
    """The common part of convolutions; ``Conv2D`` describes the arguments."""

    _spatial = 0

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        *,
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        **settings: Unpack[KernelSettings],
    ) -> None:
        super().__init__(**settings)
        self.filters, self._padding = checked_count("filters", filters), padding_of(padding)
        self._layout = data_layout(data_format, self._spatial)
        self._size = per_axis("kernel_size", kernel_size, self._spatial)
        self._strides = per_axis("strides", strides, self._spatial)
        self._dilations = per_axis("dilation_rate", dilation_rate, self._spatial)

    def _check_inputs(self, inputs: Tensor) -> None:
        check_rank(self, inputs, len(self._layout), f"laid out as {self._layout}")

    def _channels(self, shape: Any) -> int:
        """Return the number of channels of inputs of a shape."""
        (channels,) = known_sizes(self, shape, [self._layout.index("C")])
        return channels

    def build(self, shape: Any) -> None:
        """Create the kernel and the bias for inputs of a shape."""
        kernel = [*self._size, self._channels(shape), self.filters]
        self.kernel = self._add_kernel(kernel, self.filters)

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        name = "conv1d" if self._spatial == 1 else f"Conv{self._spatial}D"
        convolved = convolution(
            inputs, self.kernel, self._padding, self._strides, self._dilations, name=name, data_format=self._layout
        )
        return self._activated(convolved, self._layout)


class Conv1D(Convolution):
    """A convolution over sequences ``[batch, width, channels]``; see ``Conv2D``."""

    _spatial = 1


class Conv2D(Convolution):
    """A convolution over images ``[batch, height, width, channels]``.

    The weights are ``kernel [*kernel_size, channels, filters]`` and ``bias [filters]``.

    Args:
        filters: the number of channels of the outputs.
        kernel_size: the size of the kernel: one number, or one for each spatial axis.
        strides: steps of the window, given in the same way.
        padding: ``"valid"``, or ``"same"`` for outputs with the sizes of the inputs divided by the strides.
        data_format: ``channels_last``, or ``channels_first`` for channels in axis 1.
        dilation_rate: steps between the elements of a window, given as ``strides`` are.
        settings: see ``KernelLayer``.

    Raises:
        ValueError: for arguments out of range; in the first call for inputs of another rank, or with an
            unknown number of channels.
        TypeError: in the first call for inputs of a dtype that is neither floating nor complex.
    """

    _spatial = 2


class Conv3D(Convolution):
    """A convolution over volumes ``[batch, depth, height, width, channels]``; see ``Conv2D``."""

    _spatial = 3


class Transposed(Convolution):
    """A transposed convolution, whose outputs are larger than its inputs by the factors ``strides``.

    The arguments are those of ``Conv2D``. With padding ``"same"`` the outputs have ``size * stride``
    elements on each spatial axis, with ``"valid"`` ``size * stride + max(kernel - stride, 0)``, where the
    kernel counts its gaps.
    """

    def build(self, shape: Any) -> None:
        """Create the kernel and the bias for inputs of a shape."""
        kernel = [*self._size, self.filters, self._channels(shape)]
        self.kernel = self._add_kernel(kernel, self.filters)

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        sizes = [tensor_size(inputs, axis) for axis in range(len(self._layout))]
        sizes[self._layout.index("C")] = self.filters
        steps = zip(spatial_axes(self._layout), self._size, self._strides, self._dilations, strict=True)
        for axis, size, stride, apart in steps:
            extra = max((size - 1) * apart + 1 - stride, 0) if self._padding == "VALID" else 0
            sizes[axis] = sizes[axis] * stride + extra
        convolved = conv_transpose(
            inputs,
            self.kernel,
            sizes,
            self._strides,
            self._padding,
            self._layout,
            self._dilations,
            name=f"conv{self._spatial}d_transpose",
        )
        return self._activated(convolved, self._layout)


class Conv1DTranspose(Transposed):
    """A transposed convolution over sequences; see ``Conv2D`` for the arguments."""

    _spatial = 1


class Conv2DTranspose(Transposed):
    """A transposed convolution over images; see ``Conv2D`` for the arguments."""

    _spatial = 2


class Conv3DTranspose(Transposed):
    """A transposed convolution over volumes; see ``Conv2D`` for the arguments."""

    _spatial = 3


class Separable(Convolution):
    """The common part of separable convolutions; ``SeparableConv2D`` describes the arguments."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        *,
        depth_multiplier: int = 1,
        depthwise_initializer: Any = None,
        depthwise_regularizer: Regularizer | None = None,
        depthwise_constraint: Callable[..., Any] | None = None,
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        **settings: Unpack[KernelSettings],
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format=data_format, dilation_rate=dilation_rate, **settings
        )
        (self._multiplier,) = per_axis("depth_multiplier", depth_multiplier, 1)
        self._of_depthwise = weight_arguments(depthwise_initializer, depthwise_regularizer, depthwise_constraint)

    def build(self, shape: Any) -> None:
        """Create both kernels and the bias for inputs of a shape."""
        channels = self._channels(shape)
        first = [*self._size, channels, self._multiplier]
        self.depthwise_kernel = self.add_weight("depthwise_kernel", first, **self._of_depthwise)
        mixed = [1] * self._spatial + [channels * self._multiplier, self.filters]
        self.pointwise_kernel = self._add_kernel(mixed, self.filters, "pointwise_kernel")

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        first, second = self.depthwise_kernel, self.pointwise_kernel
        # Sequences are images of one row. The strides of images are equal, so the row has the same one.
        row = spatial_axes(self._layout)[0] if self._spatial == 1 else None
        layout, steps, dilations = self._layout, [1] * 4, [1] * (2 - self._spatial)
        if row is not None:
            inputs = ops.expand_dims(inputs, row)
            first, second = ops.expand_dims(first, 0), ops.expand_dims(second, 0)
            layout = layout.replace("W", "HW")
        for axis, stride in zip(spatial_axes(layout), self._strides * 2, strict=False):
            steps[axis] = stride
        convolved = separable_conv2d(
            inputs, first, second, steps, self._padding, [*dilations, *self._dilations], data_format=layout
        )
        return self._activated(convolved if row is None else ops.squeeze(convolved, [row]), self._layout)


class SeparableConv1D(Separable):
    """A separable convolution of sequences; see ``SeparableConv2D``.

    The weights are ``depthwise_kernel [width, channels, depth_multiplier]``,
    ``pointwise_kernel [1, channels * depth_multiplier, filters]`` and ``bias [filters]``.
    """

    _spatial = 1


class SeparableConv2D(Separable):
    """A convolution of each channel of images on its own, and then one that mixes the channels of each pixel.

    The weights are ``depthwise_kernel [height, width, channels, depth_multiplier]``,
    ``pointwise_kernel [1, 1, channels * depth_multiplier, filters]`` and ``bias [filters]``.

    Args:
        filters: the number of channels of the outputs.
        kernel_size: see ``Conv2D``.
        strides: one number, or two equal ones; see ``Conv2D``.
        padding: see ``Conv2D``.
        depth_multiplier: the number of outputs of each channel before they are mixed.
        depthwise_initializer: the initialiser of the first kernel.
        depthwise_regularizer: the regulariser of the first kernel.
        depthwise_constraint: a function that optimisers apply to the updated first kernel.
        data_format: see ``Conv2D``.
        dilation_rate: see ``Conv2D``.
        settings: see ``KernelLayer``; arguments of the kernel are those of the second one.

    Raises:
        ValueError: as for ``Conv2D``.
        TypeError: as for ``Conv2D``.
    """

    _spatial = 2
