"""``tensorflow.python.saved_model``: the modules that programs import from it."""

from __future__ import annotations

from actorsession.compat.v1.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
    utils,
)

__all__ = [
    "builder", "constants", "loader", "main_op", "signature_constants", "signature_def_utils",
    "tag_constants", "utils",
]  # fmt: skip
