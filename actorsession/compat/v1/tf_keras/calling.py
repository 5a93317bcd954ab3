"""Layers and models as TensorFlow 1.15's: called with arrays and ``training``, and derived from."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import actorsession.compat.v1 as _tf
from actorsession.compat.v1.tf_keras.optimizing import untrained

__all__ = ["bridge", "phase", "recorded"]

tf: Any = _tf


def bridge(keras: Any) -> None:
    """Give Keras' layers and models what TensorFlow's have beyond them.

    Args:
        keras: the package.
    """
    layer: Any = keras.engine.base_layer.Layer
    network: Any = keras.engine.network.Network
    for name, kind in _WEIGHTS.items():
        setattr(layer, name, property(operator.attrgetter(kind)))
    layer.add_variable = layer.add_weight = _as_trained(layer.add_weight)
    if not hasattr(layer, "dtype"):  # before Keras 2.2.5 only those with an input of their own have one
        layer.dtype = keras.backend.floatx()
    layer.__init__ = _with_types(layer.__init__)
    layer.__call__ = _of_arrays(layer.__call__, network, keras.backend)
    layer.apply = lambda self, inputs, *args, **kwargs: self(inputs, *args, **kwargs)
    network.__new__ = _kept
    network.call = _with_training(network.call, keras)
    network.compute_output_shape = _of_last(network.compute_output_shape, keras.backend)
    for name in ("layers", "trainable_weights", "non_trainable_weights", "losses", "updates"):
        attribute = getattr(network, name)
        if isinstance(attribute, property):
            setattr(network, name, _with_parts(attribute, name, layer))
    model: Any = keras.engine.training.Model
    model._set_inputs = _in_phase(model._set_inputs, keras.backend)
    keras.backend.learning_phase_scope = lambda value: phase(keras, value)
    keras.Input = keras.layers.Input = keras.engine.Input = _with_batch_size(keras.engine.Input)


_WEIGHTS = {
    "variables": "weights",
    "trainable_variables": "trainable_weights",
    "non_trainable_variables": "non_trainable_weights",
}


def _with_types(init: Callable[..., Any]) -> Callable[..., Any]:
    """``Layer.__init__`` for which an element type may be TensorFlow's."""

    @functools.wraps(init)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = tf.as_dtype(kwargs["dtype"]).name
        init(self, *args, **{k: v for k, v in kwargs.items() if k not in ("autocast", "dynamic")})

    return run


def _as_trained(add_weight: Callable[..., Any]) -> Callable[..., Any]:
    """``Layer.add_weight`` whose weights without training are not among ``tf.trainable_variables()``."""
    quiet = untrained(add_weight)

    @functools.wraps(add_weight)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (add_weight if kwargs.get("trainable", True) else quiet)(self, *args, **kwargs)

    return run


