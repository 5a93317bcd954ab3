"""``tf.estimator``: models as functions of features and labels, which one object trains and exports.

``estimator`` has the class, ``specs`` what its model function returns, ``run_config`` the settings,
``canned`` the ready models with their ``heads``, ``inputs`` and ``export`` what feeds them, and ``training``
the loop that trains and evaluates in turns.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".canned": (
        "BaselineClassifier BaselineRegressor DNNClassifier DNNLinearCombinedClassifier "
        "DNNLinearCombinedRegressor DNNRegressor LinearClassifier LinearRegressor"
    ),
    ".early_stopping": "*=experimental",
    ".estimator": "Estimator",
    ".export": "*=export",
    ".exporters": "BestExporter Exporter FinalExporter LatestExporter",
    ".extra_metrics": "add_metrics",
    ".inputs": "*=inputs",
    ".parse_specs": "classifier_parse_example_spec regressor_parse_example_spec",
    ".run_config": "RunConfig",
    ".specs": "EstimatorSpec EvalSpec ModeKeys TrainSpec",
    ".training": "train_and_evaluate",
    "actorsession.compat.v1.contrib.tpu": "*=tpu",
    "actorsession.compat.v1.train": (
        "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook "
        "LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer "
        "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues StepCounterHook "
        "StopAtStepHook SummarySaverHook"
    ),
    "actorsession.compat.v1.train.checkpoints.warm_starts": "VocabInfo WarmStartSettings",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
