"""What layers with a kernel and a bias have in common: ``KernelLayer``, and the layouts of spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.neural.biases import bias_add
from actorsession.train.layers.arguments import checked_count
from actorsession.train.layers.layer import Layer, LayerSettings, Regularizer, weight_arguments
from actorsession.train.layers.names import activation_of

__all__ = [
    "KernelLayer",
    "KernelSettings",
    "check_rank",
    "data_layout",
    "padding_of",
    "per_axis",
    "spatial_axes",
    "tensor_size",
]


class KernelSettings(LayerSettings, total=False):
    """The arguments of layers with a kernel and a bias; see ``KernelLayer``."""

    activation: Callable[..., Any] | str | None
    use_bias: bool
    kernel_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Regularizer | None
    bias_regularizer: Regularizer | None
    kernel_constraint: Callable[..., Any] | None
    bias_constraint: Callable[..., Any] | None


class KernelLayer(Layer):
    """A layer that multiplies its inputs with a kernel, adds a bias and applies an activation.

    Args:
        activation: a function of the outputs, or the name of one; none if left out.
        use_bias: whether a bias is added.
        kernel_initializer: the initialiser of the kernel, or the name of one; that of the variable scope if
            left out, else ``glorot_uniform_initializer``.
        bias_initializer: the initialiser of the bias; zeros if left out.
        kernel_regularizer: a function of the kernel that returns a loss, which joins
            ``GraphKeys.REGULARIZATION_LOSSES``.
        bias_regularizer: the same of the bias.
        kernel_constraint: a function that optimisers apply to the updated kernel.
        bias_constraint: the same of the bias.
        settings: see ``Layer``.

    Raises:
        ValueError: for an unknown name.
        TypeError: for an activation or initialiser that is no function.
    """

    def __init__(
        self,
        *,
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = "zeros",
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        kernel_constraint: Callable[..., Any] | None = None,
        bias_constraint: Callable[..., Any] | None = None,
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(**settings)
        self._activation = None if activation is None else activation_of(activation)
        self._use_bias = use_bias
        self._of_kernel = weight_arguments(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._of_bias = weight_arguments(
            "zeros" if bias_initializer is None else bias_initializer, bias_regularizer, bias_constraint
        )

    def _add_kernel(self, shape: Sequence[int], columns: int, name: str = "kernel") -> Any:
        """Create the kernel, and a bias of ``columns`` numbers if there is one."""
        if not (self.dtype.is_floating or self.dtype.is_complex):
            raise TypeError(
                f"{type(self).__name__} {self.name!r} takes inputs of a floating or complex dtype, got "
                f"{self.dtype.name}"
            )
        kernel = self.add_weight(name, shape, **self._of_kernel)
        self.bias = self.add_weight("bias", [columns], **self._of_bias) if self._use_bias else None
        return kernel

    def _activated(self, outputs: Tensor, layout: str | None = None) -> Any:
        """Return outputs with the bias added and the activation applied."""
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, data_format=layout)
        return outputs if self._activation is None else self._activation(outputs)


# -- spatial axes --------------------------------------------------------------------------------

_LAYOUTS = {"channels_last": ("NWC", "NHWC", "NDHWC"), "channels_first": ("NCW", "NCHW", "NCDHW")}


def data_layout(data_format: str, spatial: int) -> str:
    """Return the layout of inputs with some spatial axes, such as ``NHWC``.

    Args:
        data_format: ``channels_last`` or ``channels_first``.
        spatial: the number of spatial axes, 1 to 3.

    Raises:
        ValueError: for another format.
    """
    if data_format not in _LAYOUTS:
        raise ValueError(f"data_format is channels_last or channels_first, got {data_format!r}")
    return _LAYOUTS[data_format][spatial - 1]


def spatial_axes(layout: str) -> range:
    """Return the spatial axes of a layout."""
    return range(2, len(layout)) if layout.startswith("NC") else range(1, len(layout) - 1)


def padding_of(padding: str) -> str:
    """Return ``VALID`` or ``SAME`` for either, in letters of any case.

    Raises:
        ValueError: for anything else.
    """
    if str(padding).upper() not in ("VALID", "SAME"):
        raise ValueError(f"padding is valid or same, got {padding!r}")
    return padding.upper()


def per_axis(what: str, numbers: Any, spatial: int) -> tuple[int, ...]:
    """Return a positive number for each spatial axis.

    Args:
        what: the name of the argument, for the message.
        numbers: one number, or one for each axis.
        spatial: the number of axes.

    Raises:
        ValueError: for another number of numbers, or one below 1.
    """
    listed = tuple(numbers) if isinstance(numbers, (list, tuple)) else (numbers,) * spatial
    try:
        counts = tuple(checked_count(what, number) for number in listed)
    except (TypeError, ValueError):
        counts = ()
    if len(counts) != spatial:
        raise ValueError(f"{what} is a positive int or a tuple of {spatial} of them, got {numbers!r}")
    return counts


def check_rank(layer: Layer, inputs: Tensor, rank: int, axes: str) -> None:
    """Refuse inputs of another rank.

    Args:
        layer: the layer, for the message.
        inputs: the inputs.
        rank: the expected rank.
        axes: a description of the axes, for the message.

    Raises:
        ValueError: for another rank; an unknown one is accepted.
    """
    if TensorShape(inputs.shape).rank not in (None, rank):
        raise ValueError(
            f"{type(layer).__name__} {layer.name!r} takes inputs of rank {rank}, {axes}; got shape {inputs.shape}"
        )


def tensor_size(inputs: Tensor, axis: int) -> Any:
    """Return the size of an axis: a number if it is known, else a scalar tensor."""
    sizes = TensorShape(inputs.shape).sizes
    known = None if sizes is None else sizes[axis]
    return ops.shape(inputs)[axis] if known is None else known
