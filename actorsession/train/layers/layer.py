"""``Layer``, the base class of all layers and of the cells of recurrent networks.

Owns the name, the variable scope and the weights of a layer, and the order of a call: open the scope, check
the inputs, build the weights if there are none, build the outputs. The first call creates the weights with
``get_variable`` below the variable scope that is current then, so they have TensorFlow's names
(``dense/kernel``), and scopes, initialisers and regularisers of the program apply to them. All later calls
share them, wherever they are made.

Programs may derive layers that never call ``__init__``, so every attribute has a default on the class.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypedDict

import numpy as np

from actorsession import ops
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.graph import Graph, get_default_graph, name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import VariableScope
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.store import Reuse
from actorsession.train.layers import nests
from actorsession.train.layers.model_summary import note_call
from actorsession.train.layers.names import initializer_of, snake_case

__all__ = ["Layer", "LayerSettings", "Regularizer", "known_flag", "known_sizes", "smart_cond", "weight_arguments"]

Regularizer: TypeAlias = Callable[[Any], Any]

# Objects that belong to a graph, which a copy of a layer shares with it.
_OF_GRAPHS = (Graph, Operation, Tensor, ops.Variable, ops.PartitionedVariable)


class LayerSettings(TypedDict, total=False):
    """The arguments that every layer takes; see ``Layer``."""

    name: str | None
    trainable: bool
    dtype: Any
    reuse: Reuse
    activity_regularizer: Regularizer | None


class Layer:
    """A layer: a function of tensors that has weights.

    Subclasses define ``call(inputs, ...)``, and ``build(shape)`` if they have weights, which ``build``
    creates with ``add_weight``.

    Args:
        name: the name of its variable scope; that of the class if left out, such as ``dense``. In the first
            call a number is appended if another layer has the name.
        trainable: whether optimisers update its weights.
        dtype: the dtype of its weights; that of its first inputs if left out.
        reuse: ``True`` if its weights exist already below its name, ``AUTO_REUSE`` if they may.
        activity_regularizer: a function of the outputs that returns a loss, which joins
            ``GraphKeys.REGULARIZATION_LOSSES`` at each call, or ``None``.
    """

    trainable = True
    built = False
    _name: str | None = None
    _base_name: str | None = None
    _dtype: DType | None = None
    _reuse: Reuse = None
    _scope: VariableScope | None = None
    _activity_regularizer: Regularizer | None = None

    def __init__(
        self,
        *,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
        reuse: Reuse = None,
        activity_regularizer: Regularizer | None = None,
    ) -> None:
        self._name = self._base_name = name or None
        self.trainable = trainable
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._reuse = reuse
        self._activity_regularizer = activity_regularizer

    # -- properties ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name: that of its variable scope, which is known after the first call."""
        if self._scope is not None:
            return self._scope.name.rsplit("/", 1)[-1]
        return self._name or snake_case(type(self).__name__)

    @property
    def dtype(self) -> Any:
        """The dtype of its weights; ``None`` before it is known."""
        return self._dtype

    @property
    def scope_name(self) -> str:
        """The prefix of its variables' names.

        Raises:
            ValueError: before its first call.
        """
        if self._scope is None:
            raise ValueError(f"{self.name!r} has no scope before it is called for the first time")
        return self._scope.name

    # -- weights ---------------------------------------------------------------------------------

    def _kept(self) -> list[tuple[Any, bool]]:
        """Return its variables and whether they are trainable, in the order of their creation."""
        kept: list[tuple[Any, bool]] = self.__dict__.setdefault("_variables", [])
        return kept

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimisers update."""
        return [v for v, trained in self._kept() if trained and self.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that optimisers do not update; all of them if the layer is not trainable."""
        return [v for v, trained in self._kept() if not (trained and self.trainable)]

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The same as ``trainable_weights``."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The same as ``non_trainable_weights``."""
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """The same as ``weights``."""
        return self.weights

    @property
    def losses(self) -> list[Any]:
        """The regularisation losses of its weights and outputs."""
        losses: list[Any] = self.__dict__.setdefault("_losses", [])
        return losses

    @property
    def updates(self) -> list[Any]:
        """The operations that update its non-trainable weights while a model is trained."""
        updates: list[Any] = self.__dict__.setdefault("_updates", [])
        return updates

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Regularizer | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = ops.VariableSynchronization.AUTO,
        aggregation: Any = ops.VariableAggregation.NONE,
        partitioner: Any = None,
    ) -> Any:
        """Return the variable with a name below the layer's scope, from ``get_variable``.

        Args:
            name: the name below the scope.
            shape: the shape of the variable.
            dtype: element type; the layer's if omitted, else float32.
            initializer: the initialiser; the scope's if omitted.
            regularizer: the regulariser; the scope's if omitted.
            trainable: whether the variable is trainable, if the layer is.
            constraint: the constraint; the scope's if omitted.
            use_resource: without effect.
            synchronization: without effect.
            aggregation: without effect.
            partitioner: the partitioner; the scope's if omitted.

        Raises:
            ValueError: as for ``get_variable``.
        """
        reuse = True if self.built else self._reuse
        known = len(_regularization_losses())
        with ops.variable_scope(self._enter_scope(None), reuse=reuse, auxiliary_name_scope=False):
            variable = ops.get_variable(
                name,
                shape,
                as_dtype(dtype or self._dtype or float32),
                initializer,
                regularizer,
                trainable is not False and self.trainable,
                partitioner=partitioner,
                use_resource=use_resource,
                constraint=constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )
        self.losses.extend(_regularization_losses()[known:])
        self._keep(variable)
        return variable

    add_variable = add_weight

    def _keep(self, variable: Any) -> None:
        parts: Iterable[Any] = variable if isinstance(variable, ops.PartitionedVariable) else [variable]
        trained = ops.trainable_variables()
        for part in parts:
            if all(part is not known for known, _ in self._kept()):
                self._kept().append((part, any(part is each for each in trained)))

    def add_update(self, update: Operation) -> None:
        """Add an operation that updates a weight to ``updates`` and to ``GraphKeys.UPDATE_OPS``."""
        self.updates.append(update)
        update.graph.add_to_collection(GraphKeys.UPDATE_OPS, update)

    def add_loss(self, loss: Any) -> None:
        """Add a loss to ``losses`` and to ``GraphKeys.REGULARIZATION_LOSSES``."""
        self.losses.append(loss)
        get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    # -- calling ---------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Build the outputs, and in the first call the weights.

        Args:
            inputs: the inputs; arrays and lists become constants.
            args: further arguments of ``call``.
            kwargs: further arguments of ``call``; and ``scope``, the variable scope or its name in the first
                call, which is one with the layer's name, made unique, if left out.

        Returns:
            What ``call`` returns.

        Raises:
            ValueError: for inputs of a shape that the layer does not take.
            TypeError: for inputs of a dtype that it does not take.
        """
        scope, graph = kwargs.pop("scope", None), getattr(inputs, "graph", None)
        if isinstance(graph, Graph) and graph is not get_default_graph():
            with graph.as_default():
                return self._invoke(scope, inputs, *args, **kwargs)
        return self._invoke(scope, inputs, *args, **kwargs)

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer."""
        return self(inputs, *args, **kwargs)

    def _enter_scope(self, scope: Any) -> VariableScope:
        """Return the scope of the variables, which is opened on first use."""
        if self._scope is None:
            if self._base_name is None:
                self._base_name = snake_case(type(self).__name__)
            base = scope if self._reuse and scope is not None else self._base_name
            opening = (
                ops.variable_scope(base) if self._reuse else ops.variable_scope(scope, default_name=self._base_name)
            )
            with opening as self._scope:
                pass
        assert self._scope is not None
        return self._scope

    def _invoke(self, scope: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        known, reuse = self._enter_scope(scope), True if self.built else self._reuse
        with (
            ops.variable_scope(known, reuse=reuse, auxiliary_name_scope=False) as opened,
            name_scope(opened.original_name_scope or None),
        ):
            inputs = self._converted(inputs)
            self._check_inputs(inputs)
            if not self.built:
                if self._dtype is None:
                    self._dtype = self._dtype_of(inputs)
                self.build(self._shape_of(inputs))
            if "scope" in inspect.signature(self.call).parameters:
                kwargs["scope"] = opened
            outputs = self.call(inputs, *args, **kwargs)
            if outputs is None:
                raise ValueError(f"{type(self).__name__}.call returned None; {self._returns}")
            if self._activity_regularizer is not None:
                loss = self._activity_loss(outputs)
                if loss is not None:
                    self.add_loss(loss)
        # Set only now, because ``call`` may create variables.
        self.built = True
        note_call(self, outputs)
        return outputs

    _returns = "it must return its outputs"

    def _activity_loss(self, outputs: Any) -> Any:
        """Return the loss that the regulariser of outputs gives."""
        assert self._activity_regularizer is not None
        return self._activity_regularizer(outputs)

    def _converted(self, inputs: Any) -> Any:
        """Return the inputs as tensors."""
        return ops.convert_to_tensor(inputs, None if _is_symbolic(inputs) else self._dtype)

    def _dtype_of(self, inputs: Any) -> DType:
        """Return the dtype of weights for inputs."""
        return as_dtype(inputs.dtype)

    def _shape_of(self, inputs: Any) -> Any:
        """Return the shape of inputs, for ``build``."""
        return inputs.shape

    def _check_inputs(self, inputs: Any) -> None:
        """Refuse inputs that the layer does not accept; by default it accepts all."""

    def build(self, _: Any) -> None:
        """Create the weights for inputs of a shape; by default there are none."""

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Build the outputs; defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} has no method call")

    # -- the rest --------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for key, value in self.__dict__.items():
            for leaf in nests.flatten(value):
                if isinstance(leaf, _OF_GRAPHS):
                    memo[id(leaf)] = leaf
            shared = isinstance(value, VariableScope)
            copied.__dict__[key] = copy.copy(value) if shared else copy.deepcopy(value, memo)
        return copied

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def _regularization_losses() -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES)


