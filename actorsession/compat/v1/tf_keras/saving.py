"""Whole models as folders: what ``save_format="tf"`` writes and ``load_model`` reads, as in TensorFlow 1.15.

A folder is a saved model with one signature and a checkpoint of objects. The saved model describes the
objects as well, each layer with its arguments as JSON, from which a model made of layers is built again. Of
any other model the graph is all that there is: it becomes one layer, in front of which are the inputs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import actorsession.compat.v1 as _tf
from actorsession.compat.found_keras import library
from actorsession.compat.v1.saved_model.builder import SavedModelBuilder
from actorsession.compat.v1.tf_keras.checkpointing import held, restored
from actorsession.compat.v1.train.checkpoints.checkpoint import values_of
from actorsession.compat.v1.train.checkpoints.objects import Tracked, tracked
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.interop.saved_models import read_saved_model
from actorsession.interop.tabled import message_class

__all__ = ["bridge", "load", "save"]

tf: Any = _tf

_VARIABLES = os.path.join("variables", "variables")
# Where TensorFlow 2.5 and later keep the descriptions.
_METADATA = "keras_metadata.pb"
_WRITTEN = ("assets", "saved_model.pb", "variables")
_IDENTIFIERS = {"InputLayer": "_tf_keras_input_layer", "Sequential": "_tf_keras_sequential"}


def bridge(keras: Any) -> None:
    """Have models save to folders and load from them, and configurations of TensorFlow's layers be read.

    Args:
        keras: the package.
    """
    keras.layers.deserialize = _of_known_arguments(keras.layers.deserialize, keras)
    for module in (keras.models, keras.engine.saving):
        module.save_model = _to_folders(module.save_model)
        module.load_model = _from_folders(module.load_model)

    def save_to(self: Any, *args: Any, **kwargs: Any) -> Any:
        return keras.models.save_model(self, *args, **kwargs)

    keras.engine.network.Network.save = keras.engine.training.Model.save = save_to


def _to_folders(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def save_model(
        model: Any,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> Any:
        if save_format not in (None, "h5", "tf"):
            raise ValueError(f"save_format is 'tf' or 'h5', got {save_format!r}")
        if save_format == "tf":
            return save(model, filepath, overwrite, include_optimizer, signatures)
        return own(model, filepath, overwrite, include_optimizer)

    return save_model


def _from_folders(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
        if isinstance(filepath, (str, bytes, os.PathLike)) and os.path.isdir(filepath):
            return load(filepath, custom_objects, compile)
        return own(filepath, custom_objects, compile)

    return load_model


# -- saving --------------------------------------------------------------------------------------


def save(
    model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True, signatures: Any = None
) -> None:
    """Write a model as a saved model with a checkpoint of its layers and its optimiser.

    Args:
        model: the model.
        filepath: the folder.
        overwrite: whether a model that is there is replaced without a question.
        include_optimizer: whether it is compiled when it is loaded, with what its optimiser keeps.
        signatures: not taken: the signature is that of the model's inputs and outputs.

    Raises:
        ValueError: for a model without inputs, or with signatures.
    """
    keras = library()
    if signatures is not None:
        raise ValueError("save: signatures are not taken; there is one of the model's inputs")
    if not getattr(model, "inputs", None) or not model.outputs:
        raise ValueError(
            f"the model {model.name} cannot be saved, as its inputs are not known before it is called: fit "
            "it, predict with it, or call `model._set_inputs(inputs)`"
        )
    folder = Path(os.fsdecode(filepath))
    if folder.exists() and not overwrite:
        from keras.engine.saving import ask_to_proceed_with_overwrite

        if not ask_to_proceed_with_overwrite(str(folder)):
            return
    session = keras.backend.get_session()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as scratch,
        session.graph.as_default(),
    ):
        root = held(model, include_optimizer)
        parts = tracked(root)
        builder = SavedModelBuilder(scratch)
        signature = tf.saved_model.predict_signature_def(
            dict(zip(model.input_names, model.inputs, strict=True)),
            dict(zip(model.output_names, model.outputs, strict=True)),
        )
        builder.add_meta_graph_and_variables(
            session,
            [tf.saved_model.tag_constants.SERVING],
            {"serving_default": signature},
            saver=Saver(values_of(parts), sharded=True),
            clear_devices=True,
        )
        message = builder._model.meta_graphs[0]
        _keep(message, model)
        message.object_graph_def.CopyFrom(_objects(parts, root, model, include_optimizer))
        builder.save()
        (Path(scratch) / "assets").mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
        for name in _WRITTEN:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            os.replace(Path(scratch) / name, folder / name)
        (folder / _METADATA).unlink(missing_ok=True)


def _keep(message: Any, model: Any) -> None:
    """Keep of a session's graph what computes the outputs of a model, saves and restores."""
    saver = message.saver_def
    names = {tensor.op.name for tensor in model.outputs}
    names |= {
        name.partition(":")[0] for name in (saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name)
    }
    message.collection_def.clear()
    trained = {id(variable) for variable in model.trainable_weights}
    for variable in model.weights:
        described = variable.to_proto()
        described.trainable = id(variable) in trained
        names |= {name.partition(":")[0] for name in (described.initializer_name, described.snapshot_name) if name}
        keys = [tf.GraphKeys.GLOBAL_VARIABLES]
        for key in keys + [tf.GraphKeys.TRAINABLE_VARIABLES] * described.trainable:
            message.collection_def[key].bytes_list.value.append(described.SerializeToString())
    message.graph_def.CopyFrom(tf.graph_util.extract_sub_graph(message.graph_def, sorted(names)))


