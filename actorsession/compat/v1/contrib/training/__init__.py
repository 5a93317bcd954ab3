"""``tf.contrib.training``: the training operation of slim, settings by name, and the loops of sessions."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".hparam": "HParams parse_values",
    ".loops": (
        "StopAfterNEvalsHook checkpoints_iterator evaluate_once evaluate_repeatedly "
        "get_or_create_eval_step train wait_for_new_checkpoint"
    ),
    ".operations": (
        "add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn create_train_op "
        "multiply_gradients"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
