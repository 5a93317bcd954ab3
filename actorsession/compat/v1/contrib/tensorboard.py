"""``tf.contrib.tensorboard``: of its plugins, the projector of embeddings."""

from __future__ import annotations

from actorsession.compat.v1.module_paths import add_modules

add_modules(__name__)