def _objects(parts: Tracked, root: Any, model: Any, include_optimizer: bool) -> Any:
    """Return the description of a model and what it consists of."""
    graph = message_class("SavedObjectGraph")()
    trained = {id(variable) for variable in model.trainable_weights}
    for item, node in zip(parts.objects, parts.message.nodes, strict=True):
        saved = graph.nodes.add(children=node.children, slot_variables=node.slot_variables)
        if isinstance(item, tf.Variable):
            saved.variable.dtype = item.dtype.base_dtype.as_datatype_enum
            saved.variable.shape.CopyFrom(item.shape.as_proto())
            saved.variable.trainable, saved.variable.name = id(item) in trained, item.op.name
            continue
        user = saved.user_object
        user.version.producer = user.version.min_consumer = 1
        own = model if item is root else item
        user.identifier, described = _described(own)
        if item is root:
            described |= _of_model(model, include_optimizer)
        user.metadata = json.dumps(described, default=_plain) if described else ""
    return graph


def _described(item: Any) -> tuple[str, dict[str, Any]]:
    """Return what an object is called in a description, and its arguments if it is a layer."""
    keras = library()
    if not isinstance(item, keras.engine.base_layer.Layer):
        kinds: dict[Any, str] = {list: "trackable_list_wrapper", dict: "trackable_dict_wrapper"}
        is_optimizer = hasattr(item, "get_slot_names")
        return kinds.get(type(item), "optimizer" if is_optimizer else "_generic_user_object"), {}
    kind = "_tf_keras_layer"
    description = {
        "class_name": type(item).__name__,
        "name": item.name,
        "trainable": item.trainable,
        "expects_training_arg": "training" in inspect.signature(item.call).parameters,
        "dtype": getattr(item, "dtype", None),
        "batch_input_shape": getattr(item, "batch_input_shape", None),
    }
    if isinstance(item, keras.engine.network.Network):
        kind = "_tf_keras_network" if item._is_graph_network else "_tf_keras_model"
        description["is_graph_network"] = item._is_graph_network
    with contextlib.suppress(AttributeError):  # of several calls, or none
        description["build_input_shape"] = _shapes(item.input_shape)
    with contextlib.suppress(NotImplementedError):  # models that are classes of a program
        description["config"] = item.get_config()
    return _IDENTIFIERS.get(type(item).__name__, kind), description


def _shapes(shape: Any) -> Any:
    if isinstance(shape, list):
        return [_shapes(item) for item in shape]
    return {"class_name": "TensorShape", "items": shape}


