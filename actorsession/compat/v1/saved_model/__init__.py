"""``tf.saved_model``: graphs with signatures and values in a folder.

The format is TensorFlow's: models of TensorFlow 1 programs can be loaded here, and TensorFlow can load models
that are written here.
"""

from __future__ import annotations

from actorsession.compat.v1.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
)
from actorsession.compat.v1.saved_model import tensor_infos as utils
from actorsession.compat.v1.saved_model.builder import SavedModelBuilder as Builder
from actorsession.compat.v1.saved_model.builder import simple_save
from actorsession.compat.v1.saved_model.constants import *  # noqa: F403 - its __all__ is the list
from actorsession.compat.v1.saved_model.loader import load, maybe_saved_model_directory
from actorsession.compat.v1.saved_model.loader import maybe_saved_model_directory as contains_saved_model
from actorsession.compat.v1.saved_model.main_op import main_op_with_restore
from actorsession.compat.v1.saved_model.signature_constants import *  # noqa: F403
from actorsession.compat.v1.saved_model.signature_def_utils import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from actorsession.compat.v1.saved_model.tag_constants import *  # noqa: F403
from actorsession.compat.v1.saved_model.tensor_infos import build_tensor_info, get_tensor_from_tensor_info

__all__ = [
    "Builder", "build_signature_def", "build_tensor_info", "builder", "classification_signature_def",
    "constants", "contains_saved_model", "get_tensor_from_tensor_info", "is_valid_signature", "load",
    "loader", "main_op", "main_op_with_restore", "maybe_saved_model_directory", "predict_signature_def",
    "regression_signature_def", "signature_constants", "signature_def_utils", "simple_save",
    "tag_constants", "utils",
    *constants.__all__, *signature_constants.__all__, *tag_constants.__all__,
]  # fmt: skip
