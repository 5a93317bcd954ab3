"""Initialisers that take the arguments of TensorFlow's: ``dtype`` and ``partition_info``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession.compat.v1 as _tf

__all__ = ["bridge"]

tf: Any = _tf

# Functions of Keras that are classes in TensorFlow, by the names that files of models have.
_CLASSES = {
    "GlorotNormal": "glorot_normal",
    "GlorotUniform": "glorot_uniform",
    "HeNormal": "he_normal",
    "HeUniform": "he_uniform",
    "LecunNormal": "lecun_normal",
    "LecunUniform": "lecun_uniform",
}


def bridge(keras: Any) -> None:
    """Have Keras' initialisers take what TensorFlow's do, and its layers TensorFlow's.

    Args:
        keras: the package.
    """
    module = keras.initializers
    module.Initializer.__init__ = _without_arguments
    for initializer in list(vars(module).values()):
        if isinstance(initializer, type) and issubclass(initializer, module.Initializer):
            if "__init__" in initializer.__dict__ and initializer is not module.Initializer:
                setattr(initializer, "__init__", _without_dtype(initializer.__dict__["__init__"]))  # noqa: B010
            if "__call__" in initializer.__dict__:
                setattr(initializer, "__call__", _with_dtype(initializer.__dict__["__call__"]))  # noqa: B010
    for name, function in _CLASSES.items():
        wrapped = _without_dtype(getattr(module, function))
        setattr(module, function, wrapped)
        setattr(module, name, wrapped)
    for name in dir(tf):
        if name.endswith("_initializer") and isinstance(getattr(tf, name), type):
            setattr(module, name, getattr(tf, name))
            setattr(module, getattr(tf, name).__name__, getattr(tf, name))
    module.get = _of_classes(module.get)
    scaling = module.VarianceScaling
    scaling.__init__ = _of_any_normal(scaling.__init__)
    scaling.__call__ = _untruncated(scaling.__call__)


def _without_arguments(self: Any, dtype: Any = None) -> None:
    """``__init__`` of initialisers that need nothing."""


def _without_dtype(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def run(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("dtype", None)
        return make(*(item for item in args if not isinstance(item, tf.DType)), **kwargs)

    return run


def _with_dtype(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def run(self: Any, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        sizes = tuple(tf.TensorShape(shape).as_list()) if isinstance(shape, tf.TensorShape) else shape
        kind = None if dtype is None else tf.as_dtype(dtype).name
        value = call(self, sizes, dtype=kind)
        return tf.constant(value, kind or "float32") if isinstance(value, np.ndarray) else value

    return run


def _of_classes(get: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(get)
    def run(identifier: Any) -> Any:
        initializer = get(identifier)
        return initializer() if inspect.isclass(initializer) else initializer

    return run


def _of_any_normal(init: Callable[..., Any]) -> Callable[..., Any]:
    """``VarianceScaling.__init__`` with TensorFlow's names: Keras' ``normal`` is the truncated one."""

    @functools.wraps(init)
    def run(
        self: Any,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "normal",
        seed: Any = None,
        **kwargs: Any,
    ) -> None:
        self._untruncated = distribution == "untruncated_normal"
        plain = distribution.removeprefix("un").removeprefix("truncated_")
        init(self, scale, mode, plain if plain == "normal" else distribution, seed, **kwargs)

    return run


def _untruncated(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def run(self: Any, shape: Any, *args: Any, **kwargs: Any) -> Any:
        value = call(self, shape, *args, **kwargs)
        if not self._untruncated:
            return value
        make = tf.variance_scaling_initializer(self.scale, self.mode, "untruncated_normal", self.seed)
        return make(shape, dtype=value.dtype)

    return run