def _of_model(model: Any, include_optimizer: bool) -> dict[str, Any]:
    """Return what a description says of the whole model."""
    keras = library()
    description: dict[str, Any] = {
        "keras_version": keras.__version__,
        "backend": "tensorflow",
        "input_names": model.input_names,
        "output_names": model.output_names,
    }
    if model._is_graph_network:
        description["model_config"] = json.loads(model.to_json())
    optimizer = getattr(model, "optimizer", None)
    if include_optimizer and optimizer is not None and not hasattr(optimizer, "optimizer"):
        metrics = getattr(model, "_compile_metrics", getattr(model, "metrics", None))
        description["training_config"] = {
            "loss": model.loss,
            "metrics": metrics,
            "loss_weights": model.loss_weights,
            "weighted_metrics": getattr(model, "_compile_weighted_metrics", None),
            "sample_weight_mode": model.sample_weight_mode,
            "optimizer_config": {"class_name": type(optimizer).__name__, "config": optimizer.get_config()},
        }
    return description


def _plain(value: Any) -> Any:
    """Return what JSON has for an object in the configuration of a layer."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if hasattr(value, "as_list"):
        return value.as_list()
    return getattr(value, "__name__", None) or str(value)


# -- loading -------------------------------------------------------------------------------------


def load(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """Return the model of a folder that ``save``, or TensorFlow, has written.

    Args:
        filepath: the folder.
        custom_objects: classes and functions by the names that the model has for them.
        compile: whether it is compiled as it was, with what its optimiser keeps.

    Returns:
        The model. One that is a class of a program, or has layers of unknown classes, has the layers that
        are its inputs and one more, which is its graph.

    Raises:
        OSError: if the folder has no saved model.
        ValueError: if what is saved there is no model of Keras.
    """
    keras = library()
    folder = os.fsdecode(filepath)
    meta = read_saved_model(folder).meta_graphs[0]
    metadata = _metadata(folder, meta)
    with keras.utils.CustomObjectScope(custom_objects or {}):
        model = _of_layers(keras, folder, metadata)
        whole = model is not None
        if model is None:
            model = _of_graph(keras, folder, meta, metadata)
        training = metadata.get("training_config")
        if compile and training is not None:
            _compile(keras, model, training)
        elif compile:
            warnings.warn(
                f"{folder} does not say how the model was compiled: compile it before it is trained", stacklevel=2
            )
    if whole:
        restored(model, os.path.join(folder, _VARIABLES))
    return model


def _metadata(folder: str, meta: Any) -> dict[str, Any]:
    """Return what a folder says of its model."""
    nodes = meta.object_graph_def.nodes
    text = nodes[0].user_object.metadata if nodes else ""
    apart = Path(folder) / _METADATA
    if not text and apart.exists():
        listed = message_class("SavedMetadata").FromString(apart.read_bytes()).nodes
        text = next((node.metadata for node in listed if node.node_id == 0), "")
    if not text:
        raise ValueError(f"{folder} has a saved model without a model of Keras; tf.saved_model.load has its graph")
    metadata: dict[str, Any] = json.loads(text)
    return metadata


def _of_layers(keras: Any, folder: str, metadata: dict[str, Any]) -> Any:
    """Return a model made of layers; ``None`` for any other one."""
    config = metadata.get("model_config") or metadata
    if not metadata.get("is_graph_network", "model_config" in metadata) or "config" not in config:
        return None
    try:
        return keras.models.model_from_config({"class_name": config["class_name"], "config": config["config"]})
    except ValueError as error:
        if "Unknown layer" not in str(error):
            raise
        warnings.warn(
            f"{folder}: {error}. The model is its graph alone; to have its layers, name their classes in "
            "custom_objects.",
            stacklevel=3,
        )
    return None


def _of_graph(keras: Any, folder: str, meta: Any, metadata: dict[str, Any]) -> Any:
    """Return a model whose one layer is the graph of a saved model, with its variables."""
    signature = meta.signature_def["serving_default"]
    session = keras.backend.get_session()
    with session.graph.as_default():
        inputs, input_map = [], {}
        for name in metadata.get("input_names") or sorted(signature.inputs):
            info = signature.inputs[name]
            shape = tuple(tf.TensorShape(info.tensor_shape).as_list())
            inputs.append(keras.layers.Input(batch_shape=shape, dtype=tf.as_dtype(info.dtype).name, name=name))
            input_map[info.name] = inputs[-1]
        for node in meta.graph_def.node:
            if node.name.endswith("keras_learning_phase"):
                input_map[f"{node.name}:0"] = tf.convert_to_tensor(keras.backend.learning_phase(), tf.bool)
        scope = session.graph.unique_name(metadata["name"], mark_as_used=False)
        tf.saved_model.loader.load(session, meta.meta_info_def.tags, folder, import_scope=scope, input_map=input_map)
        outputs = [
            session.graph.get_tensor_by_name(f"{scope}/{signature.outputs[name].name}")
            for name in metadata.get("output_names") or sorted(signature.outputs)
        ]
        model = keras.models.Model(inputs, outputs, name=metadata["name"])
        variables = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, f"{scope}/")
        model.layers[-1]._trainable_weights = [each for each in variables if each.trainable]
        model.layers[-1]._non_trainable_weights = [each for each in variables if not each.trainable]
    return model


def _compile(keras: Any, model: Any, training: dict[str, Any]) -> None:
    model.compile(
        keras.optimizers.deserialize(dict(training["optimizer_config"])),
        _deserialized(training["loss"], keras.losses),
        loss_weights=training.get("loss_weights"),
        metrics=_deserialized(training.get("metrics"), keras.metrics),
        weighted_metrics=_deserialized(training.get("weighted_metrics"), keras.metrics),
        sample_weight_mode=training.get("sample_weight_mode"),
    )


def _deserialized(described: Any, module: Any) -> Any:
    """Return losses or metrics in any structure; a function that TensorFlow has wrapped is itself."""
    if isinstance(described, list):
        return [_deserialized(item, module) for item in described]
    if isinstance(described, dict) and "class_name" in described:
        own = {key: value for key, value in described["config"].items() if value != "auto"}
        return own.get("fn") or module.deserialize({**described, "config": own})
    if isinstance(described, dict):
        return {name: _deserialized(item, module) for name, item in described.items()}
    return described


# -- configurations ------------------------------------------------------------------------------

# Classes that have other names in TensorFlow.
_RENAMED = {
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Functional": "Model",
    "L1": "L1L2",
    "L2": "L1L2",
}
# What layers of TensorFlow take which those of Keras do not, where it has no effect.
_WITHOUT_EFFECT = (None, False, 1, "auto")


def _of_known_arguments(own: Callable[..., Any], keras: Any) -> Callable[..., Any]:
    """``layers.deserialize`` of what TensorFlow's layers have in files, those of TensorFlow 2 among them."""

    @functools.wraps(own)
    def deserialize(config: Any, custom_objects: Any = None) -> Any:
        return own(_known(config, keras), custom_objects=custom_objects)

    return deserialize


