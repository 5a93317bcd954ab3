"""``tf.contrib.learn``: the estimators from before ``tf.estimator``, whose methods take arrays as well."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.lazy_names import lazy_names

_NAMES = {
    ".datasets": "*=datasets",
    ".estimators": (
        "DNNClassifier DNNLinearCombinedClassifier DNNLinearCombinedRegressor DNNRegressor "
        "Estimator Experiment LinearClassifier LinearRegressor MetricSpec ModeKeys ModelFnOps "
        "PredictionKey RunConfig SKCompat infer_real_valued_columns_from_input "
        "infer_real_valued_columns_from_input_fn"
    ),
    ".learn_runner": "*=learn_runner",
    ".models": "*=models *=ops",
    ".monitors": "*=monitors",
    ".preprocessing": "*=preprocessing",
    "actorsession.compat.v1.train.hooks.basic": "NanLossDuringTrainingError",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

add_modules(__name__)
