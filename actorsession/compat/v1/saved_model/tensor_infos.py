"""``tf.saved_model.utils``: conversion of tensors to messages, and lookup of their tensors in a graph."""

from __future__ import annotations

from typing import Any

from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.interop.meta_protos import TensorInfo
from actorsession.ops import Variable
from actorsession.opsets import SparseTensor

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]

# The numbers of types of references are those above.
_REFERENCES = 100


def build_tensor_info(tensor: Any) -> TensorInfo:
    """Return the message for a tensor in a signature: its name or those of its components, type and shape.

    Args:
        tensor: a tensor, a sparse tensor, or a variable.

    Raises:
        TypeError: for any other value.
    """
    if isinstance(tensor, Variable):
        # A reference is named itself, as in TensorFlow; of a resource its value.
        by_reference = tensor.dtype.as_datatype_enum > _REFERENCES
        tensor = tensor._as_graph_element() if by_reference else tensor.value()
    if not isinstance(tensor, (Tensor, SparseTensor)):
        raise TypeError(
            f"a signature consists of tensors and sparse tensors, got {type(tensor).__name__}: {tensor!r:.100}"
        )
    info = TensorInfo(dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto())
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor | SparseTensor:
    """Return the tensor of a graph that a message refers to.

    Args:
        tensor_info: the message.
        graph: the graph; the default graph if omitted.
        import_scope: the name scope into which the graph was imported.

    Raises:
        KeyError: if there is no such tensor.
        ValueError: for a message without a tensor's name, and for a value of several tensors that is not
            sparse, such as a ragged one; the error names them.
    """
    source = get_default_graph() if graph is None else graph
    before = f"{import_scope}/" if import_scope else ""

    def named(name: str) -> Tensor:
        return source.get_tensor_by_name(before + name)

    kind = tensor_info.WhichOneof("encoding")
    if kind == "name":
        return named(tensor_info.name)
    if kind == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            named(parts.indices_tensor_name), named(parts.values_tensor_name), named(parts.dense_shape_tensor_name)
        )
    if kind == "composite_tensor":
        names = [before + part.name for part in tensor_info.composite_tensor.components]
        raise ValueError(f"this value is several tensors here, and no object of its own: {names}")
    raise ValueError(f"Invalid TensorInfo.encoding: {kind}")
