"""``tf.layers.Layer``, the class that programs derive layers from, and ``InputSpec``.

It is the library's ``Layer`` with what programs of TensorFlow 1 read and call on top: structures as inputs,
specifications of them, losses and updates by the inputs they belong to, the tensors of its calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.layers.experimental import in_keras_style
from actorsession.graph.dtypes import as_dtype, float32
from actorsession.graph.graph import Graph, get_default_graph, name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train.layers import layer as ours
from actorsession.train.layers import nests
from actorsession.train.layers.names import snake_case, unique_name

__all__ = ["InputSpec", "Layer"]


class InputSpec:
    """What a layer takes as one of its inputs.

    Args:
        dtype: the dtype, or ``None`` for any, like the others.
        shape: the shape, with ``None`` for any size.
        ndim: the rank; that of ``shape`` if that is given.
        max_ndim: the largest rank.
        min_ndim: the smallest rank.
        axes: sizes by axis.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}

    def __repr__(self) -> str:
        fields = [f"{name}={value}" for name, value in self.__dict__.items() if value not in (None, {})]
        return f"InputSpec({', '.join(fields)})"

    def _mismatch(self, inputs: Any) -> str | None:
        """Return what is wrong with inputs, or ``None``."""
        actual = TensorShape(inputs.shape)
        sizes, rank = actual.sizes, actual.rank
        if rank is None or sizes is None:
            ranks = (self.ndim, self.min_ndim, self.max_ndim)
            if any(each is not None for each in ranks):
                return "its rank is undefined, but the layer requires a defined rank."
            sizes, rank = (), 0
        received = f"Full shape received: {list(sizes)}"
        if self.ndim is not None and rank != self.ndim:
            return f"expected ndim={self.ndim}, found ndim={rank}. {received}"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"expected max_ndim={self.max_ndim}, found ndim={rank}. {received}"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f": expected min_ndim={self.min_ndim}, found ndim={rank}. {received}"
        if self.dtype is not None and inputs.dtype.name != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={inputs.dtype}. {received}"
        for axis, size in (self.axes if sizes else {}).items():
            size = getattr(size, "value", size)
            if size is not None and sizes[axis] not in (size, None):
                return (
                    f"expected axis {axis} of input shape to have value {size} but received input with shape "
                    f"{list(sizes)}"
                )
        expected = TensorShape(self.shape)
        if not actual.is_compatible_with(expected):
            return f"expected shape={self.shape}, found shape={list(sizes)}"
        return None


class LayerCalls:
    """The calls of a layer, in their order: what each took and returned."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []

    def add(self, inputs: Any, outputs: Any) -> None:
        """Add a call."""
        self._calls.append({"input": inputs, "output": outputs})

    def only(self, layer: str, what: str) -> Any:
        """Return the ``input`` or the ``output`` of the only call of a layer.

        Raises:
            AttributeError: if there is none, or there are several.
        """
        if not self._calls:
            raise AttributeError(f"Layer {layer} is not connected, no {what} to return.")
        if len(self._calls) > 1:
            raise AttributeError(
                f"Layer {layer} has multiple inbound nodes, hence the notion of 'layer {what}' is "
                "ill-defined: it was called several times. Keep what the calls take and return instead."
            )
        return self._calls[0][what]

    def at(self, number: int, what: str, of_it: str = "") -> Any:
        """Return the ``input`` or the ``output`` of a call.

        Args:
            number: the number of the call.
            what: which of both.
            of_it: what is wanted of it, for the errors.

        Raises:
            RuntimeError: if there was no call yet.
            ValueError: for a number that is too large.
        """
        if not self._calls:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}{of_it}.")
        if not number < len(self._calls):
            raise ValueError(
                f"Asked to get {what}{of_it} at node {number}, but the layer has only {len(self._calls)} inbound nodes."
            )
        return self._calls[number][what]

    def depending(self, nodes: Iterable[Any], inputs: Any) -> list[Any]:
        """Return those nodes that depend on inputs; for ``None`` those that depend on none of the calls'."""
        if inputs is None:
            known = [leaf for call in self._calls for leaf in nests.flatten(call["input"])]
            return [each for each in nodes if not _reaches(each, known)]
        leaves = nests.flatten(inputs)
        return [each for each in nodes if _reaches(each, leaves)]


