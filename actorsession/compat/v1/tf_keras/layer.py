"""``tf.keras.layers.Layer``: the base of layers as programs for TensorFlow 1.15 derive from it."""

from __future__ import annotations

import abc
from typing import Any

from actorsession.compat.found_keras import library
from actorsession.compat.v1.graphs.forms import TensorShape, as_dtype
from actorsession.compat.v1.ops.operations import Variable
from actorsession.compat.v1.tf_keras.calling import recorded
from actorsession.graph.dimension import Dimension

__all__ = ["InputSpec", "Layer"]

_keras: Any = library()
backend, InputSpec = _keras.backend, _keras.engine.InputSpec
_Base: Any = _keras.layers.Layer
_regularizers, _constraints = _keras.regularizers, _keras.constraints


class _LayerType(abc.ABCMeta):
    """Every layer of Keras is an instance of ``Layer``, and every class of layers a subclass."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Base) if cls is Layer else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, _Base) if cls is Layer else super().__subclasscheck__(subclass)


class Layer(_Base, metaclass=_LayerType):  # type: ignore[misc]
    """The base of layers: shapes are ``TensorShape``, what is set as an attribute is tracked.

    Beyond Keras' own: ``build`` gets a ``TensorShape``; ``add_weight`` needs no name; shapes of results
    follow from the results; weights of layers and variables that are attributes belong to the layer; and a
    ``call`` that takes ``training`` gets the learning phase.

    Args:
        trainable: whether its weights are trained.
        name: its name.
        dtype: element type of its weights.
        **kwargs: further arguments of Keras.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("build")
        if own is not None:

            def build(self: Any, *args: Any, **kwargs: Any) -> Any:
                # Programs call it themselves, too, and some of their own take nothing.
                shapes = [None if shape is None else _as_shapes(shape) for shape in args]
                return own(self, *shapes, **kwargs)

            setattr(cls, "build", build)  # noqa: B010

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        object.__setattr__(self, "_attributes", {})
        object.__setattr__(self, "_last", None)
        settings = {"name": name, "dtype": dtype}
        more = {key: value for key, value in settings.items() if value is not None}
        super().__init__(trainable=trainable, **more, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__.get("_attributes")
        if attributes is not None and not name.startswith("_"):
            items = value if isinstance(value, (list, tuple)) else [value]
            kept = [item for item in items if isinstance(item, (_Base, Variable))]
            if kept and name not in _LISTS:
                attributes[name] = kept
        super().__setattr__(name, value)

    @property
    def dtype(self) -> Any:
        """The element type of its weights, which programs set as ``_dtype``."""
        return self.__dict__.get("_dtype") or backend.floatx()

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        object.__setattr__(self, "_dtype", dtype)

    def add_weight(  # type: ignore[no-untyped-def]
        self,
        name=None,
        shape=None,
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=True,
        constraint=None,
        **kwargs,
    ) -> Any:
        """Make a weight.

        Args:
            name: its name.
            shape: its shape; a scalar if left out.
            dtype: its element type.
            initializer: what makes its first value.
            regularizer: what is added to the loss for it.
            trainable: whether it is trained.
            constraint: what its value becomes after each step.
            **kwargs: ``use_resource``, ``partitioner`` and similar ones, which change nothing.
        """
        sizes = tuple(TensorShape(() if shape is None else shape).as_list())
        return super().add_weight(
            name=name or "weight",
            shape=sizes,
            dtype=as_dtype(dtype or self.dtype or backend.floatx()).name,
            initializer=initializer or ("glorot_uniform" if sizes else "zeros"),
            regularizer=_regularizers.get(regularizer),
            trainable=trainable,
            constraint=_constraints.get(constraint),
        )

    add_variable = add_weight

    def build(self, input_shape: Any = None) -> None:
        """Make the weights; there are none.

        Args:
            input_shape: the shape of the inputs.
        """
        super().build(input_shape)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply the layer; positional arguments of ``call`` may follow the inputs."""
        with recorded(self, args, kwargs, backend):
            return super().__call__(inputs, **kwargs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of what ``call`` returned last."""
        if self._last is None:
            return super().compute_output_shape(input_shape)
        if isinstance(self._last, (list, tuple)):
            return [backend.int_shape(item) for item in self._last]
        return backend.int_shape(self._last)

    def _tracked(self, kind: str) -> list[Any]:
        tracked = list(getattr(super(), kind))
        own = {id(item) for item in (*self._trainable_weights, *self._non_trainable_weights)}
        for items in self._attributes.values():
            for item in items:
                if isinstance(item, _Base):
                    tracked += getattr(item, kind)
                elif (
                    kind.endswith("weights") and id(item) not in own and item.trainable == (kind == "trainable_weights")
                ):
                    tracked.append(item)
        return list({id(item): item for item in tracked}.values())

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that are trained, those of inner layers among them."""
        return self._tracked("trainable_weights") if self.trainable else []

    @trainable_weights.setter
    def trainable_weights(self, weights: list[Any]) -> None:
        self._trainable_weights = weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights that are not trained."""
        frozen = self._tracked("non_trainable_weights")
        return frozen if self.trainable else [*self._tracked("trainable_weights"), *frozen]

    @non_trainable_weights.setter
    def non_trainable_weights(self, weights: list[Any]) -> None:
        self._non_trainable_weights = weights

    @property
    def losses(self) -> list[Any]:
        """The losses of the layer and of inner ones."""
        return self._tracked("losses")

    @property
    def updates(self) -> list[Any]:
        """The updates of the layer and of inner ones."""
        return self._tracked("updates")

    @property
    def variables(self) -> list[Any]:
        """All weights."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    weights = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """The weights that are trained."""
        return self.trainable_weights


# What Keras itself keeps in attributes.
_LISTS = ("input_spec", "trainable_weights", "non_trainable_weights")


def _as_shapes(shape: Any) -> Any:
    """Return a shape, or the shapes in a structure, as ``TensorShape``."""
    if isinstance(shape, dict):
        return {key: _as_shapes(item) for key, item in shape.items()}
    if isinstance(shape, (list, tuple)) and not all(
        item is None or isinstance(item, (int, Dimension)) for item in shape
    ):
        items = [_as_shapes(item) for item in shape]
        return type(shape)(*items) if hasattr(shape, "_fields") else type(shape)(items)
    return TensorShape(shape)
