"""TensorFlow's messages for graphs: the contents of ``.pb``, ``.pbtxt`` and ``.meta`` files.

Field names and numbers are TensorFlow's; tests compare them with its compiled descriptors. Debugging
information, full types and object graphs are kept and not used.
"""

from __future__ import annotations

from actorsession.interop.message import Message
from actorsession.interop.meta_protos import (
    Any,
    AssetFileDef,
    CollectionDef,
    MetaGraphDef,
    SaverDef,
    SaveSliceInfoDef,
    SignatureDef,
    TensorInfo,
    VariableDef,
)

__all__ = [
    "Any", "AssetFileDef", "AttrValue", "CollectionDef", "FunctionDef", "FunctionDefLibrary",
    "GradientDef", "GraphDef", "MetaGraphDef", "NameAttrList", "NodeDef", "OpDef", "OpDeprecation",
    "OpList", "RegisteredGradient", "ResourceHandleProto", "SaveSliceInfoDef", "SaverDef",
    "SignatureDef", "TensorInfo", "TensorProto", "TensorShapeProto", "VariableDef",
    "VariantTensorDataProto", "VersionDef",
]  # fmt: skip


class TensorShapeProto(Message):
    """A static shape; a size of -1 is unknown."""

    SCHEMA = """
        2 dim TensorShapeProto.Dim*
        3 unknown_rank bool
    """

    class Dim(Message):
        """One dimension."""

        SCHEMA = """
            1 size int64
            2 name string
        """


class ResourceHandleProto(Message):
    """A handle to a resource; it is kept and never used."""

    SCHEMA = """
        1 device string
        2 container string
        3 name string
        4 hash_code uint64
        5 maybe_type_name string
        6 dtypes_and_shapes ResourceHandleProto.DtypeAndShape*
    """

    class DtypeAndShape(Message):
        """The element type and shape of the value in a resource."""

        SCHEMA = """
            1 dtype DataType
            2 shape TensorShapeProto
        """


class VariantTensorDataProto(Message):
    """A value of a variant type; it is kept and never read."""

    SCHEMA = """
        1 type_name string
        2 metadata bytes
        3 tensors TensorProto*
    """


class TensorProto(Message):
    """A tensor: its bytes in ``tensor_content``, or its elements in the list of its type."""

    SCHEMA = """
        1 dtype DataType
        2 tensor_shape TensorShapeProto
        3 version_number int32
        4 tensor_content bytes
        5 float_val float*
        6 double_val double*
        7 int_val int32*
        8 string_val bytes*
        9 scomplex_val float*
        10 int64_val int64*
        11 bool_val bool*
        12 dcomplex_val double*
        13 half_val int32*
        14 resource_handle_val ResourceHandleProto*
        15 variant_val VariantTensorDataProto*
        16 uint32_val uint32*
        17 uint64_val uint64*
        18 float8_val bytes
    """


class NameAttrList(Message):
    """A function by name, with values for its attributes."""

    SCHEMA = """
        1 name string
        2 attr map<string, AttrValue>
    """


class AttrValue(Message):
    """The value of an attribute."""

    SCHEMA = """
        1 list AttrValue.ListValue in value
        2 s bytes in value
        3 i int64 in value
        4 f float in value
        5 b bool in value
        6 type DataType in value
        7 shape TensorShapeProto in value
        8 tensor TensorProto in value
        9 placeholder string in value
        10 func NameAttrList in value
    """

    class ListValue(Message):
        """A list of values of one kind."""

        SCHEMA = """
            2 s bytes*
            3 i int64*
            4 f float*
            5 b bool*
            6 type DataType*
            7 shape TensorShapeProto*
            8 tensor TensorProto*
            9 func NameAttrList*
        """


class NodeDef(Message):
    """One operation."""

    SCHEMA = """
        1 name string
        2 op string
        3 input string*
        4 device string
        5 attr map<string, AttrValue>
        6 experimental_debug_info NodeDef.ExperimentalDebugInfo
        7 experimental_type FullTypeDef
    """

    class ExperimentalDebugInfo(Message):
        """The nodes and functions that a node was made from."""

        SCHEMA = """
            1 original_node_names string*
            2 original_func_names string*
        """


class VersionDef(Message):
    """The version of the writer of a graph and of its permitted readers."""

    SCHEMA = """
        1 producer int32
        2 min_consumer int32
        3 bad_consumers int32*
    """


class OpDeprecation(Message):
    """The version from which on an operation type is deprecated."""

    SCHEMA = """
        1 version int32
        2 explanation string
    """


class OpDef(Message):
    """The signature of an operation type or function."""

    SCHEMA = """
        1 name string
        2 input_arg OpDef.ArgDef*
        3 output_arg OpDef.ArgDef*
        4 attr OpDef.AttrDef*
        5 summary string
        6 description string
        8 deprecation OpDeprecation
        16 is_aggregate bool
        17 is_stateful bool
        18 is_commutative bool
        19 allows_uninitialized_input bool
        20 control_output string*
        21 is_distributed_communication bool
    """

    class ArgDef(Message):
        """One input or output."""

        SCHEMA = """
            1 name string
            2 description string
            3 type DataType
            4 type_attr string
            5 number_attr string
            6 type_list_attr string
            7 handle_data ResourceHandleProto.DtypeAndShape*
            16 is_ref bool
            17 experimental_full_type FullTypeDef
        """

    class AttrDef(Message):
        """One attribute."""

        SCHEMA = """
            1 name string
            2 type string
            3 default_value AttrValue
            4 description string
            5 has_minimum bool
            6 minimum int64
            7 allowed_values AttrValue
        """


class OpList(Message):
    """Signatures of operation types."""

    SCHEMA = """
        1 op OpDef*
    """


class FunctionDef(Message):
    """A function: a signature and the nodes of its body."""

    SCHEMA = """
        1 signature OpDef
        3 node_def NodeDef*
        4 ret map<string, string>
        5 attr map<string, AttrValue>
        6 control_ret map<string, string>
        7 arg_attr map<uint32, FunctionDef.ArgAttrs>
        8 resource_arg_unique_id map<uint32, uint32>
    """

    class ArgAttrs(Message):
        """Attributes of one argument."""

        SCHEMA = """
            1 attr map<string, AttrValue>
        """


class GradientDef(Message):
    """The gradient function of a function."""

    SCHEMA = """
        1 function_name string
        2 gradient_func string
    """


class RegisteredGradient(Message):
    """The gradient function of an operation type."""

    SCHEMA = """
        1 gradient_func string
        2 registered_op_type string
    """


class FunctionDefLibrary(Message):
    """The functions that nodes refer to by name."""

    SCHEMA = """
        1 function FunctionDef*
        2 gradient GradientDef*
        3 registered_gradients RegisteredGradient*
    """


class GraphDef(Message):
    """A graph as TensorFlow stores it."""

    SCHEMA = """
        1 node NodeDef*
        2 library FunctionDefLibrary
        3 version int32
        4 versions VersionDef
        5 debug_info GraphDebugInfo
    """
