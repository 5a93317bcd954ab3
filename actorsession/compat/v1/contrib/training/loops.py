"""Loops over monitored sessions: training, and evaluation of checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from actorsession import ops
from actorsession.compat.v1 import logging
from actorsession.compat.v1.hooks import FinalOpsHook, SessionRunArgs, SessionRunHook
from actorsession.compat.v1.monitored_session import MonitoredSession, MonitoredTrainingSession
from actorsession.compat.v1.session_creators import ChiefSessionCreator, Scaffold
from actorsession.graph.dtypes import int64
from actorsession.graph.graph import get_collection
from actorsession.ops import GraphKeys
from actorsession.train import latest_checkpoint

__all__ = [
    "StopAfterNEvalsHook", "checkpoints_iterator", "evaluate_once", "evaluate_repeatedly",
    "get_or_create_eval_step", "train", "wait_for_new_checkpoint",
]  # fmt: skip

_EVAL_STEP = "eval_step"


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Iterable[Any] | None = None,
    chief_only_hooks: Iterable[Any] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Run a training operation until a hook stops it, and return its last value.

    Args:
        train_op: the operation, whose value is the loss.
        logdir: the folder of checkpoints; ``None`` for none.
        master: see ``MonitoredTrainingSession``, as for the others.
        is_chief: see there.
        scaffold: see there.
        hooks: see there.
        chief_only_hooks: see there.
        save_checkpoint_secs: see there.
        save_summaries_steps: see there.
        config: see there.
        max_wait_secs: see there.
        run_metadata: accepted for compatibility.

    Raises:
        ValueError: if nothing can be saved although it should be.
    """
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    with MonitoredTrainingSession(
        master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold,
        hooks=list(hooks or ()), chief_only_hooks=list(chief_only_hooks or ()),
        save_checkpoint_secs=save_checkpoint_secs, save_summaries_steps=save_summaries_steps,
        config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        loss = None
        while not session.should_stop():
            loss = session.run(train_op)
    return loss


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Return the path of a checkpoint that is newer than the last one.

    Args:
        checkpoint_dir: the folder of checkpoints.
        last_checkpoint: the last one.
        seconds_to_sleep: seconds between two looks.
        timeout: the seconds after which ``None`` is returned; forever if left out.
    """
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            return found
        if until is not None and time.monotonic() + seconds_to_sleep > until:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the path of each new checkpoint.

    Args:
        checkpoint_dir: the folder of checkpoints.
        min_interval_secs: the least seconds between two of them.
        timeout: the seconds without a new one after which the iteration ends.
        timeout_fn: called then; the iteration goes on unless it returns true.
    """
    found = None
    while True:
        newer = wait_for_new_checkpoint(checkpoint_dir, found, timeout=timeout)
        if newer is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        begun, found = time.monotonic(), newer
        yield found
        time.sleep(max(0.0, begun + min_interval_secs - time.monotonic()))


def get_or_create_eval_step() -> Any:
    """Return the variable that counts steps of an evaluation, which is made if there is none."""
    found = get_collection(GraphKeys.EVAL_STEP)
    if found:
        return found[0]
    return ops.get_variable(
        _EVAL_STEP, [], int64, ops.zeros_initializer(), trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )  # fmt: skip


class StopAfterNEvalsHook(SessionRunHook):
    """A hook that ends an evaluation after a number of steps.

    Args:
        num_evals: the number of steps.
        log_progress: whether the log says how far it is.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._wanted, self._logs, self._done = num_evals, log_progress, 0

    def begin_anew(self) -> None:
        """Count from zero again."""
        self._done = 0

    def before_run(self, run_context: Any) -> Any:
        """Fetch nothing."""
        return SessionRunArgs(None)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Count, and stop at the last one."""
        self._done += 1
        if self._logs:
            logging.info("Evaluation [%d/%s]", self._done, self._wanted)
        if self._wanted is not None and self._done >= self._wanted:
            run_context.request_stop()


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Iterable[Any] | None = None,
    config: Any = None,
) -> Any:
    """Evaluate a checkpoint once, and return the values of ``final_ops``.

    Args:
        checkpoint_path: the path of the checkpoint; ``None`` for fresh values.
        master: the address of the server; "" for one inside the process.
        scaffold: see ``MonitoredSession``.
        eval_ops: what runs at each step.
        feed_dict: its feeds.
        final_ops: what runs at the end.
        final_ops_feed_dict: its feeds.
        hooks: hooks, of which one such as ``StopAfterNEvalsHook`` ends the evaluation.
        config: the settings of the session.
    """
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold or Scaffold(), master=master, config=config,
        checkpoint_filename_with_path=checkpoint_path,
    )  # fmt: skip
    listed = [*(hooks or ()), final]
    with MonitoredSession(session_creator=creator, hooks=listed) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    return final.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Iterable[Any] | None = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluate each new checkpoint, and return the values of ``final_ops`` for the last one.

    Args:
        checkpoint_dir: the folder of checkpoints.
        master: see ``evaluate_once``, as for all that are not described here.
        scaffold: see there.
        eval_ops: see there.
        feed_dict: see there.
        final_ops: see there.
        final_ops_feed_dict: see there.
        eval_interval_secs: the least seconds between two evaluations.
        hooks: see there.
        config: see there.
        max_number_of_evaluations: the number of checkpoints; all if left out.
        timeout: see ``checkpoints_iterator``.
        timeout_fn: see there.
    """
    values = None
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for done, path in enumerate(paths, 1):
        for each in hooks or ():
            if isinstance(each, StopAfterNEvalsHook):
                each.begin_anew()
        values = evaluate_once(
            path,
            master,
            scaffold,
            eval_ops,
            feed_dict,
            final_ops,
            final_ops_feed_dict,
            hooks,
            config,
        )
        if max_number_of_evaluations is not None and done >= max_number_of_evaluations:
            break
    return values
