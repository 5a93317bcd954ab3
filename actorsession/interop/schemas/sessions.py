"""The settings of sessions, runs and servers. See ``tables``."""

from __future__ import annotations

__all__ = ["TABLE"]

TABLE = """
# protobuf.config
GPUOptions
    1 per_process_gpu_memory_fraction double
    2 allocator_type string
    3 deferred_deletion_bytes int64
    4 allow_growth bool
    5 visible_device_list string
    6 polling_active_delay_usecs int32
    7 polling_inactive_delay_msecs int32
    8 force_gpu_compatible bool
    9 experimental GPUOptions.Experimental
GPUOptions.Experimental
    1 virtual_devices GPUOptions.Experimental.VirtualDevices*
    2 use_unified_memory bool
    3 num_dev_to_dev_copy_streams int32
    4 collective_ring_order string
    5 timestamped_allocator bool
    7 kernel_tracker_max_interval int32
    8 kernel_tracker_max_bytes int32
    9 kernel_tracker_max_pending int32
    10 internal_fragmentation_fraction double
    11 use_cuda_malloc_async bool
    12 disallow_retry_on_allocation_failure bool
    13 gpu_host_mem_limit_in_mb float
    14 gpu_host_mem_disallow_growth bool
    15 num_virtual_devices_per_gpu int32
    16 gpu_system_memory_size_in_mb int32
    17 populate_pjrt_gpu_client_creation_info bool
    18 node_id int32
    19 stream_merge_options GPUOptions.Experimental.StreamMergeOptions
GPUOptions.Experimental.VirtualDevices
    1 memory_limit_mb float*
    2 priority int32*
    3 device_ordinal int32*
GPUOptions.Experimental.StreamMergeOptions
    1 merge_host_to_device_stream bool
    2 merge_device_to_host_stream bool
    3 merge_device_to_device_stream bool
OptimizerOptions
    enum Level L1=0 L0=-1
    enum GlobalJitLevel DEFAULT=0 OFF=-1 ON_1=1 ON_2=2
    1 do_common_subexpression_elimination bool
    2 do_constant_folding bool
    3 opt_level OptimizerOptions.Level
    4 do_function_inlining bool
    5 global_jit_level OptimizerOptions.GlobalJitLevel
    6 max_folded_constant_in_bytes int64
    7 cpu_global_jit bool
GraphOptions
    2 enable_recv_scheduling bool
    3 optimizer_options OptimizerOptions
    4 build_cost_model int64
    5 infer_shapes bool
    6 place_pruned_graph bool
    7 enable_bfloat16_sendrecv bool
    8 timeline_step int32
    9 build_cost_model_after int64
    10 rewrite_options RewriterConfig
ThreadPoolOptionProto
    1 num_threads int32
    2 global_name string
SessionMetadata
    1 name string
    2 version int64
ConfigProto
    1 device_count map<string, int32>
    2 intra_op_parallelism_threads int32
    3 placement_period int32
    4 device_filters string*
    5 inter_op_parallelism_threads int32
    6 gpu_options GPUOptions
    7 allow_soft_placement bool
    8 log_device_placement bool
    9 use_per_session_threads bool
    10 graph_options GraphOptions
    11 operation_timeout_in_ms int64
    12 session_inter_op_thread_pool ThreadPoolOptionProto*
    13 rpc_options RPCOptions
    14 cluster_def ClusterDef
    15 isolate_session_state bool
    16 experimental ConfigProto.Experimental
    17 share_cluster_devices_in_session bool
    18 pluggable_device_options GPUOptions
ConfigProto.Experimental
    enum MlirBridgeRollout MLIR_BRIDGE_ROLLOUT_UNSPECIFIED=0 MLIR_BRIDGE_ROLLOUT_ENABLED=1
    enum MlirBridgeRollout MLIR_BRIDGE_ROLLOUT_DISABLED=2
    1 collective_group_leader string
    3 executor_type string
    4 recv_buf_max_chunk int32
    5 use_numa_affinity bool
    6 collective_deterministic_sequential_execution bool
    7 collective_nccl bool
    8 share_session_state_in_clusterspec_propagation bool
    9 disable_thread_spinning bool
    10 share_cluster_devices_in_session bool
    11 session_metadata SessionMetadata
    12 optimize_for_static_graph bool
    13 enable_mlir_bridge bool
    14 disable_output_partition_graphs bool
    15 xla_fusion_autotuner_thresh int64
    16 enable_mlir_graph_optimization bool
    17 mlir_bridge_rollout ConfigProto.Experimental.MlirBridgeRollout
    18 use_tfrt bool
    21 disable_functional_ops_lowering bool
    22 xla_prefer_single_graph_cluster bool
    23 coordination_config CoordinationServiceConfig
    24 disable_optimize_for_static_graph bool
    26 disable_eager_executor_streaming_enqueue bool
    27 enable_multi_host bool
    28 backend_server_port int32
    29 target_tpu bool
    30 target_gpu bool
    31 stream_merge_threshold int32
    32 tfrt_use_ifrt bool
    33 finalize_function_library_runtime bool
    34 finalize_resource_manager bool
    35 tf2xla_dump_dir string
    36 online_cost_analysis bool
RunOptions
    enum TraceLevel NO_TRACE=0 SOFTWARE_TRACE=1 HARDWARE_TRACE=2 FULL_TRACE=3
    1 trace_level RunOptions.TraceLevel
    2 timeout_in_ms int64
    3 inter_op_thread_pool int32
    5 output_partition_graphs bool
    6 debug_options DebugOptions
    7 report_tensor_allocations_upon_oom bool
    8 experimental RunOptions.Experimental
RunOptions.Experimental
    1 collective_graph_key int64
    2 use_run_handler_pool bool
    3 run_handler_pool_options RunOptions.Experimental.RunHandlerPoolOptions
RunOptions.Experimental.RunHandlerPoolOptions
    1 priority int64
RunMetadata
    1 step_stats StepStats
    2 cost_graph CostGraphDef
    3 partition_graphs GraphDef*
    4 function_graphs RunMetadata.FunctionGraphs*
    5 session_metadata SessionMetadata
RunMetadata.FunctionGraphs
    1 partition_graphs GraphDef*
    2 pre_optimization_graph GraphDef
    3 post_optimization_graph GraphDef
TensorConnection
    1 from_tensor string
    2 to_tensor string
CallableOptions
    1 feed string*
    2 fetch string*
    3 target string*
    4 run_options RunOptions
    5 tensor_connection TensorConnection*
    6 feed_devices map<string, string>
    7 fetch_devices map<string, string>
    8 fetch_skip_sync bool
BatchingOptions
    1 num_batch_threads int32
    2 max_batch_size int32
    3 batch_timeout_micros int32
    4 allowed_batch_sizes int32*
    5 max_enqueued_batches int32
# protobuf.rewriter_config
AutoParallelOptions
    1 enable bool
    2 num_replicas int32
ScopedAllocatorOptions
    1 enable_op string*
RewriterConfig
    enum Toggle DEFAULT=0 ON=1 OFF=2 AGGRESSIVE=3 EXPERIMENTAL_MLIR=4 EXPERIMENTAL_BOTH=5
    enum CpuLayout NO_CONVERSION_ON_CPU=0 NCHW_TO_NHWC=1 NHWC_TO_NCHW=2
    enum NumIterationsType DEFAULT_NUM_ITERS=0 ONE=1 TWO=2
    enum MemOptType DEFAULT_MEM_OPT=0 NO_MEM_OPT=1 MANUAL=2 SWAPPING_HEURISTICS=4
    enum MemOptType RECOMPUTATION_HEURISTICS=5 SCHEDULING_HEURISTICS=6 HEURISTICS=3
    1 layout_optimizer RewriterConfig.Toggle
    2 disable_model_pruning bool
    3 constant_folding RewriterConfig.Toggle
    4 memory_optimization RewriterConfig.MemOptType
    5 auto_parallel AutoParallelOptions
    6 memory_optimizer_target_node_name_scope string
    7 arithmetic_optimization RewriterConfig.Toggle
    8 dependency_optimization RewriterConfig.Toggle
    9 loop_optimization RewriterConfig.Toggle
    10 function_optimization RewriterConfig.Toggle
    11 debug_stripper RewriterConfig.Toggle
    12 meta_optimizer_iterations RewriterConfig.NumIterationsType
    13 shape_optimization RewriterConfig.Toggle
    14 remapping RewriterConfig.Toggle
    15 scoped_allocator_optimization RewriterConfig.Toggle
    16 scoped_allocator_opts ScopedAllocatorOptions
    17 min_graph_nodes int32
    18 pin_to_host_optimization RewriterConfig.Toggle
    19 disable_meta_optimizer bool
    20 meta_optimizer_timeout_ms int64
    21 fail_on_optimizer_errors bool
    22 implementation_selector RewriterConfig.Toggle
    23 auto_mixed_precision RewriterConfig.Toggle
    24 common_subgraph_elimination RewriterConfig.Toggle
    25 auto_mixed_precision_mkl RewriterConfig.Toggle
    26 experimental_disable_compressed_tensor_optimization bool
    27 experimental_disable_folding_quantization_emulation bool
    28 use_plugin_optimizers RewriterConfig.Toggle
    29 auto_mixed_precision_cpu RewriterConfig.Toggle
    30 experimental_conditional_code_motion RewriterConfig.Toggle
    31 auto_mixed_precision_onednn_bfloat16 RewriterConfig.Toggle
    32 disable_tfg_optimizer bool
    50 cpu_layout_conversion RewriterConfig.CpuLayout
    100 optimizers string*
    200 custom_optimizers RewriterConfig.CustomGraphOptimizer*
    300 inter_optimizer_verifier_config VerifierConfig
    301 post_optimization_verifier_config VerifierConfig
RewriterConfig.CustomGraphOptimizer
    1 name string
    2 parameter_map map<string, AttrValue>
# protobuf.verifier_config
VerifierConfig
    enum Toggle DEFAULT=0 ON=1 OFF=2
    1 verification_timeout_in_ms int64
    2 structure_verifier VerifierConfig.Toggle
# protobuf.tensorflow_server
ServerDef
    1 cluster ClusterDef
    2 job_name string
    3 task_index int32
    4 default_session_config ConfigProto
    5 protocol string
    6 port int32
    7 cluster_device_filters ClusterDeviceFilters
    8 replica int32
# protobuf.device_filters
TaskDeviceFilters
    1 device_filters string*
JobDeviceFilters
    1 name string
    2 tasks map<int32, TaskDeviceFilters>
ClusterDeviceFilters
    1 jobs JobDeviceFilters*
# protobuf.debug
DebugTensorWatch
    1 node_name string
    2 output_slot int32
    3 debug_ops string*
    4 debug_urls string*
    5 tolerate_debug_op_creation_failures bool
DebugOptions
    4 debug_tensor_watch_opts DebugTensorWatch*
    10 global_step int64
    11 reset_disk_byte_usage bool
DebuggedSourceFile
    1 host string
    2 file_path string
    3 last_modified int64
    4 bytes int64
    5 lines string*
DebuggedSourceFiles
    1 source_files DebuggedSourceFile*
# protobuf.coordination_config
CoordinatedJob
    1 name string
    2 num_tasks int32
CoordinationServiceConfig
    1 service_type string
    2 service_leader string
    3 enable_health_check bool
    4 cluster_register_timeout_in_ms int64
    5 heartbeat_timeout_in_ms int64
    7 shutdown_barrier_timeout_in_ms int64
    8 agent_destruction_without_shutdown bool
    9 recoverable_jobs string*
    10 coordinated_job_list CoordinatedJob*
    11 allow_new_incarnation_to_reconnect bool
    12 force_disable bool
    13 poll_for_error_from_service_at_startup bool
    14 cluster_register_with_barrier bool
# protobuf.rpc_options
RPCOptions
    1 use_rpc_for_inprocess_master bool
    2 compression_algorithm string
    3 compression_level int32
    4 cache_rpc_response bool
    5 disable_session_connection_sharing bool
    6 num_channels_per_target int32
"""