def _known(config: Any, keras: Any) -> Any:
    """Return a configuration without arguments that say nothing, and with tuples as lists."""
    if isinstance(config, list):
        return [_known(item, keras) for item in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") in ("__tuple__", "TensorShape") and "items" in config:
        return _known(config["items"], keras)
    known = {key: _known(value, keras) for key, value in config.items()}
    if "class_name" in known:
        known["class_name"] = _RENAMED.get(str(known["class_name"]), known["class_name"])
    kind, inner = getattr(keras.layers, str(known.get("class_name")), None), known.get("config")
    if not inspect.isclass(kind) or not isinstance(inner, dict):
        return known
    if known["class_name"] == "BatchNormalization" and isinstance(inner.get("axis"), list):
        [inner["axis"]] = inner["axis"]
    if not issubclass(kind, keras.engine.network.Network):
        parameters = set(_LAYER).union(
            *(
                inspect.signature(each.__dict__["__init__"]).parameters
                for each in kind.__mro__
                if "__init__" in each.__dict__ and each is not object
            )
        )
        known["config"] = {
            key: value for key, value in inner.items() if key in parameters or value not in _WITHOUT_EFFECT
        }
    return known


# What all layers of Keras take.
_LAYER = ("name", "trainable", "dtype", "batch_input_shape", "layer", "cell", "cells")
