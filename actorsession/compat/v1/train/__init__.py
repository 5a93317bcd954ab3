"""``tf.train``: optimisers, savers, coordinators, input queues, and the servers of a cluster."""

from __future__ import annotations

from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    ".checkpoints.checkpoint": "Checkpoint",
    ".checkpoints.management": (
        "CheckpointState NewCheckpointReader checkpoint_exists generate_checkpoint_state_proto "
        "get_checkpoint_mtimes get_checkpoint_state latest_checkpoint remove_checkpoint "
        "update_checkpoint_state"
    ),
    ".checkpoints.manager": "CheckpointManager",
    ".checkpoints.savers": "Saver export_meta_graph import_meta_graph",
    ".checkpoints.waits": "checkpoints_iterator",
    ".checkpoints.warm_starts": "VocabInfo warm_start",
    ".clusters": "ClusterSpec",
    ".hooks.basic": (
        "FeedFnHook FinalOpsHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook "
        "SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook SessionRunValues "
        "StopAtStepHook"
    ),
    ".hooks.checkpoints": "CheckpointSaverHook CheckpointSaverListener",
    ".hooks.steps": "GlobalStepWaiterHook ProfilerHook StepCounterHook",
    ".hooks.summaries": "SummarySaverHook",
    ".monitored_session": "MonitoredSession MonitoredTrainingSession SingularMonitoredSession",
    ".queue_runner": "*=queue_runner QueueRunner add_queue_runner start_queue_runners",
    ".server": "Server",
    ".session_creators": "ChiefSessionCreator Scaffold SessionCreator WorkerSessionCreator",
    ".session_manager": "SessionManager",
    ".supervisor": "Supervisor",
    ".sync_replicas": "SyncReplicasOptimizer",
    ".train_loop": "basic_train_loop",
    "actorsession.compat.v1.sessions.messages": "ServerDef",
    "actorsession.compat.v1.summary.writers": "summary_iterator",
    "actorsession.interop": "QueueRunnerDef write_graph",
    "actorsession.interop.cluster_protos": "ClusterDef JobDef",
    "actorsession.interop.example_protos": (
        "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
    ),
    "actorsession.interop.protos": "SaverDef",
    "actorsession.train": (
        "AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer Coordinator "
        "ExponentialMovingAverage FtrlOptimizer GradientDescentOptimizer LooperThread "
        "MomentumOptimizer Optimizer ProximalAdagradOptimizer ProximalGradientDescentOptimizer "
        "RMSPropOptimizer SaveSpec SaveableObject assert_global_step batch batch_join "
        "cosine_decay cosine_decay_restarts create_global_step exponential_decay get_global_step "
        "get_or_create_global_step global_step init_from_checkpoint input_producer "
        "inverse_time_decay limit_epochs linear_cosine_decay list_variables load_checkpoint "
        "load_variable match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch "
        "maybe_shuffle_batch_join natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
        "piecewise_constant_decay polynomial_decay range_input_producer replica_device_setter "
        "running_queues shuffle_batch shuffle_batch_join slice_input_producer "
        "string_input_producer"
    ),
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
