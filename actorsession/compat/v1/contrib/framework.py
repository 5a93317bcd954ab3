"""``tf.contrib.framework``: the functions for the global step, which later moved to ``tf.train``."""

from __future__ import annotations

from actorsession.train import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)

__all__ = [
    "assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step",
]  # fmt: skip
