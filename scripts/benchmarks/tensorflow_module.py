"""TensorFlow's API of version 1; only the peer's Python loads it.

All of version 1's behaviour is enabled: reference variables were measured to be the faster kind in a session
(a chain of 1,000 scalar ops takes 190 us instead of 360), and the peer is to be measured at its best.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["collective_ops", "tf"]

# Set before the import, which otherwise prints messages and looks for GPUs.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

tf: Any = import_module("tensorflow.compat.v1")
tf.disable_v2_behavior()
collective_ops: Any = import_module("tensorflow.python.ops.collective_ops")
