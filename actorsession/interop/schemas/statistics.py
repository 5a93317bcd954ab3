"""What runs and devices report. See ``tables``."""

from __future__ import annotations

__all__ = ["TABLE"]

TABLE = """
# framework.step_stats
AllocationRecord
    1 alloc_micros int64
    2 alloc_bytes int64
AllocatorMemoryUsed
    1 allocator_name string
    2 total_bytes int64
    3 peak_bytes int64
    4 live_bytes int64
    5 allocator_bytes_in_use int64
    6 allocation_records AllocationRecord*
NodeOutput
    1 slot int32
    3 tensor_description TensorDescription
MemoryStats
    1 temp_memory_size int64
    2 device_temp_memory_size int64
    3 persistent_memory_size int64
    4 device_persistent_memory_size int64
    5 persistent_tensor_alloc_ids int64*
    6 device_persistent_tensor_alloc_ids int64*
NodeExecStats
    1 node_name string
    2 all_start_micros int64
    3 op_start_rel_micros int64
    4 op_end_rel_micros int64
    5 all_end_rel_micros int64
    6 memory AllocatorMemoryUsed*
    7 output NodeOutput*
    8 timeline_label string
    9 scheduled_micros int64
    10 thread_id uint32
    11 referenced_tensor AllocationDescription*
    12 memory_stats MemoryStats
    13 all_start_nanos int64
    14 op_start_rel_nanos int64
    15 op_end_rel_nanos int64
    16 all_end_rel_nanos int64
    17 scheduled_nanos int64
DeviceStepStats
    1 device string
    2 node_stats NodeExecStats*
    3 thread_names map<uint32, string>
StepStats
    1 dev_stats DeviceStepStats*
# framework.cost_graph
CostGraphDef
    1 node CostGraphDef.Node*
    2 cost CostGraphDef.AggregatedCost*
CostGraphDef.Node
    1 name string
    2 device string
    3 id int32
    4 input_info CostGraphDef.Node.InputInfo*
    5 output_info CostGraphDef.Node.OutputInfo*
    6 temporary_memory_size int64
    7 is_final bool
    8 control_input int32*
    9 compute_cost int64
    10 host_temp_memory_size int64
    11 device_temp_memory_size int64
    12 persistent_memory_size int64
    14 compute_time int64
    15 memory_time int64
    16 device_persistent_memory_size int64
    17 inaccurate bool
CostGraphDef.Node.InputInfo
    1 preceding_node int32
    2 preceding_port int32
CostGraphDef.Node.OutputInfo
    1 size int64
    2 alias_input_port int64
    3 shape TensorShapeProto
    4 dtype DataType
CostGraphDef.AggregatedCost
    1 cost float
    2 dimension string
# framework.tensor_description
TensorDescription
    1 dtype DataType
    2 shape TensorShapeProto
    4 allocation_description AllocationDescription
# framework.allocation_description
AllocationDescription
    1 requested_bytes int64
    2 allocated_bytes int64
    3 allocator_name string
    4 allocation_id int64
    5 has_single_reference bool
    6 ptr uint64
# framework.device_attributes
InterconnectLink
    1 device_id int32
    2 type string
    3 strength int32
LocalLinks
    1 link InterconnectLink*
DeviceLocality
    1 bus_id int32
    2 numa_node int32
    3 links LocalLinks
DeviceAttributes
    1 name string
    2 device_type string
    4 memory_limit int64
    5 locality DeviceLocality
    6 incarnation fixed64
    7 physical_device_desc string
    8 xla_global_id int64
# framework.log_memory
MemoryLogStep
    1 step_id int64
    2 handle string
MemoryLogTensorAllocation
    1 step_id int64
    2 kernel_name string
    3 tensor TensorDescription
MemoryLogTensorDeallocation
    1 allocation_id int64
    2 allocator_name string
MemoryLogTensorOutput
    1 step_id int64
    2 kernel_name string
    3 index int32
    4 tensor TensorDescription
MemoryLogRawAllocation
    1 step_id int64
    2 operation string
    3 num_bytes int64
    4 ptr uint64
    5 allocation_id int64
    6 allocator_name string
MemoryLogRawDeallocation
    1 step_id int64
    2 operation string
    3 allocation_id int64
    4 allocator_name string
    5 deferred bool
# profiler.tfprof_log
CodeDef
    1 traces CodeDef.Trace*
CodeDef.Trace
    1 file string
    2 lineno int32
    3 function string
    4 line string
    5 func_start_line int32
    6 file_id int64
    7 function_id int64
    8 line_id int64
OpLogEntry
    1 name string
    2 float_ops int64
    3 types string*
    4 code_def CodeDef
OpLogProto
    1 log_entries OpLogEntry*
    2 id_to_string map<int64, string>
# profiler.tfprof_output
TFProfTensorProto
    1 dtype DataType
    2 value_double double*
    3 value_int64 int64*
    4 value_str string*
GraphNodeProto
    1 name string
    2 exec_micros int64
    3 requested_bytes int64
    4 parameters int64
    6 total_exec_micros int64
    7 total_requested_bytes int64
    8 total_parameters int64
    10 devices string*
    11 shapes TensorShapeProto*
    12 children GraphNodeProto*
    13 float_ops int64
    14 total_float_ops int64
    15 tensor_value TFProfTensorProto
    16 input_shapes map<int32, TensorShapeProto>
    17 accelerator_exec_micros int64
    18 cpu_exec_micros int64
    19 total_accelerator_exec_micros int64
    20 total_cpu_exec_micros int64
    21 run_count int64
    22 total_run_count int64
    23 total_definition_count int64
    24 peak_bytes int64
    25 residual_bytes int64
    26 output_bytes int64
    27 total_peak_bytes int64
    28 total_residual_bytes int64
    29 total_output_bytes int64
MultiGraphNodeProto
    1 name string
    2 exec_micros int64
    3 requested_bytes int64
    4 parameters int64
    5 float_ops int64
    6 total_exec_micros int64
    7 total_requested_bytes int64
    8 total_parameters int64
    9 total_float_ops int64
    10 graph_nodes GraphNodeProto*
    11 children MultiGraphNodeProto*
    12 accelerator_exec_micros int64
    13 cpu_exec_micros int64
    14 total_accelerator_exec_micros int64
    15 total_cpu_exec_micros int64
    16 peak_bytes int64
    17 residual_bytes int64
    18 output_bytes int64
    19 total_peak_bytes int64
    20 total_residual_bytes int64
    21 total_output_bytes int64
AdviceProto
    1 checkers map<string, AdviceProto.Checker>
AdviceProto.Checker
    2 reports string*
# profiler.tfprof_options
OptionsProto
    1 max_depth int64
    2 min_bytes int64
    3 min_micros int64
    4 min_params int64
    5 min_float_ops int64
    7 order_by string
    8 account_type_regexes string*
    9 start_name_regexes string*
    10 trim_name_regexes string*
    11 show_name_regexes string*
    12 hide_name_regexes string*
    13 account_displayed_op_only bool
    14 select string*
    15 output string
    16 dump_to_file string
    17 min_occurrence int64
    18 step int64
    19 min_peak_bytes int64
    20 min_residual_bytes int64
    21 min_output_bytes int64
    22 min_accelerator_micros int64
    23 min_cpu_micros int64
AdvisorOptionsProto
    1 checkers map<string, AdvisorOptionsProto.CheckerOption>
AdvisorOptionsProto.CheckerOption
    1 options map<string, string>
"""
