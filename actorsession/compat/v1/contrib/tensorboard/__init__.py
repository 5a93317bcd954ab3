"""``tf.contrib.tensorboard``: what TensorBoard's plugins read beside summaries."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, {".plugins": "*=plugins"})
