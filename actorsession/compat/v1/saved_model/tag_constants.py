"""``tf.saved_model.tag_constants``: what graphs of a saved model are tagged with."""

from __future__ import annotations

__all__ = ["GPU", "SERVING", "TPU", "TRAINING"]

SERVING, TRAINING = "serve", "train"
GPU, TPU = "gpu", "tpu"