def _is_symbolic(value: Any) -> bool:
    return hasattr(value, "_operand") or hasattr(value, "_as_graph_element")


def weight_arguments(
    initializer: Any, regularizer: Regularizer | None, constraint: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Return the arguments of ``Layer.add_weight`` that users give for a weight.

    Args:
        initializer: a function or the name of one; ``None`` for that of the variable scope.
        regularizer: a function of the weight that returns a loss.
        constraint: a function that optimisers apply to the updated weight.

    Raises:
        ValueError: for an unknown name.
        TypeError: for an initialiser that is no function.
    """
    return {"initializer": initializer_of(initializer), "regularizer": regularizer, "constraint": constraint}


def known_sizes(layer: Layer, shape: Any, axes: Iterable[int]) -> list[int]:
    """Return the sizes of axes of inputs, which the weights of a layer depend on.

    Args:
        layer: the layer, for the message.
        shape: the static shape of the inputs.
        axes: the axes, of which negative ones count from the last.

    Raises:
        ValueError: if the rank or one of the sizes is unknown, or an axis does not exist.
    """
    sizes, known = TensorShape(shape).sizes, []
    for axis in axes:
        size = sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else None
        if size is None:
            raise ValueError(
                f"the weights of {type(layer).__name__} {layer.name!r} depend on the size of axis {axis} of "
                f"its inputs, which have shape {shape}: give them a shape in which it is known, for example "
                "with placeholder(dtype, shape) or set_shape"
            )
        known.append(int(size))
    return known


def known_flag(pred: Any) -> bool | None:
    """Return the value of a bool, 0 or 1, or scalar bool tensor; ``None`` if only a step knows it.

    Raises:
        TypeError: for anything else.
    """
    value = pred
    if _is_symbolic(pred):
        value = get_static_value(pred) if isinstance(pred, Tensor) else None
        if value is None:
            return None
    if np.ndim(value) or value not in (0, 1):
        raise TypeError(f"training is a bool or a scalar bool tensor, got {pred!r:.100}")
    return bool(value)


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Return the result of one of two functions.

    Args:
        pred: a bool, 0 or 1, or a scalar bool tensor. Only a tensor of unknown value makes a ``cond``.
        true_fn: builds the result for true.
        false_fn: builds the result for false.

    Raises:
        TypeError: for anything else.
    """
    flag = ops.convert_to_tensor(pred) if _is_symbolic(pred) else pred
    value = known_flag(flag)
    if value is None:
        return ops.cond(flag, true_fn, false_fn)
    return true_fn() if value else false_fn()
