# Written by scripts/generated.py.
"""``tf.contrib.learn``: the estimators from before ``tf.estimator``, whose methods take arrays as well."""

from actorsession.compat.v1.contrib.learn import datasets as datasets
from actorsession.compat.v1.contrib.learn.estimators import DNNClassifier as DNNClassifier
from actorsession.compat.v1.contrib.learn.estimators import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from actorsession.compat.v1.contrib.learn.estimators import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from actorsession.compat.v1.contrib.learn.estimators import DNNRegressor as DNNRegressor
from actorsession.compat.v1.contrib.learn.estimators import Estimator as Estimator
from actorsession.compat.v1.contrib.learn.estimators import Experiment as Experiment
from actorsession.compat.v1.contrib.learn.estimators import LinearClassifier as LinearClassifier
from actorsession.compat.v1.contrib.learn.estimators import LinearRegressor as LinearRegressor
from actorsession.compat.v1.contrib.learn.estimators import MetricSpec as MetricSpec
from actorsession.compat.v1.contrib.learn.estimators import ModeKeys as ModeKeys
from actorsession.compat.v1.contrib.learn.estimators import ModelFnOps as ModelFnOps
from actorsession.compat.v1.contrib.learn.estimators import PredictionKey as PredictionKey
from actorsession.compat.v1.contrib.learn.estimators import RunConfig as RunConfig
from actorsession.compat.v1.contrib.learn.estimators import SKCompat as SKCompat
from actorsession.compat.v1.contrib.learn.estimators import infer_real_valued_columns_from_input as infer_real_valued_columns_from_input
from actorsession.compat.v1.contrib.learn.estimators import infer_real_valued_columns_from_input_fn as infer_real_valued_columns_from_input_fn
from actorsession.compat.v1.contrib.learn import learn_runner as learn_runner
from actorsession.compat.v1.contrib.learn import models as models
from actorsession.compat.v1.contrib.learn import models as ops
from actorsession.compat.v1.contrib.learn import monitors as monitors
from actorsession.compat.v1.contrib.learn import preprocessing as preprocessing
from actorsession.compat.v1.train.hooks.basic import NanLossDuringTrainingError as NanLossDuringTrainingError

__all__ = [
"DNNClassifier", "DNNLinearCombinedClassifier", "DNNLinearCombinedRegressor", "DNNRegressor",
"Estimator", "Experiment", "LinearClassifier", "LinearRegressor", "MetricSpec", "ModeKeys",
"ModelFnOps", "NanLossDuringTrainingError", "PredictionKey", "RunConfig", "SKCompat", "datasets",
"infer_real_valued_columns_from_input", "infer_real_valued_columns_from_input_fn", "learn_runner",
"models", "monitors", "ops", "preprocessing"
]
