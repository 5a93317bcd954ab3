# Written by scripts/generated.py.
"""``tf.contrib.training``: the training operation of slim, settings by name, and the loops of sessions."""

from actorsession.compat.v1.contrib.training.hparam import HParams as HParams
from actorsession.compat.v1.contrib.training.hparam import parse_values as parse_values
from actorsession.compat.v1.contrib.training.loops import StopAfterNEvalsHook as StopAfterNEvalsHook
from actorsession.compat.v1.contrib.training.loops import checkpoints_iterator as checkpoints_iterator
from actorsession.compat.v1.contrib.training.loops import evaluate_once as evaluate_once
from actorsession.compat.v1.contrib.training.loops import evaluate_repeatedly as evaluate_repeatedly
from actorsession.compat.v1.contrib.training.loops import get_or_create_eval_step as get_or_create_eval_step
from actorsession.compat.v1.contrib.training.loops import train as train
from actorsession.compat.v1.contrib.training.loops import wait_for_new_checkpoint as wait_for_new_checkpoint
from actorsession.compat.v1.contrib.training.operations import add_gradients_summaries as add_gradients_summaries
from actorsession.compat.v1.contrib.training.operations import clip_gradient_norms as clip_gradient_norms
from actorsession.compat.v1.contrib.training.operations import clip_gradient_norms_fn as clip_gradient_norms_fn
from actorsession.compat.v1.contrib.training.operations import create_train_op as create_train_op
from actorsession.compat.v1.contrib.training.operations import multiply_gradients as multiply_gradients

__all__ = [
"HParams", "StopAfterNEvalsHook", "add_gradients_summaries", "checkpoints_iterator",
"clip_gradient_norms", "clip_gradient_norms_fn", "create_train_op", "evaluate_once",
"evaluate_repeatedly", "get_or_create_eval_step", "multiply_gradients", "parse_values", "train",
"wait_for_new_checkpoint"
]
