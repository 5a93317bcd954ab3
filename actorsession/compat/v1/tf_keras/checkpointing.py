"""Weights in TensorFlow's checkpoints, with the keys that TensorFlow 1.15's models have there."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actorsession import errors
from actorsession.compat.found_keras import library
from actorsession.compat.v1.ops.operations import Variable
from actorsession.compat.v1.train.checkpoints.checkpoint import Checkpoint
from actorsession.compat.v1.train.checkpoints.management import update_checkpoint_state

__all__ = ["bridge", "held", "restored"]


def bridge(keras: Any) -> None:
    """Have models save to TensorFlow's checkpoints, and objects of Keras be parts of ``tf.train.Checkpoint``.

    Args:
        keras: the package.
    """
    layer: Any = keras.engine.base_layer.Layer
    network: Any = keras.engine.network.Network
    for name in ("save_weights", "load_weights"):
        setattr(network, name, _with_checkpoints(getattr(network, name), name))
    layer._checkpoint_dependencies = property(lambda self: list(_attributes(self, layer)))
    network._checkpoint_dependencies = property(lambda self: list(_layers(self, layer)))
    keras.optimizers.Optimizer._checkpoint_dependencies = property(lambda self: list(_state(self)))


def _attributes(owner: Any, layer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the weights and layers in an object, by the names of its attributes."""
    held: set[int] = set()
    for name, value in vars(owner).items():
        items = value if isinstance(value, list) else [value]
        if not name.startswith("_") and any(isinstance(item, (Variable, layer)) for item in items):
            held.update(id(item) for item in items)
            for item in items:
                held.update(id(weight) for weight in getattr(item, "weights", ()))
            yield name, value
    for weight in owner.weights:
        if id(weight) not in held:
            yield weight.op.name.rpartition("/")[2], weight


def _layers(model: Any, layer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a model, by their numbers or the attributes of its class."""
    if not model._is_graph_network:
        yield from _attributes(model, layer)
    else:
        weighty = 0
        for number, item in enumerate(model.layers):
            if item.weights:
                yield f"layer_with_weights-{weighty}", item
                weighty += 1
            yield f"layer-{number}", item
    if getattr(model, "optimizer", None) is not None:
        yield "optimizer", model.optimizer


# The variables of optimisers that TensorFlow has by other names.
_NAMES = {"iterations": "iter", "lr": "learning_rate", "m_schedule": "momentum_cache"}


def _state(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an optimiser keeps, but for its slots."""
    native = getattr(optimizer, "optimizer", None)
    if native is not None:
        yield from (("optimizer", native), ("global_step", optimizer.iterations))
        return
    for name, value in vars(optimizer).items():
        if isinstance(value, Variable):
            yield _NAMES.get(name, name), value


def held(model: Any, include_optimizer: bool = True) -> Checkpoint:
    """Return an object that has the parts of a model.

    Args:
        model: the model.
        include_optimizer: whether its optimiser is one of them.
    """
    checkpoint = Checkpoint()
    for name, value in model._checkpoint_dependencies:
        if include_optimizer or value is not getattr(model, "optimizer", None):
            setattr(checkpoint, name, value)
    return checkpoint


def restored(model: Any, prefix: str) -> Any:
    """Restore a model from a checkpoint, with what its optimiser keeps.

    Args:
        model: the model.
        prefix: the beginning of the names of the checkpoint's files.
    """
    session = library().backend.get_session()
    with session.graph.as_default(), session.as_default():
        status = held(model).restore(prefix)
        compiled = getattr(model, "optimizer", None) is not None
        if compiled and model.train_function is None and status.has_slots:
            model._make_train_function()  # which makes the variables of the optimiser
        return status.assert_nontrivial_match().run_restore_ops(session)


def _with_checkpoints(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``save_weights`` or ``load_weights``, for which a name without ``.h5`` is a checkpoint."""

    @functools.wraps(function)
    def run(self: Any, filepath: Any, *args: Any, save_format: str | None = None, **kwargs: Any) -> Any:
        plain = isinstance(filepath, (str, Path)) and not str(filepath).endswith((".h5", ".hdf5", ".keras"))
        if save_format not in (None, "tf", "h5"):
            raise ValueError(f"save_format is 'tf' or 'h5', got {save_format!r}")
        if name == "load_weights" and plain and not Path(f"{filepath}.index").exists():
            if not Path(filepath).exists():
                raise errors.NotFoundError(f"load_weights: there is no checkpoint or file {filepath!s}")
            plain = False
        if not (save_format == "tf" or (plain and save_format is None)):
            return function(self, filepath, *args, **kwargs)
        if name == "load_weights":
            return restored(self, str(filepath))
        session = library().backend.get_session()
        with session.graph.as_default(), session.as_default():
            folder = os.path.dirname(str(filepath)) or "."
            os.makedirs(folder, exist_ok=True)
            return update_checkpoint_state(folder, held(self).write(str(filepath), session))

    return run
