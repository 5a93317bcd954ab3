"""Weights in TensorFlow's checkpoints, with the keys that TensorFlow 1.15's models have there."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actorsession import errors
from actorsession.compat.v1.ops.operations import Variable

__all__ = ["bridge"]


def bridge(keras: Any) -> None:
    """Have models save to TensorFlow's checkpoints, and objects of Keras be parts of ``tf.train.Checkpoint``.

    Args:
        keras: the package.
    """
    layer: Any = keras.engine.base_layer.Layer
    network: Any = keras.engine.network.Network
    for name in ("save_weights", "load_weights"):
        setattr(network, name, _with_checkpoints(getattr(network, name), name))
    network.save = keras.engine.training.Model.save = _without_format(network.save)
    layer._checkpoint_dependencies = property(lambda self: list(_attributes(self, layer)))
    network._checkpoint_dependencies = property(lambda self: list(_layers(self, layer)))
    keras.optimizers.Optimizer._checkpoint_dependencies = property(lambda self: list(_state(self)))


def _attributes(found: Any, layer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the weights and layers in an object, by the names of its attributes."""
    held: set[int] = set()
    for name, value in vars(found).items():
        items = value if isinstance(value, list) else [value]
        if not name.startswith("_") and any(isinstance(item, (Variable, layer)) for item in items):
            held.update(id(item) for item in items)
            for item in items:
                held.update(id(weight) for weight in getattr(item, "weights", ()))
            yield name, value
    for weight in found.weights:
        if id(weight) not in held:
            yield weight.op.name.rpartition("/")[2], weight


def _layers(model: Any, layer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a model, by their numbers or the attributes of its class."""
    if not model._is_graph_network:
        yield from _attributes(model, layer)
        return
    weighty = 0
    for number, item in enumerate(model.layers):
        if item.weights:
            yield f"layer_with_weights-{weighty}", item
            weighty += 1
        yield f"layer-{number}", item


def _state(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an optimiser keeps."""
    if hasattr(optimizer, "iterations"):
        yield "iter", optimizer.iterations
    for number, weight in enumerate(getattr(optimizer, "weights", ())):
        yield f"weight-{number}", weight


def _with_checkpoints(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``save_weights`` or ``load_weights``, for which a name without ``.h5`` is a checkpoint."""

    @functools.wraps(function)
    def run(
        self: Any, filepath: Any, *args: Any, save_format: str | None = None, **kwargs: Any
    ) -> Any:
        plain = isinstance(filepath, (str, Path)) and not str(filepath).endswith(
            (".h5", ".hdf5", ".keras")
        )
        if save_format not in (None, "tf", "h5"):
            raise ValueError(f"save_format is 'tf' or 'h5', got {save_format!r}")
        if name == "load_weights" and plain and not Path(f"{filepath}.index").exists():
            if not Path(filepath).exists():
                raise errors.NotFoundError(
                    f"load_weights: there is no checkpoint or file {filepath!s}"
                )
            plain = False
        if not (save_format == "tf" or (plain and save_format is None)):
            return function(self, filepath, *args, **kwargs)
        from keras import backend

        from actorsession.compat.v1.train import Checkpoint
        from actorsession.compat.v1.train.checkpoints.management import update_checkpoint_state

        held = Checkpoint()
        for part, value in self._checkpoint_dependencies:
            setattr(held, part, value)
        session = backend.get_session()
        with session.graph.as_default(), session.as_default():
            if name == "save_weights":
                folder = os.path.dirname(str(filepath))
                os.makedirs(folder or ".", exist_ok=True)
                written = held.write(str(filepath), session=session)
                return update_checkpoint_state(folder or ".", written)
            return held.restore(str(filepath)).assert_nontrivial_match().run_restore_ops(session)

    return run


def _without_format(save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def run(
        self: Any, filepath: Any, *args: Any, save_format: str | None = None, **kwargs: Any
    ) -> Any:
        if save_format == "tf":
            raise errors.UnimplementedError(
                "a whole model is saved as H5; tf.saved_model.simple_save writes its graph as a saved model"
            )
        return save(self, filepath, *args, **kwargs)

    return run
