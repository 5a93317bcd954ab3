"""The graph: element types, shapes, devices, operations, scopes, plain data, op registry.

This is the lowest package that deals with dataflow. It computes nothing and does no communication; ``ops/``
fills its op registry, planners read its plain data.
"""

from __future__ import annotations

from actorsession.graph.device import DeviceAttributes, DeviceSpec
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.graph import Graph, constant_value, get_default_graph, reset_default_graph
from actorsession.graph.node import GraphDef, NodeDef, TensorSpec
from actorsession.graph.operation import Operation, OperatorMixin, Tensor
from actorsession.graph.shape import TensorShape

__all__ = [
    "DType", "DeviceAttributes", "DeviceSpec", "Graph", "GraphDef", "NodeDef", "Operation",
    "OperatorMixin", "Tensor", "TensorShape", "TensorSpec", "as_dtype", "constant_value",
    "get_default_graph", "reset_default_graph",
]  # fmt: skip
