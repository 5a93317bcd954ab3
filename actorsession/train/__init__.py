"""Training: optimisers, learning rate decay, moving averages, input queues, checkpoints, ``fit``.

Builds graphs on top of ``ops/``: an optimiser makes nodes, and sessions run them. Savers and the training
loop run their nodes in the session that is passed to them. ``layers/`` has the layers of networks.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".adadelta": "AdadeltaOptimizer",
    ".adagrad": "AdagradDAOptimizer AdagradOptimizer",
    ".adam": "AdamOptimizer",
    ".all_reduce": "AllReduceOptimizer broadcast_variables",
    ".checkpoint_state": (
        "CheckpointState checkpoint_exists generate_checkpoint_state_proto "
        "get_checkpoint_mtimes get_checkpoint_state latest_checkpoint remove_checkpoint "
        "update_checkpoint_state"
    ),
    ".checkpoint_utils": ("NewCheckpointReader init_from_checkpoint list_variables load_checkpoint load_variable"),
    ".coordinator": "Coordinator LooperThread",
    ".device_setter": "replica_device_setter",
    ".ftrl": "FtrlOptimizer",
    ".global_steps": ("assert_global_step create_global_step get_global_step get_or_create_global_step global_step"),
    ".gradient_descent": "GradientDescentOptimizer",
    ".input": (
        "batch batch_join input_producer limit_epochs match_filenames_once maybe_batch "
        "maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer "
        "shuffle_batch shuffle_batch_join slice_input_producer string_input_producer"
    ),
    ".layers.model_summary": "LayerSummary ModelSummary model_summary",
    ".learning_rate_decay": (
        "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
        "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
        "piecewise_constant_decay polynomial_decay"
    ),
    ".momentum": "MomentumOptimizer",
    ".moving_averages": "ExponentialMovingAverage",
    ".optimizer": "Optimizer",
    ".proximal": "ProximalAdagradOptimizer ProximalGradientDescentOptimizer",
    ".queue_runner": "QueueRunner add_queue_runner running_queues start_queue_runners",
    ".rmsprop": "RMSPropOptimizer",
    ".saveable": "SaveSpec SaveableObject",
    ".saver": "Saver",
    ".saver_graph": "SaverDef",
    ".sync_replicas": "SyncReplicasOptimizer",
    ".training_loop": "Fit FitReport FitResult fit",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
