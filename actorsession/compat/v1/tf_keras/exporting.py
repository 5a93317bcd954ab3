"""``tf.keras.experimental``: models as saved models, which have the model itself, too."""

from __future__ import annotations

import os
from typing import Any

import actorsession.compat.v1 as _tf
from actorsession.compat.found_keras import library

__all__ = ["export_saved_model", "load_from_saved_model"]

tf: Any = _tf

_MODEL, _WEIGHTS = os.path.join("assets", "saved_model.json"), os.path.join("variables", "keras")


def export_saved_model(
    model: Any,
    saved_model_path: str,
    custom_objects: Any = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Write a model as a saved model, to serve and to load again.

    Args:
        model: the model, made of layers.
        saved_model_path: a folder that does not exist.
        custom_objects: changes nothing.
        as_text: not taken: the message is binary.
        input_signature: not taken: signatures are the model's inputs and outputs.
        serving_only: whether the model itself is left out.

    Raises:
        ValueError: for a model that is a class of a program, or arguments that are not taken.
    """
    if as_text or input_signature is not None:
        raise ValueError("export_saved_model: as_text and input_signature are not taken")
    if not model._is_graph_network:
        raise ValueError("export_saved_model takes models made of layers")
    session = library().backend.get_session()
    with session.graph.as_default():
        tf.saved_model.simple_save(
            session,
            saved_model_path,
            inputs=dict(zip(model.input_names, model.inputs, strict=True)),
            outputs=dict(zip(model.output_names, model.outputs, strict=True)),
        )
    if serving_only:
        return
    model.save_weights(os.path.join(saved_model_path, _WEIGHTS), save_format="tf")
    os.makedirs(os.path.join(saved_model_path, "assets"), exist_ok=True)
    with open(os.path.join(saved_model_path, _MODEL), "w", encoding="utf-8") as file:
        file.write(model.to_json())


def load_from_saved_model(saved_model_path: str, custom_objects: Any = None) -> Any:
    """Return the model that ``export_saved_model`` has written; it is not compiled.

    Args:
        saved_model_path: the folder.
        custom_objects: classes and functions by the names that the model has for them.

    Raises:
        OSError: if the folder has none.
    """
    with open(os.path.join(saved_model_path, _MODEL), encoding="utf-8") as file:
        model = library().models.model_from_json(file.read(), custom_objects=custom_objects)
    model.load_weights(os.path.join(saved_model_path, _WEIGHTS))
    return model
