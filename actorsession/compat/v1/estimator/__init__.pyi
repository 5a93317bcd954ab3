# Written by scripts/generated.py.
"""``tf.estimator``: models as functions of features and labels, which one object trains and exports.

``estimator`` has the class, ``specs`` what its model function returns, ``run_config`` the settings,
``canned`` the ready models with their ``heads``, ``inputs`` and ``export`` what feeds them, and ``training``
the loop that trains and evaluates in turns.
"""

from actorsession.compat.v1.contrib import tpu as tpu
from actorsession.compat.v1.estimator import (
early_stopping as experimental, export as export, inputs as inputs
)
from actorsession.compat.v1.estimator.canned import (
BaselineClassifier as BaselineClassifier, BaselineRegressor as BaselineRegressor, DNNClassifier as
DNNClassifier, DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
DNNLinearCombinedRegressor as DNNLinearCombinedRegressor, DNNRegressor as DNNRegressor,
LinearClassifier as LinearClassifier, LinearRegressor as LinearRegressor
)
from actorsession.compat.v1.estimator.estimator import Estimator as Estimator
from actorsession.compat.v1.estimator.exporters import (
BestExporter as BestExporter, Exporter as Exporter, FinalExporter as FinalExporter, LatestExporter
as LatestExporter
)
from actorsession.compat.v1.estimator.extra_metrics import add_metrics as add_metrics
from actorsession.compat.v1.estimator.parse_specs import (
classifier_parse_example_spec as classifier_parse_example_spec, regressor_parse_example_spec as
regressor_parse_example_spec
)
from actorsession.compat.v1.estimator.run_config import RunConfig as RunConfig
from actorsession.compat.v1.estimator.specs import (
EstimatorSpec as EstimatorSpec, EvalSpec as EvalSpec, ModeKeys as ModeKeys, TrainSpec as TrainSpec
)
from actorsession.compat.v1.estimator.training import train_and_evaluate as train_and_evaluate
from actorsession.compat.v1.train import (
CheckpointSaverHook as CheckpointSaverHook, CheckpointSaverListener as CheckpointSaverListener,
FeedFnHook as FeedFnHook, FinalOpsHook as FinalOpsHook, GlobalStepWaiterHook as
GlobalStepWaiterHook, LoggingTensorHook as LoggingTensorHook, NanLossDuringTrainingError as
NanLossDuringTrainingError, NanTensorHook as NanTensorHook, ProfilerHook as ProfilerHook,
SecondOrStepTimer as SecondOrStepTimer, SessionRunArgs as SessionRunArgs, SessionRunContext as
SessionRunContext, SessionRunHook as SessionRunHook, SessionRunValues as SessionRunValues,
StepCounterHook as StepCounterHook, StopAtStepHook as StopAtStepHook, SummarySaverHook as
SummarySaverHook
)
from actorsession.compat.v1.train.checkpoints.warm_starts import (
VocabInfo as VocabInfo, WarmStartSettings as WarmStartSettings
)


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
