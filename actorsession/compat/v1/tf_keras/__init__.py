"""``tf.keras``, whose names are those of the Keras that is installed; see ``found_keras``."""

from __future__ import annotations

from typing import Any

from actorsession.compat import found_keras

__version__ = "2.2.4-tf"
"""What TensorFlow 1.15's own says."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return found_keras.find(name)


def __dir__() -> list[str]:
    return [name for name in dir(found_keras.library()) if not name.startswith("_")]
