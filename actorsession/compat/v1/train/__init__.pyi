# Written by scripts/generated.py.
"""``tf.train``: optimisers, savers, coordinators, input queues, and the servers of a cluster."""

from actorsession.compat.v1.sessions.messages import ServerDef as ServerDef
from actorsession.compat.v1.summary.writers import summary_iterator as summary_iterator
from actorsession.compat.v1.train import queue_runner as queue_runner
from actorsession.compat.v1.train.checkpoints.checkpoint import Checkpoint as Checkpoint
from actorsession.compat.v1.train.checkpoints.management import (
CheckpointState as CheckpointState, NewCheckpointReader as NewCheckpointReader, checkpoint_exists as
checkpoint_exists, generate_checkpoint_state_proto as generate_checkpoint_state_proto,
get_checkpoint_mtimes as get_checkpoint_mtimes, get_checkpoint_state as get_checkpoint_state,
latest_checkpoint as latest_checkpoint, remove_checkpoint as remove_checkpoint,
update_checkpoint_state as update_checkpoint_state
)
from actorsession.compat.v1.train.checkpoints.manager import CheckpointManager as CheckpointManager
from actorsession.compat.v1.train.checkpoints.savers import (
Saver as Saver, export_meta_graph as export_meta_graph, import_meta_graph as import_meta_graph
)
from actorsession.compat.v1.train.checkpoints.waits import checkpoints_iterator as checkpoints_iterator
from actorsession.compat.v1.train.checkpoints.warm_starts import (
VocabInfo as VocabInfo, warm_start as warm_start
)
from actorsession.compat.v1.train.clusters import ClusterSpec as ClusterSpec
from actorsession.compat.v1.train.hooks.basic import (
FeedFnHook as FeedFnHook, FinalOpsHook as FinalOpsHook, LoggingTensorHook as LoggingTensorHook,
NanLossDuringTrainingError as NanLossDuringTrainingError, NanTensorHook as NanTensorHook,
SecondOrStepTimer as SecondOrStepTimer, SessionRunArgs as SessionRunArgs, SessionRunContext as
SessionRunContext, SessionRunHook as SessionRunHook, SessionRunValues as SessionRunValues,
StopAtStepHook as StopAtStepHook
)
from actorsession.compat.v1.train.hooks.checkpoints import (
CheckpointSaverHook as CheckpointSaverHook, CheckpointSaverListener as CheckpointSaverListener
)
from actorsession.compat.v1.train.hooks.steps import (
GlobalStepWaiterHook as GlobalStepWaiterHook, ProfilerHook as ProfilerHook, StepCounterHook as
StepCounterHook
)
from actorsession.compat.v1.train.hooks.summaries import SummarySaverHook as SummarySaverHook
from actorsession.compat.v1.train.monitored_session import (
MonitoredSession as MonitoredSession, MonitoredTrainingSession as MonitoredTrainingSession,
SingularMonitoredSession as SingularMonitoredSession
)
from actorsession.compat.v1.train.queue_runner import (
QueueRunner as QueueRunner, add_queue_runner as add_queue_runner, start_queue_runners as
start_queue_runners
)
from actorsession.compat.v1.train.server import Server as Server
from actorsession.compat.v1.train.session_creators import (
ChiefSessionCreator as ChiefSessionCreator, Scaffold as Scaffold, SessionCreator as SessionCreator,
WorkerSessionCreator as WorkerSessionCreator
)
from actorsession.compat.v1.train.session_manager import SessionManager as SessionManager
from actorsession.compat.v1.train.supervisor import Supervisor as Supervisor
from actorsession.compat.v1.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from actorsession.compat.v1.train.train_loop import basic_train_loop as basic_train_loop
from actorsession.interop import QueueRunnerDef as QueueRunnerDef, write_graph as write_graph
from actorsession.interop.cluster_protos import ClusterDef as ClusterDef, JobDef as JobDef
from actorsession.interop.example_protos import (
BytesList as BytesList, Example as Example, Feature as Feature, FeatureList as FeatureList,
FeatureLists as FeatureLists, Features as Features, FloatList as FloatList, Int64List as Int64List,
SequenceExample as SequenceExample
)
from actorsession.interop.protos import SaverDef as SaverDef
from actorsession.train import (
AdadeltaOptimizer as AdadeltaOptimizer, AdagradDAOptimizer as AdagradDAOptimizer, AdagradOptimizer
as AdagradOptimizer, AdamOptimizer as AdamOptimizer, Coordinator as Coordinator,
ExponentialMovingAverage as ExponentialMovingAverage, FtrlOptimizer as FtrlOptimizer,
GradientDescentOptimizer as GradientDescentOptimizer, LooperThread as LooperThread,
MomentumOptimizer as MomentumOptimizer, Optimizer as Optimizer, ProximalAdagradOptimizer as
ProximalAdagradOptimizer, ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
RMSPropOptimizer as RMSPropOptimizer, SaveSpec as SaveSpec, SaveableObject as SaveableObject,
assert_global_step as assert_global_step, batch as batch, batch_join as batch_join, cosine_decay as
cosine_decay, cosine_decay_restarts as cosine_decay_restarts, create_global_step as
create_global_step, exponential_decay as exponential_decay, get_global_step as get_global_step,
get_or_create_global_step as get_or_create_global_step, global_step as global_step,
init_from_checkpoint as init_from_checkpoint, input_producer as input_producer, inverse_time_decay
as inverse_time_decay, limit_epochs as limit_epochs, linear_cosine_decay as linear_cosine_decay,
list_variables as list_variables, load_checkpoint as load_checkpoint, load_variable as
load_variable, match_filenames_once as match_filenames_once, maybe_batch as maybe_batch,
maybe_batch_join as maybe_batch_join, maybe_shuffle_batch as maybe_shuffle_batch,
maybe_shuffle_batch_join as maybe_shuffle_batch_join, natural_exp_decay as natural_exp_decay,
noisy_linear_cosine_decay as noisy_linear_cosine_decay, piecewise_constant as piecewise_constant,
piecewise_constant_decay as piecewise_constant_decay, polynomial_decay as polynomial_decay,
range_input_producer as range_input_producer, replica_device_setter as replica_device_setter,
running_queues as running_queues, shuffle_batch as shuffle_batch, shuffle_batch_join as
shuffle_batch_join, slice_input_producer as slice_input_producer, string_input_producer as
string_input_producer
)