def _kept(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """``Network.__new__`` that keeps what a model is made with, to make another one in another graph."""
    model = object.__new__(cls)
    model.__dict__["_arguments"] = args, kwargs
    return model


def _with_batch_size(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def run(shape: Any = None, batch_shape: Any = None, *args: Any, **kwargs: Any) -> Any:
        size = kwargs.pop("batch_size", None)
        if isinstance(batch_shape, int):  # the second argument of TensorFlow's
            size, batch_shape = batch_shape, None
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = tf.as_dtype(kwargs["dtype"]).name
        if isinstance(shape, tf.TensorShape):
            shape = shape.as_list()
        if size is not None and shape is not None:
            shape, batch_shape = None, (size, *shape)
        return make(shape, batch_shape, *args, **kwargs)

    return run


# -- calls ---------------------------------------------------------------------------------------


def _of_arrays(call: Callable[..., Any], network: Any, backend: Any) -> Callable[..., Any]:
    """``Layer.__call__`` for which inputs may be arrays, and models may be classes of a program."""

    @functools.wraps(call)
    def run(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(inputs, np.ndarray):
            inputs = tf.convert_to_tensor(inputs, tf.as_dtype(self.dtype) if inputs.dtype.kind == "f" else None)
        if isinstance(self, network) and not self._is_graph_network:
            with recorded(self, args, kwargs, backend):
                return call(self, inputs, **kwargs)
        return call(self, inputs, *args, **kwargs)

    return run


@contextlib.contextmanager
def recorded(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], backend: Any) -> Iterator[None]:
    """Have a layer keep what its ``call`` returns, from which its shapes follow.

    Args:
        layer: the layer.
        args: positional arguments of ``call`` behind the inputs, which become named ones.
        kwargs: named arguments of ``call``; the learning phase is added if it takes one.
        backend: Keras' backend.
    """
    own = layer.call
    parameters = inspect.signature(own).parameters
    names = list(parameters)[1:]
    kwargs.update(zip(names, args, strict=False))
    if "training" in parameters and kwargs.get("training") is None:
        kwargs["training"] = backend.learning_phase()

    def call(*inputs: Any, **named: Any) -> Any:
        layer.__dict__["_last"] = own(*inputs, **named)
        return layer.__dict__["_last"]

    layer.__dict__["call"] = call
    try:
        yield
    finally:
        del layer.__dict__["call"]


def _of_last(own: Callable[..., Any], backend: Any) -> Callable[..., Any]:
    """``compute_output_shape`` of a model that is a class of a program: the shape of its last output."""

    @functools.wraps(own)
    def run(self: Any, input_shape: Any) -> Any:
        last = self.__dict__.get("_last")
        if self._is_graph_network or last is None:
            return own(self, input_shape)
        if isinstance(last, (list, tuple)):
            return [backend.int_shape(item) for item in last]
        return backend.int_shape(last)

    return run


def _with_training(own: Callable[..., Any], keras: Any) -> Callable[..., Any]:
    """``call`` of a model that is a graph of layers, with the phase in which they are applied."""

    @functools.wraps(own)
    def call(self: Any, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        if training is None:
            return own(self, inputs, mask)
        items = inputs if isinstance(inputs, list) else [inputs]
        masks = mask if isinstance(mask, list) else [mask] * len(items)
        kept = dict(self._output_tensor_cache)
        with phase(keras, training):
            outputs, _, _ = self.run_internal_graph(items, masks)
        # Another call with these inputs may be in the other phase.
        self._output_tensor_cache = kept
        return outputs

    return call


@contextlib.contextmanager
def phase(keras: Any, value: Any) -> Iterator[None]:
    """Fix the learning phase within a block."""
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    module = keras.backend.tensorflow_backend
    if hasattr(module, "tf_keras_backend"):
        phases = module.tf_keras_backend._state.phases
    else:
        phases = module._GRAPH_LEARNING_PHASES
    graph = tf.get_default_graph()
    before = phases.get(graph)
    phases[graph] = value
    try:
        yield
    finally:
        del phases[graph]
        if before is not None:
            phases[graph] = before


def _in_phase(own: Callable[..., Any], backend: Any) -> Callable[..., Any]:
    @functools.wraps(own)
    def run(self: Any, inputs: Any, outputs: Any = None, training: Any = None) -> Any:
        if training is None and outputs is None:
            training = backend.learning_phase()
        return own(self, inputs, outputs, training)

    return run


# -- models that are classes of a program ----------------------------------------------------------


def _parts(model: Any, kind: Any) -> Iterator[Any]:
    """Yield what is of a kind in lists and other containers that are attributes."""
    for name, value in list(vars(model).items()):
        if name.startswith("_") or name in ("inputs", "outputs", "targets"):
            continue
        items = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list, tuple)):
            yield from (item for item in items if isinstance(item, kind))
        elif isinstance(value, kind):
            yield value


def _with_parts(own: property, name: str, layer: Any) -> property:
    """A property of models that counts layers in lists, and variables that are attributes."""

    def get(self: Any) -> Any:
        if self.__dict__.get("_is_graph_network", True):
            return own.fget(self)  # type: ignore[misc]
        known = {id(item) for item in self._layers}
        self._layers.extend(item for item in _parts(self, layer) if id(item) not in known)
        members = own.fget(self)  # type: ignore[misc]
        if not name.endswith("trainable_weights"):
            return members
        trained = name == "trainable_weights"
        held = {id(item) for item in members}
        mine = [v for v in _parts(self, tf.Variable) if v.trainable == trained]
        mine += self.__dict__.get(f"_{name}") or []
        return list(members) + [item for item in mine if id(item) not in held]

    return property(get, own.fset, doc=own.__doc__)
