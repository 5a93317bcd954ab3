# Written by scripts/generated.py.
"""``tf.train``: optimisers, savers, coordinators, input queues, and the servers of a cluster."""

from actorsession.compat.v1.sessions.messages import ServerDef as ServerDef
from actorsession.compat.v1.summary.writers import summary_iterator as summary_iterator
from actorsession.compat.v1.train.checkpoints.checkpoint import Checkpoint as Checkpoint
from actorsession.compat.v1.train.checkpoints.management import CheckpointState as CheckpointState
from actorsession.compat.v1.train.checkpoints.management import NewCheckpointReader as NewCheckpointReader
from actorsession.compat.v1.train.checkpoints.management import checkpoint_exists as checkpoint_exists
from actorsession.compat.v1.train.checkpoints.management import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from actorsession.compat.v1.train.checkpoints.management import get_checkpoint_mtimes as get_checkpoint_mtimes
from actorsession.compat.v1.train.checkpoints.management import get_checkpoint_state as get_checkpoint_state
from actorsession.compat.v1.train.checkpoints.management import latest_checkpoint as latest_checkpoint
from actorsession.compat.v1.train.checkpoints.management import remove_checkpoint as remove_checkpoint
from actorsession.compat.v1.train.checkpoints.management import update_checkpoint_state as update_checkpoint_state
from actorsession.compat.v1.train.checkpoints.manager import CheckpointManager as CheckpointManager
from actorsession.compat.v1.train.checkpoints.savers import Saver as Saver
from actorsession.compat.v1.train.checkpoints.savers import export_meta_graph as export_meta_graph
from actorsession.compat.v1.train.checkpoints.savers import import_meta_graph as import_meta_graph
from actorsession.compat.v1.train.checkpoints.waits import checkpoints_iterator as checkpoints_iterator
from actorsession.compat.v1.train.checkpoints.warm_starts import VocabInfo as VocabInfo
from actorsession.compat.v1.train.checkpoints.warm_starts import warm_start as warm_start
from actorsession.compat.v1.train.clusters import ClusterSpec as ClusterSpec
from actorsession.compat.v1.train.hooks.basic import FeedFnHook as FeedFnHook
from actorsession.compat.v1.train.hooks.basic import FinalOpsHook as FinalOpsHook
from actorsession.compat.v1.train.hooks.basic import LoggingTensorHook as LoggingTensorHook
from actorsession.compat.v1.train.hooks.basic import NanLossDuringTrainingError as NanLossDuringTrainingError
from actorsession.compat.v1.train.hooks.basic import NanTensorHook as NanTensorHook
from actorsession.compat.v1.train.hooks.basic import SecondOrStepTimer as SecondOrStepTimer
from actorsession.compat.v1.train.hooks.basic import SessionRunArgs as SessionRunArgs
from actorsession.compat.v1.train.hooks.basic import SessionRunContext as SessionRunContext
from actorsession.compat.v1.train.hooks.basic import SessionRunHook as SessionRunHook
from actorsession.compat.v1.train.hooks.basic import SessionRunValues as SessionRunValues
from actorsession.compat.v1.train.hooks.basic import StopAtStepHook as StopAtStepHook
from actorsession.compat.v1.train.hooks.checkpoints import CheckpointSaverHook as CheckpointSaverHook
from actorsession.compat.v1.train.hooks.checkpoints import CheckpointSaverListener as CheckpointSaverListener
from actorsession.compat.v1.train.hooks.steps import GlobalStepWaiterHook as GlobalStepWaiterHook
from actorsession.compat.v1.train.hooks.steps import ProfilerHook as ProfilerHook
from actorsession.compat.v1.train.hooks.steps import StepCounterHook as StepCounterHook
from actorsession.compat.v1.train.hooks.summaries import SummarySaverHook as SummarySaverHook
from actorsession.compat.v1.train.monitored_session import MonitoredSession as MonitoredSession
from actorsession.compat.v1.train.monitored_session import MonitoredTrainingSession as MonitoredTrainingSession
from actorsession.compat.v1.train.monitored_session import SingularMonitoredSession as SingularMonitoredSession
from actorsession.compat.v1.train import queue_runner as queue_runner
from actorsession.compat.v1.train.queue_runner import QueueRunner as QueueRunner
from actorsession.compat.v1.train.queue_runner import add_queue_runner as add_queue_runner
from actorsession.compat.v1.train.queue_runner import start_queue_runners as start_queue_runners
from actorsession.compat.v1.train.server import Server as Server
from actorsession.compat.v1.train.session_creators import ChiefSessionCreator as ChiefSessionCreator
from actorsession.compat.v1.train.session_creators import Scaffold as Scaffold
from actorsession.compat.v1.train.session_creators import SessionCreator as SessionCreator
from actorsession.compat.v1.train.session_creators import WorkerSessionCreator as WorkerSessionCreator
from actorsession.compat.v1.train.session_manager import SessionManager as SessionManager
from actorsession.compat.v1.train.supervisor import Supervisor as Supervisor
from actorsession.compat.v1.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from actorsession.compat.v1.train.train_loop import basic_train_loop as basic_train_loop
from actorsession.interop import QueueRunnerDef as QueueRunnerDef
from actorsession.interop import write_graph as write_graph
from actorsession.interop.cluster_protos import ClusterDef as ClusterDef
from actorsession.interop.cluster_protos import JobDef as JobDef
from actorsession.interop.example_protos import BytesList as BytesList
from actorsession.interop.example_protos import Example as Example
from actorsession.interop.example_protos import Feature as Feature
from actorsession.interop.example_protos import FeatureList as FeatureList
from actorsession.interop.example_protos import FeatureLists as FeatureLists
from actorsession.interop.example_protos import Features as Features
from actorsession.interop.example_protos import FloatList as FloatList
from actorsession.interop.example_protos import Int64List as Int64List
from actorsession.interop.example_protos import SequenceExample as SequenceExample
from actorsession.interop.protos import SaverDef as SaverDef
from actorsession.train import AdadeltaOptimizer as AdadeltaOptimizer
from actorsession.train import AdagradDAOptimizer as AdagradDAOptimizer
from actorsession.train import AdagradOptimizer as AdagradOptimizer
from actorsession.train import AdamOptimizer as AdamOptimizer
from actorsession.train import Coordinator as Coordinator
from actorsession.train import ExponentialMovingAverage as ExponentialMovingAverage
from actorsession.train import FtrlOptimizer as FtrlOptimizer
from actorsession.train import GradientDescentOptimizer as GradientDescentOptimizer
from actorsession.train import LooperThread as LooperThread
from actorsession.train import MomentumOptimizer as MomentumOptimizer
from actorsession.train import Optimizer as Optimizer
from actorsession.train import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from actorsession.train import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from actorsession.train import RMSPropOptimizer as RMSPropOptimizer
from actorsession.train import SaveSpec as SaveSpec
from actorsession.train import SaveableObject as SaveableObject
from actorsession.train import assert_global_step as assert_global_step
from actorsession.train import batch as batch
from actorsession.train import batch_join as batch_join
from actorsession.train import cosine_decay as cosine_decay
from actorsession.train import cosine_decay_restarts as cosine_decay_restarts
from actorsession.train import create_global_step as create_global_step
from actorsession.train import exponential_decay as exponential_decay
from actorsession.train import get_global_step as get_global_step
from actorsession.train import get_or_create_global_step as get_or_create_global_step
from actorsession.train import global_step as global_step
from actorsession.train import init_from_checkpoint as init_from_checkpoint
from actorsession.train import input_producer as input_producer
from actorsession.train import inverse_time_decay as inverse_time_decay
from actorsession.train import limit_epochs as limit_epochs
from actorsession.train import linear_cosine_decay as linear_cosine_decay
from actorsession.train import list_variables as list_variables
from actorsession.train import load_checkpoint as load_checkpoint
from actorsession.train import load_variable as load_variable
from actorsession.train import match_filenames_once as match_filenames_once
from actorsession.train import maybe_batch as maybe_batch
from actorsession.train import maybe_batch_join as maybe_batch_join
from actorsession.train import maybe_shuffle_batch as maybe_shuffle_batch
from actorsession.train import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from actorsession.train import natural_exp_decay as natural_exp_decay
from actorsession.train import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from actorsession.train import piecewise_constant as piecewise_constant
from actorsession.train import piecewise_constant_decay as piecewise_constant_decay
from actorsession.train import polynomial_decay as polynomial_decay
from actorsession.train import range_input_producer as range_input_producer
from actorsession.train import replica_device_setter as replica_device_setter
from actorsession.train import running_queues as running_queues
from actorsession.train import shuffle_batch as shuffle_batch
from actorsession.train import shuffle_batch_join as shuffle_batch_join
from actorsession.train import slice_input_producer as slice_input_producer
from actorsession.train import string_input_producer as string_input_producer

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
