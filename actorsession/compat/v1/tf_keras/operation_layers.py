"""Operations between layers: what a program computes with ``tf`` from outputs of layers is a layer."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable
from typing import Any

import actorsession.compat.v1 as _tf
from actorsession.graph.operation import Operation, Tensor

__all__ = ["bridge"]

tf: Any = _tf

# What a copy of the operations shares with them.
_SHARED = ("Placeholder", "PlaceholderWithDefault", "VarHandleOp", "Variable", "VariableV2")


def bridge(keras: Any) -> None:
    """Have layers and models take tensors that operations have computed from those of layers.

    Args:
        keras: the package.
    """
    layer: Any = keras.engine.base_layer.Layer
    network: Any = keras.engine.network.Network
    layer_class = _class_of(keras)
    keras.utils.get_custom_objects()[layer_class.__name__] = layer_class
    layer.__call__ = _after_operations(layer.__call__, layer_class)
    network.__init__ = _of_operations(network.__init__, layer_class)


def _after_operations(call: Callable[..., Any], layer_class: Any) -> Callable[..., Any]:
    @functools.wraps(call)
    def run(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, layer_class):
            for item in inputs if isinstance(inputs, (list, tuple)) else [inputs]:
                _as_layer(item, layer_class)
        return call(self, inputs, *args, **kwargs)

    return run


def _of_operations(init: Callable[..., Any], layer_class: Any) -> Callable[..., Any]:
    @functools.wraps(init)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        outputs = kwargs.get("outputs", args[1] if len(args) > 1 else None)
        for item in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
            _as_layer(item, layer_class)
        init(self, *args, **kwargs)

    return run


def _as_layer(tensor: Any, layer_class: Any) -> None:
    """Give a tensor a history of layers, if operations have computed it from the outputs of some."""
    if not isinstance(tensor, Tensor) or hasattr(tensor, "_keras_history"):
        return
    inside, sources, shared = _before(tensor)
    if sources:
        layer = layer_class(inside=inside, sources=sources, shared=shared, result=tensor)
        layer(sources if len(sources) > 1 else sources[0])


def _before(tensor: Tensor) -> tuple[list[Operation], list[Tensor], list[Tensor]]:
    """Return what a tensor is computed of: operations, outputs of layers, and what is outside both."""
    inside: dict[Operation, None] = {}
    sources: dict[Tensor, None] = {}
    shared: dict[Tensor, None] = {}
    ahead = [tensor]
    seen = {tensor}
    while ahead:
        item = ahead.pop()
        if hasattr(item, "_keras_history"):
            sources[item] = None
        elif item.op.type in _SHARED:
            shared[item] = None
        elif not hasattr(item, "_of_no_layer") and item.op not in inside:
            inside[item.op] = None
            fresh = [each for each in item.op.inputs if each not in seen]
            seen.update(fresh)
            ahead += fresh
    if not sources:
        for item in seen:  # which need not be looked at again
            item._of_no_layer = True  # type: ignore[attr-defined]
    return list(inside), list(sources), list(shared)


def _class_of(keras: Any) -> Any:
    """Return the class of layers that are operations."""
    base: Any = keras.layers.Layer

    class OperationLayer(base):  # type: ignore[misc]
        """Operations between the outputs of layers and a tensor.

        Args:
            inside: the operations.
            sources: the outputs of layers that they use.
            shared: variables and placeholders that they use.
            result: the tensor.
            content: the operations as ``get_config`` gives them, instead.
            **kwargs: those of ``Layer``.
        """

        def __init__(
            self,
            inside: Any = (),
            sources: Any = (),
            shared: Any = (),
            result: Any = None,
            content: dict[str, Any] | None = None,
            **kwargs: Any,
        ) -> None:
            if result is not None:
                kwargs.setdefault("name", f"tf_op_layer_{result.op.name.replace('/', '_')}")
            super().__init__(**kwargs)
            self._names = {op.name for op in inside}
            self._sources, self._shared, self._result = list(sources), list(shared), result
            self._content = content
            self._last = None

        def call(self, inputs: Any) -> Any:
            """Return the tensor, or what a copy of the operations computes from other inputs."""
            items = inputs if isinstance(inputs, list) else [inputs]
            same = zip(items, self._sources, strict=False)
            if self._result is not None and all(item is source for item, source in same):
                self._last = self._result
                return self._result
            content = self._content or self._described()
            definition = tf.GraphDef.FromString(base64.b64decode(content["graph"]))
            input_map = dict(zip(content["inputs"], items, strict=True))
            input_map.update({item.name: item for item in self._shared})
            with tf.control_dependencies(None):
                [self._last] = tf.import_graph_def(
                    definition, input_map=input_map, return_elements=[content["output"]], name="copied"
                )
            return self._last

        def _described(self) -> dict[str, Any]:
            whole = self._result.graph.as_graph_def()
            reduced = tf.GraphDef(library=whole.library, versions=whole.versions)
            for node in whole.node:
                if node.name in self._names:
                    kept = [name for name in node.input if not name.startswith("^") or name[1:] in self._names]
                    del node.input[:]
                    node.input.extend(kept)
                    reduced.node.append(node)
            return {
                "graph": base64.b64encode(reduced.SerializeToString()).decode(),
                "inputs": [item.name for item in self._sources],
                "output": self._result.name,
            }

        def compute_output_shape(self, input_shape: Any) -> Any:
            """Return the shape of what ``call`` returned last."""
            return keras.backend.int_shape(self._last)

        def get_config(self) -> dict[str, Any]:
            """Return the operations.

            Raises:
                NotImplementedError: if they use variables or placeholders.
            """
            if self._shared:
                raise NotImplementedError(
                    f"{self.name} uses {', '.join(item.name for item in self._shared)}, which no file of a "
                    "model has: make it a layer of its own"
                )
            return {**super().get_config(), "content": self._content or self._described()}

    return OperationLayer
