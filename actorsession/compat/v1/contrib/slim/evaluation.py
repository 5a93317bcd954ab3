"""``slim.evaluation``: metrics of a model over some batches, for one checkpoint or for each new one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorsession.compat.v1.contrib.training import (
    StopAfterNEvalsHook,
    checkpoints_iterator,
    evaluate_repeatedly,
    wait_for_new_checkpoint,
)
from actorsession.compat.v1.contrib.training import evaluate_once as _once
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.compat.v1.train.session_creators import Scaffold

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

_USE_DEFAULT = 0


def _scaffold(initial_op: Any, initial_op_feed_dict: Any, variables_to_restore: Any) -> Scaffold:
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    return Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, saver=saver)


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Iterable[Any] | None = None,
) -> Any:
    """Evaluate a checkpoint over some batches, and return the values of ``final_op``.

    Args:
        master: the address of the server; "" for one inside the process.
        checkpoint_path: the path of the checkpoint.
        logdir: the folder of summaries.
        num_evals: the number of times that ``eval_op`` runs.
        initial_op: what runs first.
        initial_op_feed_dict: its feeds.
        eval_op: what runs for each batch, such as the updates of metrics.
        eval_op_feed_dict: its feeds.
        final_op: what runs at the end, such as the values of metrics.
        final_op_feed_dict: its feeds.
        summary_op: accepted for compatibility, as are its feeds.
        summary_op_feed_dict: see there.
        variables_to_restore: the variables that the checkpoint gives values; all if left out.
        session_config: the settings of the session.
        hooks: further hooks.
    """
    return _once(
        checkpoint_path,
        master,
        _scaffold(initial_op, initial_op_feed_dict, variables_to_restore),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        [StopAfterNEvalsHook(num_evals), *(hooks or ())],
        session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Any = None,
    hooks: Iterable[Any] | None = None,
) -> Any:
    """Evaluate each new checkpoint of a folder; see ``evaluate_once`` and ``checkpoints_iterator``."""
    return evaluate_repeatedly(
        checkpoint_dir,
        master,
        _scaffold(initial_op, initial_op_feed_dict, variables_to_restore),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        [StopAfterNEvalsHook(num_evals), *(hooks or ())],
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )
