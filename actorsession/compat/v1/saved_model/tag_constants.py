"""``tf.saved_model.tag_constants``: standard tags of the graphs of a saved model."""

from __future__ import annotations

__all__ = ["GPU", "SERVING", "TPU", "TRAINING"]

SERVING, TRAINING = "serve", "train"
GPU, TPU = "gpu", "tpu"
