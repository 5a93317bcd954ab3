"""The functions of ``tf.layers``: each makes a layer and calls it.

A ``name`` is that of the variable scope as it stands: a second call with it is an error, unless ``reuse`` or
the scope around it allows sharing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.compat.v1.layers import classes
from actorsession.compat.v1.layers.arguments import function_arguments, named, signature_of
from actorsession.train.layers.names import snake_case

__all__ = [
    "average_pooling1d", "average_pooling2d", "average_pooling3d", "batch_normalization", "conv1d",
    "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "dense", "dropout", "flatten",
    "max_pooling1d", "max_pooling2d", "max_pooling3d", "separable_conv1d", "separable_conv2d",
]  # fmt: skip


def _function(kind: str) -> Callable[..., Any]:
    """Return the function that makes a layer of a class and calls it."""
    layer_class: Any = getattr(classes, kind)
    signature = signature_of(function_arguments(kind))

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        inputs, reuse = arguments.pop("inputs"), arguments.pop("reuse", None)
        told = {"training": arguments.pop("training")} if "training" in arguments else {}
        return layer_class(**arguments, _reuse=reuse)(inputs, scope=arguments["name"], **told)

    call.__signature__ = signature  # type: ignore[attr-defined]
    name = snake_case(kind).replace("_d", "d").replace("1_d", "1d")
    named(call, name, __name__, f"Make a layer and call it with ``inputs``; see ``{kind}``.")
    return call


average_pooling1d = _function("AveragePooling1D")
average_pooling2d = _function("AveragePooling2D")
average_pooling3d = _function("AveragePooling3D")
batch_normalization = _function("BatchNormalization")
conv1d = _function("Conv1D")
conv2d = _function("Conv2D")
conv2d_transpose = _function("Conv2DTranspose")
conv3d = _function("Conv3D")
conv3d_transpose = _function("Conv3DTranspose")
dense = _function("Dense")
dropout = _function("Dropout")
flatten = _function("Flatten")
max_pooling1d = _function("MaxPooling1D")
max_pooling2d = _function("MaxPooling2D")
max_pooling3d = _function("MaxPooling3D")
separable_conv1d = _function("SeparableConv1D")
separable_conv2d = _function("SeparableConv2D")
