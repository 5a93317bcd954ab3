"""What TensorFlow 1.15's Keras has beyond the package: rates by their name, data sets, checkpoints."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from actorsession import errors

__all__ = ["bridge"]


def bridge(keras: Any) -> None:
    """Give the classes of Keras what TensorFlow's have beyond them.

    Args:
        keras: the package.
    """
    for found in list(vars(keras.optimizers).values()):
        if isinstance(found, type) and issubclass(found, keras.optimizers.Optimizer):
            _accept_learning_rate(found)
    model: Any = keras.engine.training.Model
    for name, targets in (("fit", True), ("evaluate", True), ("predict", False)):
        setattr(model, name, _with_datasets(getattr(model, name), targets))
    network: Any = keras.engine.network.Network
    for name in ("save_weights", "load_weights"):
        setattr(network, name, _with_checkpoints(getattr(network, name), name))
    model.save = _without_format(model.save)


# -- optimisers --------------------------------------------------------------------------------


def _accept_learning_rate(optimizer: Any) -> None:
    own = optimizer.__dict__.get("__init__")
    if own is None or "lr" not in inspect.signature(own).parameters:
        return

    @functools.wraps(own)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "learning_rate" in kwargs:
            kwargs["lr"] = kwargs.pop("learning_rate")
        own(self, *args, **kwargs)

    optimizer.__init__ = init
    optimizer.learning_rate = property(
        lambda self: self.lr,
        lambda self, value: setattr(self, "lr", value),
        doc="The learning rate.",
    )


# -- data sets -----------------------------------------------------------------------------------


class _Exhausted(Exception):
    """A data set has fewer batches than steps were asked for."""


def _with_datasets(function: Callable[..., Any], targets: bool) -> Callable[..., Any]:
    """Return ``fit``, ``evaluate`` or ``predict`` that takes data sets and iterators as well as arrays."""
    name = function.__name__
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs).arguments
        of_data = _is_data(given.get("x"))
        if not of_data and not _is_data(given.get("validation_data")):
            return function(self, *args, **kwargs)
        for key in ("kwargs", "self"):
            given.pop(key, None)
        steps_name = "steps_per_epoch" if name == "fit" else "steps"
        if of_data and (
            given.pop("y", None) is not None or given.pop("sample_weight", None) is not None
        ):
            raise ValueError(
                "`y` and `sample_weight` have no place beside a data set, whose elements are (x, y) or "
                "(x, y, sample_weight)"
            )
        if _is_data(given.get("validation_data")):
            held_out = _Batches(given["validation_data"], given.get("validation_steps"))
            given["validation_data"], given["validation_steps"] = held_out, held_out.steps
            if not of_data:
                given["validation_data"] = held_out.arrays()
                del given["validation_steps"]
                return function(self, **given)
        batches = _Batches(given.pop("x"), given.pop(steps_name, None))
        for key in ("batch_size", "validation_split", "shuffle"):
            given.pop(key, None)
        generator = getattr(self, f"{name}_generator")
        taken = inspect.signature(generator).parameters
        given = {key: value for key, value in given.items() if key in taken}
        given[steps_name] = batches.steps
        if name == "fit":
            given["shuffle"] = False
        try:
            return generator(batches if targets else batches.without_targets(), workers=0, **given)
        except _Exhausted:
            if name != "fit":
                raise ValueError(
                    f"{name}: the data set has fewer batches than {steps_name}={batches.steps}"
                ) from None
            warnings.warn(
                "Your dataset iterator ran out of data; interrupting training. Make sure that your dataset "
                "can generate at least `steps_per_epoch * epochs` batches.",
                stacklevel=2,
            )
            for callback in given.get("callbacks") or []:
                callback.on_train_end()
            return self.history

    return run


def _is_data(value: Any) -> bool:
    return hasattr(value, "get_next") or hasattr(value, "make_initializable_iterator") or (
        hasattr(value, "element_spec") and hasattr(value, "batch")
    )  # fmt: skip


class _Batches:
    """The batches of a data set or an iterator as a generator of arrays.

    Args:
        data: the data set, which begins anew with each epoch if no number of steps is given, or the iterator.
        steps: how many batches are one epoch.
    """

    def __init__(self, data: Any, steps: int | None) -> None:
        from actorsession.compat.v1 import data as tf_data

        self._again = steps is None
        self._iterator = data
        if not hasattr(data, "get_next"):
            self._iterator = tf_data.make_initializable_iterator(data)
            self._begin()
        elif steps is None:
            raise ValueError(
                "an iterator needs the number of steps; a data set may be left without"
            )
        self._next = self._iterator.get_next()
        self.steps = self._counted() if steps is None else steps
        self._done = 0

    @staticmethod
    def _session() -> Any:
        import keras

        return keras.backend.get_session()

    def _begin(self) -> None:
        self._session().run(self._iterator.initializer)

    def _counted(self) -> int:
        """Count the batches of an epoch, in a pass over the data."""
        count, session = 0, self._session()
        try:
            while True:
                session.run(self._next)
                count += 1
        except errors.OutOfRangeError:
            self._begin()
        if not count:
            raise ValueError("the data set has no batches")
        return count

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._again and self._done == self.steps:
            self._begin()
            self._done = 0
        try:
            found = self._session().run(self._next)
        except errors.OutOfRangeError:
            raise _Exhausted from None
        self._done += 1
        return found

    def without_targets(self) -> Iterator[Any]:
        """Return the inputs alone."""
        return (batch[0] if isinstance(batch, tuple) else batch for batch in self)

    def arrays(self) -> tuple[Any, ...]:
        """Return all batches as one."""
        every = [next(self) for _ in range(self.steps)]
        return tuple(_joined([batch[i] for batch in every]) for i in range(len(every[0])))


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], (list, tuple)):
        return [_joined([part[i] for part in parts]) for i in range(len(parts[0]))]
    if isinstance(parts[0], dict):
        return {key: _joined([part[key] for part in parts]) for key in parts[0]}
    return np.concatenate(parts)


# -- checkpoints ---------------------------------------------------------------------------------


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
            plain = False
        if not (save_format == "tf" or (plain and save_format is None)):
            return function(self, filepath, *args, **kwargs)
        from keras import backend

        held = _held(self)
        session = backend.get_session()
        with session.graph.as_default(), session.as_default():
            if name == "save_weights":
                return held.write(str(filepath), session=session)
            return held.restore(str(filepath)).assert_nontrivial_match().run_restore_ops(session)

    return run


def _held(model: Any) -> Any:
    """Return a checkpoint of the weights of a model, with the keys that TensorFlow's has for its layers."""
    from actorsession.compat.v1.trackable.objects import AutoTrackable
    from actorsession.compat.v1.train import Checkpoint

    layers: dict[str, Any] = {}
    for layer in model.layers:
        if layer.weights:
            held = layers[f"layer_with_weights-{len(layers)}"] = AutoTrackable()
            for weight in layer.weights:
                setattr(held, weight.op.name.rpartition("/")[2], weight)
    return Checkpoint(**layers)


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
