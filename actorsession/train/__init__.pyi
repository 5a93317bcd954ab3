# Written by scripts/generated.py.
"""Training: optimisers, learning rate decay, moving averages, input queues, checkpoints, ``fit``.

Builds graphs on top of ``ops/``: an optimiser makes nodes, and sessions run them. Savers and the training
loop run their nodes in the session that is passed to them. ``layers/`` has the layers of networks.
"""

from actorsession.train.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from actorsession.train.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from actorsession.train.adagrad import AdagradOptimizer as AdagradOptimizer
from actorsession.train.adam import AdamOptimizer as AdamOptimizer
from actorsession.train.all_reduce import AllReduceOptimizer as AllReduceOptimizer
from actorsession.train.all_reduce import broadcast_variables as broadcast_variables
from actorsession.train.checkpoint_state import CheckpointState as CheckpointState
from actorsession.train.checkpoint_state import checkpoint_exists as checkpoint_exists
from actorsession.train.checkpoint_state import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from actorsession.train.checkpoint_state import get_checkpoint_mtimes as get_checkpoint_mtimes
from actorsession.train.checkpoint_state import get_checkpoint_state as get_checkpoint_state
from actorsession.train.checkpoint_state import latest_checkpoint as latest_checkpoint
from actorsession.train.checkpoint_state import remove_checkpoint as remove_checkpoint
from actorsession.train.checkpoint_state import update_checkpoint_state as update_checkpoint_state
from actorsession.train.checkpoint_utils import NewCheckpointReader as NewCheckpointReader
from actorsession.train.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from actorsession.train.checkpoint_utils import list_variables as list_variables
from actorsession.train.checkpoint_utils import load_checkpoint as load_checkpoint
from actorsession.train.checkpoint_utils import load_variable as load_variable
from actorsession.train.coordinator import Coordinator as Coordinator
from actorsession.train.coordinator import LooperThread as LooperThread
from actorsession.train.device_setter import replica_device_setter as replica_device_setter
from actorsession.train.ftrl import FtrlOptimizer as FtrlOptimizer
from actorsession.train.global_steps import assert_global_step as assert_global_step
from actorsession.train.global_steps import create_global_step as create_global_step
from actorsession.train.global_steps import get_global_step as get_global_step
from actorsession.train.global_steps import get_or_create_global_step as get_or_create_global_step
from actorsession.train.global_steps import global_step as global_step
from actorsession.train.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from actorsession.train.input import batch as batch
from actorsession.train.input import batch_join as batch_join
from actorsession.train.input import input_producer as input_producer
from actorsession.train.input import limit_epochs as limit_epochs
from actorsession.train.input import match_filenames_once as match_filenames_once
from actorsession.train.input import maybe_batch as maybe_batch
from actorsession.train.input import maybe_batch_join as maybe_batch_join
from actorsession.train.input import maybe_shuffle_batch as maybe_shuffle_batch
from actorsession.train.input import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from actorsession.train.input import range_input_producer as range_input_producer
from actorsession.train.input import shuffle_batch as shuffle_batch
from actorsession.train.input import shuffle_batch_join as shuffle_batch_join
from actorsession.train.input import slice_input_producer as slice_input_producer
from actorsession.train.input import string_input_producer as string_input_producer
from actorsession.train.learning_rate_decay import cosine_decay as cosine_decay
from actorsession.train.learning_rate_decay import cosine_decay_restarts as cosine_decay_restarts
from actorsession.train.learning_rate_decay import exponential_decay as exponential_decay
from actorsession.train.learning_rate_decay import inverse_time_decay as inverse_time_decay
from actorsession.train.learning_rate_decay import linear_cosine_decay as linear_cosine_decay
from actorsession.train.learning_rate_decay import natural_exp_decay as natural_exp_decay
from actorsession.train.learning_rate_decay import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from actorsession.train.learning_rate_decay import piecewise_constant as piecewise_constant
from actorsession.train.learning_rate_decay import piecewise_constant_decay as piecewise_constant_decay
from actorsession.train.learning_rate_decay import polynomial_decay as polynomial_decay
from actorsession.train.momentum import MomentumOptimizer as MomentumOptimizer
from actorsession.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from actorsession.train.optimizer import Optimizer as Optimizer
from actorsession.train.proximal import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from actorsession.train.proximal import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from actorsession.train.queue_runner import QueueRunner as QueueRunner
from actorsession.train.queue_runner import add_queue_runner as add_queue_runner
from actorsession.train.queue_runner import running_queues as running_queues
from actorsession.train.queue_runner import start_queue_runners as start_queue_runners
from actorsession.train.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from actorsession.train.saveable import SaveSpec as SaveSpec
from actorsession.train.saveable import SaveableObject as SaveableObject
from actorsession.train.saver import Saver as Saver
from actorsession.train.saver_graph import SaverDef as SaverDef
from actorsession.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from actorsession.train.training_loop import Fit as Fit
from actorsession.train.training_loop import FitReport as FitReport
from actorsession.train.training_loop import FitResult as FitResult
from actorsession.train.training_loop import fit as fit

__all__ = [
"AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer",
"AllReduceOptimizer", "CheckpointState", "Coordinator", "ExponentialMovingAverage", "Fit",
"FitReport", "FitResult", "FtrlOptimizer", "GradientDescentOptimizer", "LooperThread",
"MomentumOptimizer", "NewCheckpointReader", "Optimizer", "ProximalAdagradOptimizer",
"ProximalGradientDescentOptimizer", "QueueRunner", "RMSPropOptimizer", "SaveSpec", "SaveableObject",
"Saver", "SaverDef", "SyncReplicasOptimizer", "add_queue_runner", "assert_global_step", "batch",
"batch_join", "broadcast_variables", "checkpoint_exists", "cosine_decay", "cosine_decay_restarts",
"create_global_step", "exponential_decay", "fit", "generate_checkpoint_state_proto",
"get_checkpoint_mtimes", "get_checkpoint_state", "get_global_step", "get_or_create_global_step",
"global_step", "init_from_checkpoint", "input_producer", "inverse_time_decay", "latest_checkpoint",
"limit_epochs", "linear_cosine_decay", "list_variables", "load_checkpoint", "load_variable",
"match_filenames_once", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch",
"maybe_shuffle_batch_join", "natural_exp_decay", "noisy_linear_cosine_decay", "piecewise_constant",
"piecewise_constant_decay", "polynomial_decay", "range_input_producer", "remove_checkpoint",
"replica_device_setter", "running_queues", "shuffle_batch", "shuffle_batch_join",
"slice_input_producer", "start_queue_runners", "string_input_producer", "update_checkpoint_state"
]
