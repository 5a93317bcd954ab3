"""The classes of ``tf.layers``: those of the library behind TensorFlow's signatures."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any, ClassVar

from actorsession import ops
from actorsession.compat.v1.internals.layer_utils import normalize_data_format, normalize_padding, normalize_tuple
from actorsession.compat.v1.layers.arguments import CLASSES, signature_of
from actorsession.compat.v1.layers.base import InputSpec, Layer
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
_RENAMED = {f"pointwise_{what}": f"kernel_{what}" for what in ("initializer", "regularizer", "constraint")}
_OF_LAYERS = ("name", "trainable", "dtype")

# What layers without spatial axes take.
_SPECS: dict[str, dict[str, Any]] = {"Dense": {"min_ndim": 2}, "Flatten": {"min_ndim": 1}}


def _axes(axis: Any) -> Any:
    """Return the axes to normalise, which are an int or a list.

    Raises:
        TypeError: for anything else.
    """
    if not isinstance(axis, (int, list)):
        raise TypeError(f"axis must be int or list, type given: {type(axis)}")
    return axis


def _forms(spatial: int) -> dict[str, Any]:
    """Return how arguments are brought to one form, by their names, for a number of spatial axes."""
    sizes = {
        name: functools.partial(normalize_tuple, n=spatial, name=name)
        for name in ("kernel_size", "pool_size", "strides", "dilation_rate")
    }
    return {
        "units": int,
        "filters": int,
        "axis": _axes,
        "padding": normalize_padding,
        "data_format": normalize_data_format,
        **sizes,
    }


class _Known(Layer):
    """The common part of the classes: arguments as attributes, and the shapes of inputs and outputs."""

    _layer_kind: ClassVar[str]
    _arguments: dict[str, Any]

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        shape = TensorShape(input_shape)
        axes = self._weighed_axes(shape)
        super().build(shape)
        if self._layer_kind == "BatchNormalization":
            self.axis = list(getattr(self, "_axes"))  # noqa: B009
        if axes:
            spec = self.input_spec or InputSpec(ndim=shape.rank)
            self.input_spec = InputSpec(
                ndim=spec.ndim, min_ndim=spec.min_ndim, axes={axis: (shape.sizes or ())[axis] for axis in axes}
            )

    def _weighed_axes(self, shape: TensorShape) -> list[int]:
        """Return the axes of inputs whose sizes the weights depend on.

        Raises:
            ValueError: for a size that is not known.
            TypeError: for weights of a dtype that a dense layer does not have.
        """
        dtype = self.dtype or float32
        if self._layer_kind == "Dense" and not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        sizes = shape.sizes
        if self._layer_kind == "BatchNormalization":
            setting = self._arguments["axis"]
            axes = [setting] if isinstance(setting, int) else list(setting)
            return [axis % len(sizes) for axis in axes] if sizes else []
        if self._layer_kind != "Dense" and "Conv" not in self._layer_kind:
            return []
        axis = 1 if self._arguments.get("data_format", "").lower() == "channels_first" else -1
        if sizes is not None and sizes[axis] is None:
            what = "channel dimension of the inputs"
            if self._layer_kind == "Dense":
                what = "last dimension of the inputs to `Dense`"
            raise ValueError(f"The {what} should be defined. Found `None`.")
        return [axis]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the outputs for inputs of a shape."""
        with Graph().as_default():
            layer = type(self)(**self._arguments)
            inputs = ops.placeholder(self.dtype or float32, TensorShape(input_shape))
            return TensorShape(layer(inputs).shape)


def _class(kind: str) -> Any:
    """Return the class of ``tf.layers`` with a name, which is that of the library's class."""
    base: Any = getattr(ours, kind)
    signature = signature_of(CLASSES[kind], "self", rest="kwargs")
    dimensions = re.search("([123])D", kind)
    spatial = int(dimensions[1]) if dimensions else 0
    forms = _forms(spatial)
    spec: dict[str, Any] | None = {"ndim": spatial + 2} if spatial else _SPECS.get(kind)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        rest = arguments.pop("kwargs")
        del arguments["self"]
        self._arguments = {**arguments, **rest}
        of_layer = {name: arguments.pop(name) for name in (*_OF_LAYERS, "activity_regularizer") if name in arguments}
        settings = self._settings({**of_layer, **rest})
        if arguments.get("strides", 1) is None:
            arguments["strides"] = arguments["pool_size"]
        for name, form in forms.items():
            if name in arguments:
                arguments[name] = form(arguments[name])
        for name, value in arguments.items():
            setattr(self, name, value)
        if "fused" in arguments:
            # It is a wish here, and an order in the library.
            arguments["fused"] = False if arguments["fused"] is False else None
        base.__init__(self, **{_RENAMED.get(name, name): value for name, value in arguments.items()}, **settings)
        self.input_spec = InputSpec(**spec) if spec else None
        if spatial:
            self.rank = spatial
        _ = self.name  # Numbers the names in the order in which layers are made.

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    text = inspect.cleandoc(base.__doc__ or "").partition("\n")[0]
    body = {"__init__": __init__, "__doc__": text, "__module__": __name__, "_layer_kind": kind, "call": base.call}
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
