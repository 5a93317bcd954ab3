"""What TensorFlow 1.15's Keras has beyond the package, given to the package's classes."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from actorsession.compat.v1.tf_keras import (
    calling,
    checkpointing,
    fitting,
    initial_values,
    operation_layers,
    optimizing,
    saving,
)

__all__ = ["bridge"]

# Defaults that are others than those of Keras 2.3 where a program does not import the package itself.
_DEFAULTS = {
    f"layers.{name}": {"recurrent_activation": "hard_sigmoid"} for name in ("GRU", "GRUCell", "LSTM", "LSTMCell")
}
# Names of TensorFlow's that have another place in Keras.
_PLACES = {
    "layers.Wrapper": "layers.wrappers.Wrapper",
    "layers.convolutional.Conv": "layers.convolutional._Conv",
    "losses.Reduction": "utils.losses_utils.Reduction",
    "utils.SequenceEnqueuer": "utils.data_utils.SequenceEnqueuer",
}


def bridge(keras: Any, as_tensorflow: bool) -> None:
    """Give the classes of Keras what TensorFlow's have beyond them.

    Args:
        keras: the package.
        as_tensorflow: whether the program has no Keras but TensorFlow's, whose names and clipping it expects.
    """
    initial_values.bridge(keras)
    optimizing.bridge(keras, as_tensorflow)
    calling.bridge(keras)
    operation_layers.bridge(keras)
    fitting.bridge(keras, as_tensorflow)
    checkpointing.bridge(keras)
    saving.bridge(keras)
    if keras.__version__ < "2.3":
        for module in (keras.losses, keras.metrics):
            module.__getattr__ = functools.partial(_newer, module)
    for path, defaults in _DEFAULTS.items() if as_tensorflow else ():
        value = _attribute(keras, path)
        value.__init__ = _with_defaults(value.__init__, defaults)
    for path, place in _PLACES.items():
        module, _, name = path.rpartition(".")
        value = _attribute(keras, place)
        if value is not None and not hasattr(_attribute(keras, module), name):
            setattr(_attribute(keras, module), name, value)


def _with_defaults(init: Callable[..., Any], defaults: dict[str, Any]) -> Callable[..., Any]:
    signature = inspect.signature(init)

    @functools.wraps(init)
    def run(*args: Any, **kwargs: Any) -> None:
        arguments = signature.bind_partial(*args).arguments
        init(*args, **{**{k: v for k, v in defaults.items() if k not in arguments}, **kwargs})

    return run


def _newer(module: Any, name: str) -> Any:
    """Say of a class of losses or metrics that it came with the next version."""
    said = f"module {module.__name__!r} has no attribute {name!r}"
    if name[:1].isupper():
        said += ": classes of losses and metrics came with Keras 2.3: pip install keras==2.3.1"
    raise AttributeError(said, name=name)


def _attribute(keras: Any, path: str) -> Any:
    """Return what a dotted name in Keras is; ``None`` if this version has none."""
    for part in path.split("."):
        if isinstance(keras, ModuleType) and not hasattr(keras, part):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{keras.__name__}.{part}")
        keras = getattr(keras, part, None)
    return keras
