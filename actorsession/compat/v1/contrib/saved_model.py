"""``tf.contrib.saved_model``: models of Keras as saved models."""

from __future__ import annotations

import os
import time
from typing import Any

from actorsession.compat.found_keras import find

__all__ = ["get_signature_def_by_key", "load_keras_model", "save_keras_model"]


def save_keras_model(model: Any, saved_model_path: str, **kwargs: Any) -> str:
    """Write a model as a saved model in a new folder, whose name is a time, and return its path.

    Args:
        model: the model, made of layers.
        saved_model_path: where the folder is made.
        **kwargs: those of ``tf.keras.experimental.export_saved_model``.
    """
    moment = int(time.time())
    while os.path.exists(path := os.path.join(saved_model_path, str(moment))):
        moment += 1
    find("experimental.export_saved_model")(model, path, **kwargs)
    return path


def load_keras_model(saved_model_path: str) -> Any:
    """Return the model that ``save_keras_model`` has written."""
    return find("experimental.load_from_saved_model")(saved_model_path)


def get_signature_def_by_key(meta_graph_def: Any, signature_def_key: str) -> Any:
    """Return a signature of a meta graph.

    Args:
        meta_graph_def: the meta graph.
        signature_def_key: the signature's name.

    Raises:
        ValueError: if there is none of that name.
    """
    signatures = meta_graph_def.signature_def
    if signature_def_key not in signatures:
        raise ValueError(f"No SignatureDef with key {signature_def_key!r}; there are {', '.join(sorted(signatures))}")
    return signatures[signature_def_key]
