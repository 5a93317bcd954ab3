"""The signatures of TensorFlow 1's layers, as tables from which classes and functions are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops

__all__ = ["CLASSES", "REQUIRED", "function_arguments", "signature_of"]

REQUIRED = inspect.Parameter.empty

_ENDS = {"activity_regularizer": None}


def _kernel(*kernels: str) -> dict[str, Any]:
    """Return the arguments of a layer with kernels of some names, from ``activation`` on."""
    weights = [*kernels, "bias"]
    initializers: dict[str, Any] = {f"{name}_initializer": None for name in kernels}
    return {
        "activation": None,
        "use_bias": True,
        **initializers,
        "bias_initializer": ops.zeros_initializer(),
        **{f"{name}_regularizer": None for name in weights},
        **_ENDS,
        **{f"{name}_constraint": None for name in weights},
        "trainable": True,
        "name": None,
    }


def _convolution(spatial: int, *, dilated: bool = True) -> dict[str, Any]:
    ones = 1 if spatial == 1 else (1,) * spatial
    arguments: dict[str, Any] = {
        "filters": REQUIRED,
        "kernel_size": REQUIRED,
        "strides": ones,
        "padding": "valid",
        "data_format": "channels_last",
    }
    return {**arguments, "dilation_rate": ones} if dilated else arguments


_POOLING = {
    "pool_size": REQUIRED,
    "strides": REQUIRED,
    "padding": "valid",
    "data_format": "channels_last",
    "name": None,
}
_SEPARABLE = {"depth_multiplier": 1, **_kernel("depthwise", "pointwise")}

CLASSES: Mapping[str, Mapping[str, Any]] = {
    "Dense": {"units": REQUIRED, **_kernel("kernel")},
    **{f"Conv{n}D": {**_convolution(n), **_kernel("kernel")} for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": {**_convolution(n, dilated=False), **_kernel("kernel")} for n in (2, 3)},
    **{f"SeparableConv{n}D": {**_convolution(n), **_SEPARABLE} for n in (1, 2)},
    **{f"{kind}Pooling{n}D": _POOLING for kind in ("Average", "Max") for n in (1, 2, 3)},
    "Flatten": {"data_format": "channels_last"},
    "Dropout": {"rate": 0.5, "noise_shape": None, "seed": None, "name": None},
    "BatchNormalization": {
        "axis": -1,
        "momentum": 0.99,
        "epsilon": 1e-3,
        "center": True,
        "scale": True,
        "beta_initializer": ops.zeros_initializer(),
        "gamma_initializer": ops.ones_initializer(),
        "moving_mean_initializer": ops.zeros_initializer(),
        "moving_variance_initializer": ops.ones_initializer(),
        "beta_regularizer": None,
        "gamma_regularizer": None,
        "beta_constraint": None,
        "gamma_constraint": None,
        "renorm": False,
        "renorm_clipping": None,
        "renorm_momentum": 0.99,
        "fused": None,
        "trainable": True,
        "virtual_batch_size": None,
        "adjustment": None,
        "name": None,
    },
}
"""The arguments of each class and their defaults, in their order."""


def function_arguments(kind: str) -> dict[str, Any]:
    """Return the arguments of the function that makes a layer of a class, in their order."""
    of_class = dict(CLASSES[kind])
    if kind == "Flatten":
        return {"inputs": REQUIRED, "name": None, **of_class}
    if kind == "Dropout":
        del of_class["name"]
        return {"inputs": REQUIRED, **of_class, "training": False, "name": None}
    if kind == "BatchNormalization":
        ends = ("renorm", "renorm_clipping", "renorm_momentum", "fused", "virtual_batch_size")
        last = {name: of_class.pop(name) for name in (*ends, "adjustment")}
        shared = {name: of_class.pop(name) for name in ("trainable", "name")}
        return {"inputs": REQUIRED, **of_class, "training": False, **shared, "reuse": None, **last}
    return {"inputs": REQUIRED, **of_class, **({} if "Pooling" in kind else {"reuse": None})}


def signature_of(arguments: Mapping[str, Any], *first: str, rest: str = "") -> inspect.Signature:
    """Return a signature.

    Args:
        arguments: the arguments and their defaults.
        first: names that stand before them.
        rest: the name under which further keywords are taken; none are if it is empty.
    """
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, plain) for name in first]
    parameters += [inspect.Parameter(name, plain, default=default) for name, default in arguments.items()]
    if rest:
        parameters.append(inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def named(function: Callable[..., Any], name: str, module: str, text: str) -> None:
    """Give a function that was made from a table its name and its docstring."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, text