class Layer(ours.Layer):
    """A layer whose subclasses define ``call``, and ``build`` if it has weights.

    Args:
        trainable: whether optimisers update its weights.
        name: the name of its variable scope; that of the class if left out.
        dtype: the dtype of its weights; that of its first inputs if left out.
        kwargs: ``activity_regularizer``, ``_scope`` and ``_reuse``, as for the functions of ``tf.layers``.

    Raises:
        TypeError: for any other argument.
    """

    input_spec: Any = None
    stateful = False
    _alone = False

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, trainable=trainable, dtype=dtype, **self._settings(kwargs))
        _ = self.name  # Numbers the names in the order in which layers are made.

    def _settings(self, more: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of ``ours.Layer`` for the further arguments of a class.

        Raises:
            TypeError: for an argument that there is not.
        """
        more = dict(more)
        reuse, scope = more.pop("_reuse", None), more.pop("_scope", None)
        settings = {"reuse": reuse, "activity_regularizer": more.pop("activity_regularizer", None)}
        for name in ("name", "trainable", "dtype"):
            if name in more:
                settings[name] = more.pop(name)
        if more:
            raise TypeError(
                f"Keyword argument not understood: {sorted(more)[0]!r}; beside its own "
                f"{type(self).__name__} takes "
                "activity_regularizer, dtype, name, trainable, _reuse and _scope"
            )
        self._alone = in_keras_style()
        if self._alone and (scope is not None or reuse):
            raise ValueError("in Keras style a layer has no scope and no reuse of its own")
        if scope is not None:
            with ops.variable_scope(scope) as self._scope:
                pass
        return settings

    # -- what programs read -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the layer; one that is derived from the class has a number of its own in the graph."""
        if self._name is None:
            self._base_name = snake_case(type(self).__name__)
            self._name = unique_name(self._base_name)
        return self._name

    @property
    def graph(self) -> Graph:
        """The graph of its weights and outputs."""
        known = self.__dict__.get("_graph")
        return get_default_graph() if known is None else known

    @property
    def scope_name(self) -> str:
        """The prefix of its variables' names.

        Raises:
            ValueError: before its first call.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self.name}" has not been used yet. '
                "The scope name is determined the first time the layer instance is called. You must "
                "therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    def count_params(self) -> int:
        """Return the number of elements of all its weights.

        Raises:
            ValueError: before they are made.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build "
                f"it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(math.prod(variable.shape.as_list()) for variable in self.weights)

    def _calls(self) -> LayerCalls:
        calls: LayerCalls = self.__dict__.setdefault("_layer_calls", LayerCalls())  # of one without ``__init__``, too
        return calls

    input = property(lambda self: self._calls().only(self.name, "input"), doc="The inputs of its call.")
    output = property(lambda self: self._calls().only(self.name, "output"), doc="The outputs of its call.")

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs of its only call, as a tuple."""
        return nests.mapped(_as_tuple, self.input)

    @property
    def output_shape(self) -> Any:
        """The shape of the outputs of its only call, as a tuple."""
        return nests.mapped(_as_tuple, self.output)

    def get_input_at(self, node_index: int) -> Any:
        """Return the inputs of a call, by its number."""
        return self._calls().at(node_index, "input")

    def get_output_at(self, node_index: int) -> Any:
        """Return the outputs of a call, by its number."""
        return self._calls().at(node_index, "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """Return the shape of the inputs of a call, by its number."""
        return nests.mapped(_as_tuple, self._calls().at(node_index, "input", " shape"))

    def get_output_shape_at(self, node_index: int) -> Any:
        """Return the shape of the outputs of a call, by its number."""
        return nests.mapped(_as_tuple, self._calls().at(node_index, "output", " shape"))

    # -- losses and updates -----------------------------------------------------------------------

    @property
    def updates(self) -> list[Any]:
        """The operations that update its weights; none where it is not trainable and has no state."""
        return super().updates if self.trainable or self.stateful else []

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses, one or a list, to ``losses`` and to ``GraphKeys.REGULARIZATION_LOSSES``.

        Args:
            losses: tensors, or functions that return one.
            inputs: accepted for compatibility: which inputs a loss depends on is read from the graph.
        """
        for loss in _listed(losses):
            tensor = loss() if callable(loss) else loss
            if tensor is not None:
                super().add_loss(tensor)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add updates, one or a list, to ``updates`` and to ``GraphKeys.UPDATE_OPS``.

        Args:
            updates: operations, tensors, or functions that return one. A layer that is not trainable and has
                no state takes none.
            inputs: accepted for compatibility: which inputs an update depends on is read from the graph.
        """
        for update in _listed(updates):
            built = update() if callable(update) else update
            if self.trainable or self.stateful:
                super().add_update(built if isinstance(built, Operation) else _operation_of(built))

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """Return the losses that depend on inputs; for ``None`` those that depend on none of its calls'."""
        return self._calls().depending(self.losses, inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Return the updates that depend on inputs; for ``None`` those that depend on none of its calls'."""
        return self._calls().depending(self.updates, inputs)

    # -- calling ----------------------------------------------------------------------------------

    def _enter_scope(self, scope: Any) -> Any:
        _ = self.name  # of layers that have not called ``__init__``
        if self._alone and self._scope is None:
            with ops.variable_scope(None, default_name=self._base_name) as self._scope:
                pass
        return super()._enter_scope(scope)

    def _invoke(self, scope: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        known = self.__dict__.setdefault("_graph", graph)
        if known is not graph and self.built:
            raise ValueError(f"layer {self.name!r} was built in another graph, and its weights belong to that one")
        outputs = super()._invoke(scope, inputs, *args, **kwargs)
        self._calls().add(self._converted(inputs), outputs)
        return outputs

    def _activity_loss(self, outputs: Any) -> Any:
        # The loss is that of one example.
        losses = []
        with name_scope("ActivityRegularizer"):
            for leaf in nests.flatten(outputs):
                loss = super()._activity_loss(leaf)
                if loss is not None:
                    losses.append(loss / ops.cast(ops.shape(leaf)[0], loss.dtype))
            return losses[0] if len(losses) == 1 else ops.add_n(losses) if losses else None

    def _converted(self, inputs: Any) -> Any:
        if isinstance(inputs, list) and not any(
            isinstance(leaf, (Tensor, ops.Variable)) for leaf in nests.flatten(inputs)
        ):
            return ops.convert_to_tensor(inputs, self._dtype)
        return nests.mapped(self._as_input, inputs)

    def _as_input(self, leaf: Any) -> Any:
        if isinstance(leaf, ops.Variable):
            return ops.convert_to_tensor(leaf)
        return (
            ops.convert_to_tensor(leaf, self._dtype) if isinstance(leaf, (np.ndarray, np.generic, int, float)) else leaf
        )

    def _dtype_of(self, inputs: Any) -> Any:
        leaves = nests.flatten(inputs)
        if len(leaves) == 1:
            return super()._dtype_of(leaves[0])
        return as_dtype(leaves[0].dtype) if leaves else float32

    def _shape_of(self, inputs: Any) -> Any:
        shapes = nests.mapped(lambda leaf: TensorShape(leaf.shape), inputs)
        return list(shapes) if type(shapes) is tuple else shapes

    def _check_inputs(self, inputs: Any) -> None:
        if self.input_spec is not None:
            specs, leaves = _listed(self.input_spec), nests.flatten(inputs)
            if len(specs) != len(leaves):
                raise ValueError(
                    f"Layer {self.name} expects {len(specs)} inputs, but it received {len(leaves)} input "
                    f"tensors. Inputs received: {leaves}"
                )
            for place, (spec, leaf) in enumerate(zip(specs, leaves, strict=True)):
                wrong = None if spec is None else spec._mismatch(leaf)
                if wrong:
                    raise ValueError(f"Input {place} of layer {self.name} is incompatible with the layer: {wrong}")
        super()._check_inputs(inputs)

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of a shape; subclasses that override it may call it last."""
        if self._dtype is None:
            self._dtype = float32
        super().build(TensorShape(input_shape) if _is_shape(input_shape) else input_shape)
        self.built = True

    def call(self, inputs: Any, *_: Any, **__: Any) -> Any:
        """Return the inputs; subclasses define it."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs for inputs of a shape; subclasses of your own define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no compute_output_shape")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _operation_of(update: Any) -> Any:
    return update.op if hasattr(update, "op") else ops.convert_to_tensor(update).op


def _is_shape(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(size is None or not nests.is_nested(size) for size in value) and not any(
            isinstance(size, TensorShape) for size in value
        )
    return isinstance(value, TensorShape)


def _as_tuple(leaf: Any) -> tuple[Any, ...]:
    return tuple(TensorShape(leaf.shape).as_list())


def _reaches(node: Any, leaves: Iterable[Any]) -> bool:
    """Return whether a node of a graph depends on one of some tensors."""
    sources = {leaf for leaf in leaves if isinstance(leaf, Tensor)}
    ahead: list[Any] = [node if isinstance(node, Operation) else getattr(node, "op", None)]
    if node in sources:
        return True
    seen: set[Operation] = set()
    while ahead:
        operation = ahead.pop()
        if operation is None or operation in seen:
            continue
        seen.add(operation)
        inputs = list(operation.inputs)
        if any(tensor in sources for tensor in inputs):
            return True
        ahead += [tensor.op for tensor in inputs] + list(operation.control_inputs)
    return False
