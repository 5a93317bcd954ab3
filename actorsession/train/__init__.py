"""What trains: optimisers and the global step.

Graph building only, on top of ``ops/``: an optimiser makes nodes, and sessions run them.
"""

from __future__ import annotations

from actorsession.train.adam import AdamOptimizer
from actorsession.train.device_setter import replica_device_setter
from actorsession.train.global_step import (
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from actorsession.train.gradient_descent import GradientDescentOptimizer
from actorsession.train.momentum import MomentumOptimizer
from actorsession.train.optimizer import Optimizer

__all__ = [
    "AdamOptimizer", "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer",
    "create_global_step", "get_global_step", "get_or_create_global_step",
    "replica_device_setter",
]  # fmt: skip
