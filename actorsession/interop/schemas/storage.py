"""What files of graphs and variables hold beside the graph itself. See ``tables``."""

from __future__ import annotations

__all__ = ["TABLE"]

TABLE = """
# protobuf.control_flow
ValuesDef
    1 values string*
    2 external_values map<string, string>
ControlFlowContextDef
    1 cond_ctxt CondContextDef in ctxt
    2 while_ctxt WhileContextDef in ctxt
CondContextDef
    1 context_name string
    2 pred_name string
    3 pivot_name string
    4 branch int32
    5 values_def ValuesDef
    6 nested_contexts ControlFlowContextDef*
WhileContextDef
    1 context_name string
    2 parallel_iterations int32
    3 back_prop bool
    4 swap_memory bool
    5 pivot_name string
    6 pivot_for_pred_name string
    7 pivot_for_body_name string
    8 loop_exit_names string*
    9 values_def ValuesDef
    10 loop_enter_names string*
    11 maximum_iterations_name string
    12 nested_contexts ControlFlowContextDef*
# protobuf.tensor_bundle
BundleHeaderProto
    enum Endianness LITTLE=0 BIG=1
    1 num_shards int32
    2 endianness BundleHeaderProto.Endianness
    3 version VersionDef
BundleEntryProto
    1 dtype DataType
    2 shape TensorShapeProto
    3 shard_id int32
    4 offset int64
    5 size int64
    6 crc32c fixed32
    7 slices TensorSliceProto*
# protobuf.saved_object_graph
SavedObjectGraph
    1 nodes SavedObject*
    2 concrete_functions map<string, SavedConcreteFunction>
SavedObject
    1 children TrackableObjectGraph.TrackableObject.ObjectReference*
    3 slot_variables TrackableObjectGraph.TrackableObject.SlotVariableReference*
    4 user_object SavedUserObject in kind
    5 asset SavedAsset in kind
    6 function SavedFunction in kind
    7 variable SavedVariable in kind
    8 bare_concrete_function SavedBareConcreteFunction in kind
    9 constant SavedConstant in kind
    10 resource SavedResource in kind
    11 saveable_objects map<string, SaveableObject>
    12 captured_tensor CapturedTensor in kind
    13 registered_name string
    14 serialized_user_proto Any
    15 dependencies TrackableObjectGraph.TrackableObject.ObjectReference*
    16 registered_saver string
SavedUserObject
    1 identifier string
    2 version VersionDef
    3 metadata string
# tf_keras/protobuf/saved_metadata, a file of its own
SavedMetadata
    1 nodes SavedMetadata.Node*
SavedMetadata.Node
    2 node_id int32
    3 node_path string
    4 identifier string
    5 metadata string
    6 version VersionDef
SavedAsset
    1 asset_file_def_index int32
SavedFunction
    1 concrete_functions string*
    2 function_spec FunctionSpec
CapturedTensor
    1 name string
    2 concrete_function string
SavedConcreteFunction
    2 bound_inputs int32*
    3 canonicalized_input_signature StructuredValue
    4 output_signature StructuredValue
SavedBareConcreteFunction
    1 concrete_function_name string
    2 argument_keywords string*
    3 allowed_positional_arguments int64
    4 function_spec FunctionSpec
SavedConstant
    1 operation string
SavedVariable
    1 dtype DataType
    2 shape TensorShapeProto
    3 trainable bool
    4 synchronization VariableSynchronization
    5 aggregation VariableAggregation
    6 name string
    7 device string
    8 experimental_distributed_variable_components SavedVariable*
FunctionSpec
    enum JitCompile DEFAULT=0 ON=1 OFF=2
    1 fullargspec StructuredValue
    2 is_method bool
    5 input_signature StructuredValue
    6 jit_compile FunctionSpec.JitCompile
SavedResource
    1 device string
SaveableObject
    2 save_function int32
    3 restore_function int32
# protobuf.trackable_object_graph
BoolValue
    1 value bool
TrackableObjectGraph
    1 nodes TrackableObjectGraph.TrackableObject*
TrackableObjectGraph.TrackableObject
    1 children TrackableObjectGraph.TrackableObject.ObjectReference*
    2 attributes TrackableObjectGraph.TrackableObject.SerializedTensor*
    3 slot_variables TrackableObjectGraph.TrackableObject.SlotVariableReference*
    4 registered_saver RegisteredSaver
    5 has_checkpoint_values BoolValue
TrackableObjectGraph.TrackableObject.ObjectReference
    1 node_id int32
    2 local_name string
TrackableObjectGraph.TrackableObject.SerializedTensor
    1 name string
    2 full_name string
    3 checkpoint_key string
TrackableObjectGraph.TrackableObject.SlotVariableReference
    1 original_variable_node_id int32
    2 slot_name string
    3 slot_variable_node_id int32
RegisteredSaver
    1 name string
    2 object_name string
# protobuf.struct
StructuredValue
    1 none_value NoneValue in kind
    11 float64_value double in kind
    12 int64_value sint64 in kind
    13 string_value string in kind
    14 bool_value bool in kind
    31 tensor_shape_value TensorShapeProto in kind
    32 tensor_dtype_value DataType in kind
    33 tensor_spec_value TensorSpecProto in kind
    34 type_spec_value TypeSpecProto in kind
    35 bounded_tensor_spec_value BoundedTensorSpecProto in kind
    51 list_value ListValue in kind
    52 tuple_value TupleValue in kind
    53 dict_value DictValue in kind
    54 named_tuple_value NamedTupleValue in kind
    55 tensor_value TensorProto in kind
    56 numpy_value TensorProto in kind
NoneValue
ListValue
    1 values StructuredValue*
TupleValue
    1 values StructuredValue*
DictValue
    1 fields map<string, StructuredValue>
PairValue
    1 key string
    2 value StructuredValue
NamedTupleValue
    1 name string
    2 values PairValue*
TensorSpecProto
    1 name string
    2 shape TensorShapeProto
    3 dtype DataType
BoundedTensorSpecProto
    1 name string
    2 shape TensorShapeProto
    3 dtype DataType
    4 minimum TensorProto
    5 maximum TensorProto
TypeSpecProto
    enum TypeSpecClass UNKNOWN=0 SPARSE_TENSOR_SPEC=1 INDEXED_SLICES_SPEC=2 RAGGED_TENSOR_SPEC=3
    enum TypeSpecClass TENSOR_ARRAY_SPEC=4 DATA_DATASET_SPEC=5 DATA_ITERATOR_SPEC=6 OPTIONAL_SPEC=7
    enum TypeSpecClass PER_REPLICA_SPEC=8 VARIABLE_SPEC=9 ROW_PARTITION_SPEC=10 REGISTERED_TYPE_SPEC=12
    enum TypeSpecClass EXTENSION_TYPE_SPEC=13
    1 type_spec_class TypeSpecProto.TypeSpecClass
    2 type_state StructuredValue
    3 type_spec_class_name string
    4 num_flat_components int32
# protobuf.named_tensor
NamedTensorProto
    1 name string
    2 tensor TensorProto
# protobuf.fingerprint
FingerprintDef
    1 saved_model_checksum uint64
    2 graph_def_program_hash uint64
    3 signature_def_hash uint64
    4 saved_object_graph_hash uint64
    5 checkpoint_hash uint64
    6 version VersionDef
    7 uuid string
# framework.tensor_slice
TensorSliceProto
    1 extent TensorSliceProto.Extent*
TensorSliceProto.Extent
    1 start int64
    2 length int64 in has_length_hack
# framework.full_type
enum FullTypeId TFT_UNSET=0 TFT_VAR=1 TFT_ANY=2 TFT_PRODUCT=3 TFT_NAMED=4 TFT_FOR_EACH=20
enum FullTypeId TFT_CALLABLE=100 TFT_TENSOR=1000 TFT_ARRAY=1001 TFT_OPTIONAL=1002 TFT_LITERAL=1003
enum FullTypeId TFT_ENCODED=1004 TFT_SHAPE_TENSOR=1005 TFT_BOOL=200 TFT_UINT8=201 TFT_UINT16=202
enum FullTypeId TFT_UINT32=203 TFT_UINT64=204 TFT_INT8=205 TFT_INT16=206 TFT_INT32=207 TFT_INT64=208
enum FullTypeId TFT_HALF=209 TFT_FLOAT=210 TFT_DOUBLE=211 TFT_BFLOAT16=215 TFT_COMPLEX64=212
enum FullTypeId TFT_COMPLEX128=213 TFT_STRING=214 TFT_DATASET=10102 TFT_RAGGED=10103 TFT_ITERATOR=10104
enum FullTypeId TFT_MUTEX_LOCK=10202 TFT_LEGACY_VARIANT=10203
FullTypeDef
    1 type_id FullTypeId
    2 args FullTypeDef*
    3 s string in attr
    4 i int64 in attr
# framework.graph_debug_info
GraphDebugInfo
    1 files string*
    2 traces map<string, GraphDebugInfo.StackTrace>
    4 frames_by_id map<fixed64, GraphDebugInfo.FileLineCol>
    5 name_to_trace_id map<string, fixed64>
    6 traces_by_id map<fixed64, GraphDebugInfo.StackTrace>
GraphDebugInfo.FileLineCol
    1 file_index int32
    2 line int32
    3 col int32
    4 func string
    5 code string
GraphDebugInfo.StackTrace
    1 file_line_cols GraphDebugInfo.FileLineCol*
    2 frame_id fixed64*
# framework.kernel_def
KernelDef
    1 op string
    2 device_type string
    3 constraint KernelDef.AttrConstraint*
    4 host_memory_arg string*
    5 label string
    6 priority int32
KernelDef.AttrConstraint
    1 name string
    2 allowed_values AttrValue
KernelList
    1 kernel KernelDef*
# framework.reader_base
ReaderBaseState
    1 work_started int64
    2 work_finished int64
    3 num_records_produced int64
    4 current_work bytes
# training.checkpoint_state
CheckpointState
    1 model_checkpoint_path string
    2 all_model_checkpoint_paths string*
    3 all_model_checkpoint_timestamps double*
    4 last_preserved_timestamp double
# plugins.projector_config
ProjectorConfig
    1 model_checkpoint_path string
    2 embeddings EmbeddingInfo*
    3 model_checkpoint_dir string
EmbeddingInfo
    1 tensor_name string
    2 metadata_path string
    3 bookmarks_path string
    4 tensor_shape uint32*
    5 sprite SpriteMetadata
    6 tensor_path string
SpriteMetadata
    1 image_path string
    2 single_image_dim uint32*
"""
