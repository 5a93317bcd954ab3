"""Conversion of graphs to and from the formats of other systems, above all TensorFlow's ``GraphDef``.

``protos`` holds the messages; ``message`` and ``text_format`` read and write them, on top of the package
``protobuf``. ``exporter`` and ``importer`` convert graphs to messages and back. ``signatures`` holds what
TensorFlow's files say of operation types. Only ``compat``, and the top-level package on first use of its
names, import this package; nothing below does.
"""

from __future__ import annotations

from actorsession.interop import graph_util, proto_views, protos, text_format
from actorsession.interop.collections import register_proto_function, variable_from_proto, variable_to_proto
from actorsession.interop.exporter import graph_def_of, write_graph
from actorsession.interop.importer import import_graph_def
from actorsession.interop.meta_graph import ImportedMetaGraph, export_meta_graph, import_meta_graph, read_meta_graph
from actorsession.interop.protos import (
    AttrValue,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)
from actorsession.interop.tensors import make_ndarray, make_tensor_proto
from actorsession.interop.training_protos import QueueRunnerDef, queue_runner_to_proto, saver_to_proto

__all__ = [
    "AttrValue", "GraphDef", "ImportedMetaGraph", "MetaGraphDef", "NodeDef", "QueueRunnerDef",
    "TensorProto", "TensorShapeProto", "VersionDef", "export_meta_graph", "graph_def_of", "graph_util",
    "import_graph_def", "import_meta_graph", "make_ndarray", "make_tensor_proto", "proto_views", "protos",
    "queue_runner_to_proto", "read_meta_graph", "register_proto_function", "saver_to_proto",
    "text_format", "variable_from_proto", "variable_to_proto", "write_graph",
]  # fmt: skip
