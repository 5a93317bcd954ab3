"""The plugins for which programs write settings: the projector of embeddings."""

from __future__ import annotations

from actorsession.compat.v1.contrib.tensorboard import projector

__all__ = ["projector"]
