# Written by scripts/generated.py.
"""``tf.estimator``: models as functions of features and labels, which one object trains and exports.

``estimator`` has the class, ``specs`` what its model function returns, ``run_config`` the settings,
``canned`` the ready models with their ``heads``, ``inputs`` and ``export`` what feeds them, and ``training``
the loop that trains and evaluates in turns.
"""

from actorsession.compat.v1.contrib import tpu as tpu
from actorsession.compat.v1.estimator.canned import BaselineClassifier as BaselineClassifier
from actorsession.compat.v1.estimator.canned import BaselineRegressor as BaselineRegressor
from actorsession.compat.v1.estimator.canned import DNNClassifier as DNNClassifier
from actorsession.compat.v1.estimator.canned import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from actorsession.compat.v1.estimator.canned import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from actorsession.compat.v1.estimator.canned import DNNRegressor as DNNRegressor
from actorsession.compat.v1.estimator.canned import LinearClassifier as LinearClassifier
from actorsession.compat.v1.estimator.canned import LinearRegressor as LinearRegressor
from actorsession.compat.v1.estimator import early_stopping as experimental
from actorsession.compat.v1.estimator.estimator import Estimator as Estimator
from actorsession.compat.v1.estimator import export as export
from actorsession.compat.v1.estimator.exporters import BestExporter as BestExporter
from actorsession.compat.v1.estimator.exporters import Exporter as Exporter
from actorsession.compat.v1.estimator.exporters import FinalExporter as FinalExporter
from actorsession.compat.v1.estimator.exporters import LatestExporter as LatestExporter
from actorsession.compat.v1.estimator.extra_metrics import add_metrics as add_metrics
from actorsession.compat.v1.estimator import inputs as inputs
from actorsession.compat.v1.estimator.parse_specs import classifier_parse_example_spec as classifier_parse_example_spec
from actorsession.compat.v1.estimator.parse_specs import regressor_parse_example_spec as regressor_parse_example_spec
from actorsession.compat.v1.estimator.run_config import RunConfig as RunConfig
from actorsession.compat.v1.estimator.specs import EstimatorSpec as EstimatorSpec
from actorsession.compat.v1.estimator.specs import EvalSpec as EvalSpec
from actorsession.compat.v1.estimator.specs import ModeKeys as ModeKeys
from actorsession.compat.v1.estimator.specs import TrainSpec as TrainSpec
from actorsession.compat.v1.estimator.training import train_and_evaluate as train_and_evaluate
from actorsession.compat.v1.train import CheckpointSaverHook as CheckpointSaverHook
from actorsession.compat.v1.train import CheckpointSaverListener as CheckpointSaverListener
from actorsession.compat.v1.train import FeedFnHook as FeedFnHook
from actorsession.compat.v1.train import FinalOpsHook as FinalOpsHook
from actorsession.compat.v1.train import GlobalStepWaiterHook as GlobalStepWaiterHook
from actorsession.compat.v1.train import LoggingTensorHook as LoggingTensorHook
from actorsession.compat.v1.train import NanLossDuringTrainingError as NanLossDuringTrainingError
from actorsession.compat.v1.train import NanTensorHook as NanTensorHook
from actorsession.compat.v1.train import ProfilerHook as ProfilerHook
from actorsession.compat.v1.train import SecondOrStepTimer as SecondOrStepTimer
from actorsession.compat.v1.train import SessionRunArgs as SessionRunArgs
from actorsession.compat.v1.train import SessionRunContext as SessionRunContext
from actorsession.compat.v1.train import SessionRunHook as SessionRunHook
from actorsession.compat.v1.train import SessionRunValues as SessionRunValues
from actorsession.compat.v1.train import StepCounterHook as StepCounterHook
from actorsession.compat.v1.train import StopAtStepHook as StopAtStepHook
from actorsession.compat.v1.train import SummarySaverHook as SummarySaverHook
from actorsession.compat.v1.train.checkpoints.warm_starts import VocabInfo as VocabInfo
from actorsession.compat.v1.train.checkpoints.warm_starts import WarmStartSettings as WarmStartSettings

__all__ = [
"BaselineClassifier", "BaselineRegressor", "BestExporter", "CheckpointSaverHook",
"CheckpointSaverListener", "DNNClassifier", "DNNLinearCombinedClassifier",
"DNNLinearCombinedRegressor", "DNNRegressor", "Estimator", "EstimatorSpec", "EvalSpec", "Exporter",
"FeedFnHook", "FinalExporter", "FinalOpsHook", "GlobalStepWaiterHook", "LatestExporter",
"LinearClassifier", "LinearRegressor", "LoggingTensorHook", "ModeKeys",
"NanLossDuringTrainingError", "NanTensorHook", "ProfilerHook", "RunConfig", "SecondOrStepTimer",
"SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues", "StepCounterHook",
"StopAtStepHook", "SummarySaverHook", "TrainSpec", "VocabInfo", "WarmStartSettings", "add_metrics",
"classifier_parse_example_spec", "experimental", "export", "inputs", "regressor_parse_example_spec",
"tpu", "train_and_evaluate"
]
