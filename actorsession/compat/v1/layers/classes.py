"""The classes of ``tf.layers``: those of the library behind TensorFlow's signatures."""

from __future__ import annotations

import inspect
from typing import Any

from actorsession import ops
from actorsession.compat.v1.layers.arguments import CLASSES, signature_of
from actorsession.compat.v1.layers.base import Layer
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import Graph
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import layers as ours

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D",
    "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D",
]  # fmt: skip

# What the library calls otherwise: there the second kernel of a separable convolution is the kernel.
_RENAMED = {
    f"pointwise_{what}": f"kernel_{what}" for what in ("initializer", "regularizer", "constraint")
}
_OF_LAYERS = ("name", "trainable", "dtype")


def _axes(axis: Any) -> Any:
    """Return the axes to normalise, which are an int or a list.

    Raises:
        TypeError: for anything else.
    """
    if not isinstance(axis, (int, list)):
        raise TypeError(f"axis must be int or list, type given: {type(axis)}")
    return axis


# What TensorFlow takes in more forms: whole numbers, and ``fused`` as a wish.
_CONVERTED: dict[str, Any] = {
    "units": int, "filters": int, "axis": _axes, "fused": lambda fused: False if fused is False else None,
}  # fmt: skip


class _Known(Layer):
    """The common part of the classes: arguments as attributes, and the shape of outputs."""

    _arguments: dict[str, Any]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the outputs for inputs of a shape."""
        with Graph().as_default():
            made = type(self)(**self._arguments)
            inputs = ops.placeholder(self.dtype or float32, TensorShape(input_shape))
            return TensorShape(made(inputs).shape)


def _class(kind: str) -> Any:
    """Return the class of ``tf.layers`` with a name, which is that of the library's class."""
    base: Any = getattr(ours, kind)
    signature = signature_of(CLASSES[kind], "self", rest="kwargs")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        rest = given.pop("kwargs")
        del given["self"]
        self._arguments = {**given, **rest}
        for name, value in given.items():
            if name not in _OF_LAYERS:
                setattr(self, name, value)
        of_layer = {
            name: given.pop(name) for name in (*_OF_LAYERS, "activity_regularizer") if name in given
        }
        settings = self._settings({**of_layer, **rest})
        for name, convert in _CONVERTED.items():
            if name in given:
                given[name] = convert(given[name])
        base.__init__(
            self, **{_RENAMED.get(name, name): value for name, value in given.items()}, **settings
        )
        _ = self.name  # Numbers the names in the order in which layers are made.

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    text = inspect.cleandoc(base.__doc__ or "").partition("\n")[0]
    body = {"__init__": __init__, "__doc__": text, "__module__": __name__}
    return type(kind, (_Known, base), body)


Dense = _class("Dense")
Conv1D = _class("Conv1D")
Conv2D = _class("Conv2D")
Conv3D = _class("Conv3D")
Conv2DTranspose = _class("Conv2DTranspose")
Conv3DTranspose = _class("Conv3DTranspose")
SeparableConv1D = _class("SeparableConv1D")
SeparableConv2D = _class("SeparableConv2D")
AveragePooling1D = _class("AveragePooling1D")
AveragePooling2D = _class("AveragePooling2D")
AveragePooling3D = _class("AveragePooling3D")
MaxPooling1D = _class("MaxPooling1D")
MaxPooling2D = _class("MaxPooling2D")
MaxPooling3D = _class("MaxPooling3D")
Flatten = _class("Flatten")
Dropout = _class("Dropout")
BatchNormalization = _class("BatchNormalization")
