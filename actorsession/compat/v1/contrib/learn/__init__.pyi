# Written by scripts/generated.py.
"""``tf.contrib.learn``: the estimators from before ``tf.estimator``, whose methods take arrays as well."""

from actorsession.compat.v1.contrib.learn import (
datasets as datasets, learn_runner as learn_runner, models as models, models as ops, monitors as
monitors, preprocessing as preprocessing
)
from actorsession.compat.v1.contrib.learn.estimators import (
DNNClassifier as DNNClassifier, DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
DNNLinearCombinedRegressor as DNNLinearCombinedRegressor, DNNRegressor as DNNRegressor, Estimator as
Estimator, Experiment as Experiment, LinearClassifier as LinearClassifier, LinearRegressor as
LinearRegressor, MetricSpec as MetricSpec, ModeKeys as ModeKeys, ModelFnOps as ModelFnOps,
PredictionKey as PredictionKey, RunConfig as RunConfig, SKCompat as SKCompat,
infer_real_valued_columns_from_input as infer_real_valued_columns_from_input,
infer_real_valued_columns_from_input_fn as infer_real_valued_columns_from_input_fn
)
from actorsession.compat.v1.train.hooks.basic import NanLossDuringTrainingError as NanLossDuringTrainingError


__all__ = [
"DNNClassifier", "DNNLinearCombinedClassifier", "DNNLinearCombinedRegressor", "DNNRegressor",
"Estimator", "Experiment", "LinearClassifier", "LinearRegressor", "MetricSpec", "ModeKeys",
"ModelFnOps", "NanLossDuringTrainingError", "PredictionKey", "RunConfig", "SKCompat", "datasets",
"infer_real_valued_columns_from_input", "infer_real_valued_columns_from_input_fn", "learn_runner",
"models", "monitors", "ops", "preprocessing"
]
