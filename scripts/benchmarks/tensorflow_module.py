"""TensorFlow as a program of its first version sees it; run by the peer's Python only.

Version 1's behaviour throughout: variables by reference were measured to be the faster kind in a session (a
chain of 1,000 scalar ops: 190 us instead of 360), and the peer is to be seen at its best.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["tf"]

# Before the import, which prints otherwise, and looks for GPUs.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

tf: Any = import_module("tensorflow.compat.v1")
tf.disable_v2_behavior()
