"""TensorFlow's messages that accompany a graph: collections, savers, variables and signatures.

``protos`` holds the messages of the graph itself and re-exports these. Schemas refer to other messages by
name.
"""

from __future__ import annotations

from typing import ClassVar

from actorsession.interop.message import Message

__all__ = [
    "Any",
    "AssetFileDef",
    "CollectionDef",
    "MetaGraphDef",
    "SaveSliceInfoDef",
    "SaverDef",
    "SignatureDef",
    "TensorInfo",
    "VariableDef",
]


class Any(Message):
    """A message of any type, as bytes together with the type's name."""

    PACKAGE = "google.protobuf"
    SCHEMA = """
        1 type_url string
        2 value bytes
    """


class CollectionDef(Message):
    """A collection of a graph: names of its elements, or values."""

    SCHEMA = """
        1 node_list CollectionDef.NodeList in kind
        2 bytes_list CollectionDef.BytesList in kind
        3 int64_list CollectionDef.Int64List in kind
        4 float_list CollectionDef.FloatList in kind
        5 any_list CollectionDef.AnyList in kind
    """

    class NodeList(Message):
        """Names of operations or tensors."""

        SCHEMA = """
            1 value string*
        """

    class BytesList(Message):
        """Strings, or messages as bytes."""

        SCHEMA = """
            1 value bytes*
        """

    class Int64List(Message):
        """Integers."""

        SCHEMA = """
            1 value int64*
        """

    class FloatList(Message):
        """Floats."""

        SCHEMA = """
            1 value float*
        """

    class AnyList(Message):
        """Messages of any type."""

        SCHEMA = """
            1 value Any*
        """


class SaverDef(Message):
    """The names of a saver's operations and tensors, and its settings."""

    LEGACY: ClassVar[int]
    V1: ClassVar[int]
    V2: ClassVar[int]

    SCHEMA = """
        1 filename_tensor_name string
        2 save_tensor_name string
        3 restore_op_name string
        4 max_to_keep int32
        5 sharded bool
        6 keep_checkpoint_every_n_hours float
        7 version SaverDef.CheckpointFormatVersion
    """


class SaveSliceInfoDef(Message):
    """The position of a variable as a slice of a larger variable."""

    SCHEMA = """
        1 full_name string
        2 full_shape int64*
        3 var_offset int64*
        4 var_shape int64*
    """


class VariableDef(Message):
    """The names of the nodes of a variable, and its settings."""

    SCHEMA = """
        1 variable_name string
        2 initializer_name string
        3 snapshot_name string
        4 save_slice_info_def SaveSliceInfoDef
        5 is_resource bool
        6 initial_value_name string
        7 trainable bool
        8 synchronization VariableSynchronization
        9 aggregation VariableAggregation
    """


class TensorInfo(Message):
    """A tensor of a signature."""

    SCHEMA = """
        1 name string in encoding
        2 dtype DataType
        3 tensor_shape TensorShapeProto
        4 coo_sparse TensorInfo.CooSparse in encoding
        5 composite_tensor TensorInfo.CompositeTensor in encoding
    """

    class CooSparse(Message):
        """The three tensors of a sparse tensor."""

        SCHEMA = """
            1 values_tensor_name string
            2 indices_tensor_name string
            3 dense_shape_tensor_name string
        """

    class CompositeTensor(Message):
        """A value of several tensors, and its type."""

        SCHEMA = """
            1 type_spec TypeSpecProto
            2 components TensorInfo*
        """


class SignatureDef(Message):
    """The signature of a computation: its inputs and outputs by name."""

    SCHEMA = """
        1 inputs map<string, TensorInfo>
        2 outputs map<string, TensorInfo>
        3 method_name string
        4 defaults map<string, TensorProto>
    """


class AssetFileDef(Message):
    """A file that belongs to a graph."""

    SCHEMA = """
        1 tensor_info TensorInfo
        2 filename string
    """


class MetaGraphDef(Message):
    """A graph with its collections, saver, signatures and assets."""

    SCHEMA = """
        1 meta_info_def MetaGraphDef.MetaInfoDef
        2 graph_def GraphDef
        3 saver_def SaverDef
        4 collection_def map<string, CollectionDef>
        5 signature_def map<string, SignatureDef>
        6 asset_file_def AssetFileDef*
        7 object_graph_def SavedObjectGraph
    """

    class MetaInfoDef(Message):
        """The versions and tags of a meta graph, and the operation types that it uses."""

        SCHEMA = """
            1 meta_graph_version string
            2 stripped_op_list OpList
            3 any_info Any
            4 tags string*
            5 tensorflow_version string
            6 tensorflow_git_version string
            7 stripped_default_attrs bool
            8 function_aliases map<string, string>
        """
