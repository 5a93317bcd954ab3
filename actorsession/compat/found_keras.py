"""``tf.keras``: the Keras that is installed, and what TensorFlow's own has beyond it.

Keras itself is the package of that name, whose engine for TensorFlow 1 is a program over ``tf``. Its modules
are themselves here: ``tf.keras.layers.Dense`` is ``keras.layers.Dense``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import sys
from types import ModuleType
from typing import Any

__all__ = ["find", "library", "missing_because", "reach"]

_FACE = "actorsession.compat.v1.tf_keras"

# What these names are in the package of ``tf.keras``; all others are Keras' own.
_OURS = {
    "layers.Layer": ("layer", "Layer"),
    "engine.base_layer.Layer": ("layer", "Layer"),
    "engine.Layer": ("layer", "Layer"),
    "engine.input_spec": ("layer", ""),
    "estimator": ("estimating", ""),
    "experimental": ("exporting", ""),
    **{
        f"layers.{name}": ("more_layers", name)
        for name in ("AdditiveAttention", "Attention", "DenseFeatures", "LayerNormalization")
    },
    "utils.tf_utils": ("utils_parts", ""),
}
# What Keras 2.3 imports of TensorFlow's Keras, while it is being imported itself.
_INSIDE = {"backend": "backend_parts", "utils": "utils_parts"}
# Packages of TensorFlow's around Keras, which have the same names.
_AROUND = ("_impl", "api", "keras", "python")


def missing_because() -> str | None:
    """Return why there is no Keras; ``None`` if there is one that runs here."""
    try:
        version = importlib.metadata.version("keras")
    except importlib.metadata.PackageNotFoundError:
        return "Keras is a library of its own: pip install 'actorsession[keras]'"
    if version.startswith(("2.2.", "2.3.")):
        return None
    return f"Keras {version} does not run here, Keras 2.2 and 2.3 do: pip install 'actorsession[keras]'"


@functools.cache
def library() -> ModuleType:
    """Return Keras, with TensorFlow's differences bridged and the alias installed, which it imports."""
    from actorsession.compat.alias import install_alias

    install_alias()
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    # A program that has imported the package itself expects its names of metrics.
    as_tensorflow = "keras" not in sys.modules
    keras = importlib.import_module("keras")
    importlib.import_module(f"{_FACE}.bridges").bridge(keras, as_tensorflow)
    return keras


def reach(path: str) -> str | None:
    """Return the part of a name within Keras; ``None`` if the name is not Keras'.

    Args:
        path: a dotted name without ``tensorflow`` in front, such as ``python.keras.layers``.
    """
    for front in ("keras", "python.keras", "contrib.keras"):
        if f"{path}.".startswith(f"{front}."):
            parts = path[len(front) + 1 :].split(".")
            while parts and parts[0] in _AROUND:
                parts = parts[1:]
            return ".".join(parts)
    return None


def find(path: str) -> Any:
    """Return what a name within Keras stands for.

    Args:
        path: a dotted name within Keras, or "" for Keras.

    Raises:
        AttributeError: if Keras has no such name.
    """
    if not path:
        return importlib.import_module(_FACE)
    if path in _OURS:
        file, name = _OURS[path]
        module = importlib.import_module(f"{_FACE}.{file}")
        return getattr(module, name) if name else module
    front, _, last = path.rpartition(".")
    if _OURS.get(front, ("", "?"))[1] == "":
        return getattr(find(front), last)
    if path in _INSIDE and _is_loading():
        return importlib.import_module(f"{_FACE}.{_INSIDE[path]}")
    value: Any = library()
    parts = path.split(".")
    for part in parts:
        if isinstance(value, ModuleType) and not hasattr(value, part):
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
                continue
            except ModuleNotFoundError:
                version = importlib.metadata.version("keras")
                raise AttributeError(f"Keras {version} has no {path}{_newer(version)}") from None
        value = getattr(value, part)
    inside = [name for name in _OURS if name.startswith(f"{path}.")]
    return _with_ours(path, value) if inside and isinstance(value, ModuleType) else value


def _newer(version: str) -> str:
    """What to do about a name that is missing, for Keras before the last version that runs here."""
    return "; version 2.3.1 has more: pip install keras==2.3.1" if version < "2.3" else ""


def _is_loading() -> bool:
    """Whether it is Keras that asks, whose own backend is not there yet."""
    keras = sys.modules.get("keras")
    return keras is not None and not hasattr(keras, "backend")


class _WithOurs(ModuleType):
    """A module of Keras some of whose names are ours."""

    def __init__(self, path: str, theirs: ModuleType) -> None:
        super().__init__(f"{_FACE}.{path}", theirs.__doc__)
        self.__path__: list[str] = []
        self._inside, self._theirs = path, theirs

    def __getattr__(self, name: str) -> Any:
        if f"{self._inside}.{name}" in _OURS:
            return find(f"{self._inside}.{name}")
        return getattr(self._theirs, name)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._theirs) if not name.startswith("__")]


@functools.cache
def _with_ours(path: str, theirs: ModuleType) -> ModuleType:
    return _WithOurs(path, theirs)
