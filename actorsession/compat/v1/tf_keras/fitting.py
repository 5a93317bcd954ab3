"""``fit``, ``evaluate``, ``predict`` and ``compile`` as TensorFlow 1.15's models have them."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from actorsession import errors
from actorsession.compat.found_keras import library
from actorsession.graph.operation import Tensor

__all__ = ["bridge"]


def bridge(keras: Any, as_tensorflow: bool) -> None:
    """Have models take data sets, iterators and tensors, and the arguments of TensorFlow's ``compile``.

    Args:
        keras: the package.
        as_tensorflow: whether the metric ``accuracy`` is called ``acc``.
    """
    model: Any = keras.engine.training.Model
    for name, targets in (("fit", True), ("evaluate", True), ("predict", False)):
        setattr(model, name, _with_datasets(getattr(model, name), targets))
    model.compile = _with_arguments(model.compile, as_tensorflow)
    if hasattr(model, "add_metric"):
        model.add_metric = _with_aggregation(model.add_metric)
    if not hasattr(model, "reset_metrics"):
        model.reset_metrics = _reset_metrics
    board: Any = keras.callbacks.TensorBoard
    board.__init__ = _without(board.__init__, "profile_batch", "embeddings_freq_", "write_steps_per_second")


# -- compile -------------------------------------------------------------------------------------

# What says where a model runs.
_PLACES = ("cloning", "distribute", "experimental_run_tf_function", "run_eagerly")


def _with_arguments(compile_: Callable[..., Any], as_tensorflow: bool) -> Callable[..., Any]:
    @functools.wraps(compile_)
    def run(self: Any, optimizer: Any = "rmsprop", *args: Any, **kwargs: Any) -> Any:
        for name in _PLACES:
            if kwargs.pop(name, None):
                raise ValueError(f"compile: {name} has no meaning here, where models are graphs of a session")
        bound = inspect.signature(compile_).bind(self, optimizer, *args, **kwargs)
        for name in ("metrics", "weighted_metrics"):
            if as_tensorflow and name in bound.arguments:
                bound.arguments[name] = _named(bound.arguments[name])
        if not self._is_graph_network and not getattr(self, "outputs", None):
            self.built = False  # its outputs are known when it is first fitted
        return compile_(*bound.args, **bound.kwargs)

    return run


def _named(metrics: Any) -> Any:
    """Metrics under the names that TensorFlow 1.15 gives them."""
    if isinstance(metrics, dict):
        return {key: _named(value) for key, value in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_named(item) for item in metrics]
    if not isinstance(metrics, str):
        return metrics
    if metrics in ("accuracy", "crossentropy"):
        return {"accuracy": "acc", "crossentropy": "ce"}[metrics]
    # ``mae`` is the function mean_absolute_error.
    return getattr(getattr(library().metrics, metrics, None), "__name__", metrics)


def _with_aggregation(add_metric: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(add_metric)
    def run(self: Any, value: Any, aggregation: str | None = None, name: str | None = None) -> Any:
        if aggregation not in (None, "mean"):
            raise ValueError(f"add_metric: aggregation is 'mean' or None, got {aggregation!r}")
        return add_metric(self, value, name=name)

    return run


def _reset_metrics(self: Any) -> None:
    """Begin anew with metrics that sum over batches."""
    for metric in getattr(self, "stateful_metric_functions", ()):
        metric.reset_states()


def _without(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A function that ignores some arguments."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{key: each for key, each in kwargs.items() if key not in names})

    return run


# -- data sets -----------------------------------------------------------------------------------


class _Exhausted(Exception):
    """A data set has fewer batches than steps were asked for."""


def _with_datasets(function: Callable[..., Any], targets: bool) -> Callable[..., Any]:
    """Return ``fit``, ``evaluate`` or ``predict`` that takes data sets and iterators as well as arrays."""
    name = function.__name__
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(self, *args, **kwargs).arguments
        of_data = _is_data(arguments.get("x"))
        if not of_data and not _is_data(arguments.get("validation_data")):
            return function(self, *args, **kwargs)
        for key in ("kwargs", "self"):
            arguments.pop(key, None)
        steps_name = "steps_per_epoch" if name == "fit" else "steps"
        if of_data and _is_flowing(arguments["x"]):
            parts = (arguments.pop("x"), arguments.pop("y", None), arguments.pop("sample_weight", None))
            arguments["x"] = tuple(part for part in parts if part is not None)
        if of_data and (arguments.pop("y", None) is not None or arguments.pop("sample_weight", None) is not None):
            raise ValueError(
                "`y` and `sample_weight` have no place beside a data set, whose elements are (x, y) or "
                "(x, y, sample_weight)"
            )
        if _is_data(arguments.get("validation_data")):
            held_out = _Batches(arguments["validation_data"], arguments.get("validation_steps"))
            arguments["validation_data"], arguments["validation_steps"] = held_out, held_out.steps
            if not of_data:
                arguments["validation_data"] = held_out.arrays()
                del arguments["validation_steps"]
                return function(self, **arguments)
        batches = _Batches(arguments.pop("x"), arguments.pop(steps_name, None))
        for key in ("batch_size", "validation_split", "shuffle"):
            arguments.pop(key, None)
        generator = getattr(self, f"{name}_generator")
        taken = inspect.signature(generator).parameters
        arguments = {key: value for key, value in arguments.items() if key in taken}
        arguments[steps_name] = batches.steps
        if name == "fit":
            arguments["shuffle"] = False
        try:
            return generator(batches if targets else batches.without_targets(), workers=0, **arguments)
        except _Exhausted:
            if name != "fit":
                raise ValueError(f"{name}: the data set has fewer batches than {steps_name}={batches.steps}") from None
            warnings.warn(
                "Your dataset iterator ran out of data; interrupting training. Make sure that your dataset "
                "can generate at least `steps_per_epoch * epochs` batches.",
                stacklevel=2,
            )
            for callback in arguments.get("callbacks") or []:
                callback.on_train_end()
            return self.history

    return run


def _is_data(value: Any) -> bool:
    return (
        hasattr(value, "get_next")
        or hasattr(value, "make_initializable_iterator")
        or (hasattr(value, "element_spec") and hasattr(value, "batch"))
        or _is_flowing(value)
    )


def _is_flowing(value: Any) -> bool:
    """Whether a value is tensors that have another batch in each step, as those of an iterator."""
    items = list(value.values()) if isinstance(value, dict) else value
    items = items if isinstance(items, (list, tuple)) else [items]
    return bool(items) and all(isinstance(item, Tensor) and item.shape.as_list()[:1] == [None] for item in items)


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
        self._done = 0
        if isinstance(data, (tuple, list)):
            if steps is None:
                raise ValueError("tensors need the number of steps")
            self._next, self.steps = data, steps
            return
        if not hasattr(data, "get_next"):
            self._iterator = tf_data.make_initializable_iterator(data)
            self._begin()
        elif steps is None:
            raise ValueError("an iterator needs the number of steps; a data set may be left without")
        self._next = self._iterator.get_next()
        self.steps = self._counted() if steps is None else steps

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
            batch = self._session().run(self._next)
        except errors.OutOfRangeError:
            raise _Exhausted from None
        self._done += 1
        if not isinstance(batch, tuple):
            return batch
        # Several inputs, or targets, are a list to Keras.
        return tuple(list(part) if isinstance(part, tuple) else part for part in batch)

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
