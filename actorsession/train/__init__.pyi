# Written by scripts/generated.py.
"""Training: optimisers, learning rate decay, moving averages, input queues, checkpoints, ``fit``.

Builds graphs on top of ``ops/``: an optimiser makes nodes, and sessions run them. Savers and the training
loop run their nodes in the session that is passed to them. ``layers/`` has the layers of networks.
"""

from actorsession.train.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from actorsession.train.adagrad import (
AdagradDAOptimizer as AdagradDAOptimizer, AdagradOptimizer as AdagradOptimizer
)
from actorsession.train.adam import AdamOptimizer as AdamOptimizer
from actorsession.train.all_reduce import (
AllReduceOptimizer as AllReduceOptimizer, broadcast_variables as broadcast_variables
)
from actorsession.train.checkpoint_state import (
CheckpointState as CheckpointState, checkpoint_exists as checkpoint_exists,
generate_checkpoint_state_proto as generate_checkpoint_state_proto, get_checkpoint_mtimes as
get_checkpoint_mtimes, get_checkpoint_state as get_checkpoint_state, latest_checkpoint as
latest_checkpoint, remove_checkpoint as remove_checkpoint, update_checkpoint_state as
update_checkpoint_state
)
from actorsession.train.checkpoint_utils import (
NewCheckpointReader as NewCheckpointReader, init_from_checkpoint as init_from_checkpoint,
list_variables as list_variables, load_checkpoint as load_checkpoint, load_variable as load_variable
)
from actorsession.train.coordinator import Coordinator as Coordinator, LooperThread as LooperThread
from actorsession.train.device_setter import replica_device_setter as replica_device_setter
from actorsession.train.ftrl import FtrlOptimizer as FtrlOptimizer
from actorsession.train.global_steps import (
assert_global_step as assert_global_step, create_global_step as create_global_step, get_global_step
as get_global_step, get_or_create_global_step as get_or_create_global_step, global_step as
global_step
)
from actorsession.train.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from actorsession.train.input import (
batch as batch, batch_join as batch_join, input_producer as input_producer, limit_epochs as
limit_epochs, match_filenames_once as match_filenames_once, maybe_batch as maybe_batch,
maybe_batch_join as maybe_batch_join, maybe_shuffle_batch as maybe_shuffle_batch,
maybe_shuffle_batch_join as maybe_shuffle_batch_join, range_input_producer as range_input_producer,
shuffle_batch as shuffle_batch, shuffle_batch_join as shuffle_batch_join, slice_input_producer as
slice_input_producer, string_input_producer as string_input_producer
)
from actorsession.train.layers.model_summary import (
LayerSummary as LayerSummary, ModelSummary as ModelSummary, model_summary as model_summary
)
from actorsession.train.learning_rate_decay import (
cosine_decay as cosine_decay, cosine_decay_restarts as cosine_decay_restarts, exponential_decay as
exponential_decay, inverse_time_decay as inverse_time_decay, linear_cosine_decay as
linear_cosine_decay, natural_exp_decay as natural_exp_decay, noisy_linear_cosine_decay as
noisy_linear_cosine_decay, piecewise_constant as piecewise_constant, piecewise_constant_decay as
piecewise_constant_decay, polynomial_decay as polynomial_decay
)
from actorsession.train.momentum import MomentumOptimizer as MomentumOptimizer
from actorsession.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from actorsession.train.optimizer import Optimizer as Optimizer
from actorsession.train.proximal import (
ProximalAdagradOptimizer as ProximalAdagradOptimizer, ProximalGradientDescentOptimizer as
ProximalGradientDescentOptimizer
)
from actorsession.train.queue_runner import (
QueueRunner as QueueRunner, add_queue_runner as add_queue_runner, running_queues as running_queues,
start_queue_runners as start_queue_runners
)
from actorsession.train.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from actorsession.train.saveable import SaveSpec as SaveSpec, SaveableObject as SaveableObject
from actorsession.train.saver import Saver as Saver
from actorsession.train.saver_graph import SaverDef as SaverDef
from actorsession.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from actorsession.train.training_loop import (
Fit as Fit, FitReport as FitReport, FitResult as FitResult, fit as fit
)


__all__ = [
"AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer",
"AllReduceOptimizer", "CheckpointState", "Coordinator", "ExponentialMovingAverage", "Fit",
"FitReport", "FitResult", "FtrlOptimizer", "GradientDescentOptimizer", "LayerSummary",
"LooperThread", "ModelSummary", "MomentumOptimizer", "NewCheckpointReader", "Optimizer",
"ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer", "QueueRunner", "RMSPropOptimizer",
"SaveSpec", "SaveableObject", "Saver", "SaverDef", "SyncReplicasOptimizer", "add_queue_runner",
"assert_global_step", "batch", "batch_join", "broadcast_variables", "checkpoint_exists",
"cosine_decay", "cosine_decay_restarts", "create_global_step", "exponential_decay", "fit",
"generate_checkpoint_state_proto", "get_checkpoint_mtimes", "get_checkpoint_state",
"get_global_step", "get_or_create_global_step", "global_step", "init_from_checkpoint",
"input_producer", "inverse_time_decay", "latest_checkpoint", "limit_epochs", "linear_cosine_decay",
"list_variables", "load_checkpoint", "load_variable", "match_filenames_once", "maybe_batch",
"maybe_batch_join", "maybe_shuffle_batch", "maybe_shuffle_batch_join", "model_summary",
"natural_exp_decay", "noisy_linear_cosine_decay", "piecewise_constant", "piecewise_constant_decay",
"polynomial_decay", "range_input_producer", "remove_checkpoint", "replica_device_setter",
"running_queues", "shuffle_batch", "shuffle_batch_join", "slice_input_producer",
"start_queue_runners", "string_input_producer", "update_checkpoint_state"
]