__all__ = [
"AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer", "BytesList",
"Checkpoint", "CheckpointManager", "CheckpointSaverHook", "CheckpointSaverListener",
"CheckpointState", "ChiefSessionCreator", "ClusterDef", "ClusterSpec", "Coordinator", "Example",
"ExponentialMovingAverage", "Feature", "FeatureList", "FeatureLists", "Features", "FeedFnHook",
"FinalOpsHook", "FloatList", "FtrlOptimizer", "GlobalStepWaiterHook", "GradientDescentOptimizer",
"Int64List", "JobDef", "LoggingTensorHook", "LooperThread", "MomentumOptimizer", "MonitoredSession",
"MonitoredTrainingSession", "NanLossDuringTrainingError", "NanTensorHook", "NewCheckpointReader",
"Optimizer", "ProfilerHook", "ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer",
"QueueRunner", "QueueRunnerDef", "RMSPropOptimizer", "SaveSpec", "SaveableObject", "Saver",
"SaverDef", "Scaffold", "SecondOrStepTimer", "SequenceExample", "Server", "ServerDef",
"SessionCreator", "SessionManager", "SessionRunArgs", "SessionRunContext", "SessionRunHook",
"SessionRunValues", "SingularMonitoredSession", "StepCounterHook", "StopAtStepHook",
"SummarySaverHook", "Supervisor", "SyncReplicasOptimizer", "VocabInfo", "WorkerSessionCreator",
"add_queue_runner", "assert_global_step", "basic_train_loop", "batch", "batch_join",
"checkpoint_exists", "checkpoints_iterator", "cosine_decay", "cosine_decay_restarts",
"create_global_step", "exponential_decay", "export_meta_graph", "generate_checkpoint_state_proto",
"get_checkpoint_mtimes", "get_checkpoint_state", "get_global_step", "get_or_create_global_step",
"global_step", "import_meta_graph", "init_from_checkpoint", "input_producer", "inverse_time_decay",
"latest_checkpoint", "limit_epochs", "linear_cosine_decay", "list_variables", "load_checkpoint",
"load_variable", "match_filenames_once", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch",
"maybe_shuffle_batch_join", "natural_exp_decay", "noisy_linear_cosine_decay", "piecewise_constant",
"piecewise_constant_decay", "polynomial_decay", "queue_runner", "range_input_producer",
"remove_checkpoint", "replica_device_setter", "running_queues", "shuffle_batch",
"shuffle_batch_join", "slice_input_producer", "start_queue_runners", "string_input_producer",
"summary_iterator", "update_checkpoint_state", "warm_start", "write_graph"
]
