"""The checkpoints of a training, as a ``RunConfig`` asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorsession.compat.v1.estimator.run_config import RunConfig
from actorsession.compat.v1.estimator.specs import EstimatorSpec
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.compat.v1.train.hooks.checkpoints import CheckpointSaverHook
from actorsession.compat.v1.train.session_creators import Scaffold
from actorsession.ops import GraphKeys

__all__ = ["add_saver", "checkpoint_hooks"]


def add_saver(config: RunConfig, scaffold: Scaffold) -> None:
    """Give the default graph a saver, unless it or a scaffold has one."""
    graph = get_default_graph()
    if scaffold.saver is None and not graph.get_collection(GraphKeys.SAVERS):
        saver = Saver(
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            save_relative_paths=True,
        )
        graph.add_to_collection(GraphKeys.SAVERS, saver)


def checkpoint_hooks(config: RunConfig, spec: EstimatorSpec, hooks: Iterable[Any], listeners: list[Any]) -> list[Any]:
    """Return the hook that saves, unless there is one, which then has the listeners.

    Args:
        config: when to save, and where.
        spec: the model.
        hooks: the hooks of the training.
        listeners: listeners for checkpoints.

    Raises:
        ValueError: for listeners of checkpoints that are not saved.
    """
    there = [h for h in (*spec.training_chief_hooks, *hooks) if isinstance(h, CheckpointSaverHook)]
    if there:
        there[0]._listeners.extend(listeners)
        return []
    if not (config.save_checkpoints_secs or config.save_checkpoints_steps):
        if listeners:
            raise ValueError(
                "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
            )
        return []
    return [
        CheckpointSaverHook(
            config.model_dir,
            config.save_checkpoints_secs,
            config.save_checkpoints_steps,
            scaffold=spec.scaffold,
            listeners=listeners,
            save_graph_def=config.checkpoint_save_graph_def,
        )
    ]
