"""Training: optimisers, learning rate decay, moving averages, the global step, input queues and checkpoints.

Builds graphs on top of ``ops/``: an optimiser makes nodes, and sessions run them. Savers run their nodes in
the session that is passed to them.
"""

from __future__ import annotations

from actorsession.train.adadelta import AdadeltaOptimizer
from actorsession.train.adagrad import AdagradDAOptimizer, AdagradOptimizer
from actorsession.train.adam import AdamOptimizer
from actorsession.train.checkpoint_state import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from actorsession.train.checkpoint_utils import (
    NewCheckpointReader,
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from actorsession.train.coordinator import Coordinator, LooperThread
from actorsession.train.device_setter import replica_device_setter
from actorsession.train.ftrl import FtrlOptimizer
from actorsession.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from actorsession.train.gradient_descent import GradientDescentOptimizer
from actorsession.train.input import (
    batch,
    batch_join,
    input_producer,
    limit_epochs,
    match_filenames_once,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    range_input_producer,
    shuffle_batch,
    shuffle_batch_join,
    slice_input_producer,
    string_input_producer,
)
from actorsession.train.learning_rate_decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from actorsession.train.momentum import MomentumOptimizer
from actorsession.train.moving_averages import ExponentialMovingAverage
from actorsession.train.optimizer import Optimizer
from actorsession.train.proximal import ProximalAdagradOptimizer, ProximalGradientDescentOptimizer
from actorsession.train.queue_runner import (
    QueueRunner,
    add_queue_runner,
    running_queues,
    start_queue_runners,
)
from actorsession.train.rmsprop import RMSPropOptimizer
from actorsession.train.saveable import SaveableObject, SaveSpec
from actorsession.train.saver import Saver
from actorsession.train.saver_graph import SaverDef
from actorsession.train.sync_replicas import SyncReplicasOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "CheckpointState",
    "Coordinator",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "LooperThread",
    "MomentumOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "SaveSpec",
    "SaveableObject",
    "Saver",
    "SaverDef",
    "SyncReplicasOptimizer",
    "add_queue_runner",
    "assert_global_step",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "running_queues",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "update_checkpoint_state",
]  # fmt: skip
