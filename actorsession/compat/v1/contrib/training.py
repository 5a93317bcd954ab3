"""``tf.contrib.training``: settings of models, training operations, and evaluation of checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.compat import v1 as tf
from actorsession.compat.v1.contrib.bucket_batches import bucket, bucket_by_sequence_length
from actorsession.compat.v1.contrib.hparam import HParams, parse_values
from actorsession.compat.v1.logging import get_logger
from actorsession.durations import checked_seconds

__all__ = [
    "GreedyLoadBalancingStrategy", "HParams", "RandomStrategy", "StopAfterNEvalsHook",
    "SummaryAtEndHook", "add_gradients_summaries", "bucket", "bucket_by_sequence_length",
    "byte_size_load_fn", "checkpoints_iterator", "clip_gradient_norms", "clip_gradient_norms_fn",
    "create_train_op", "evaluate_once", "evaluate_repeatedly", "get_or_create_eval_step",
    "multiply_gradients", "parse_values", "train", "wait_for_new_checkpoint",
]  # fmt: skip

_log = get_logger()
_USE_GLOBAL_STEP = 0


# -- gradients ---------------------------------------------------------------------------------------


def clip_gradient_norms(gradients_to_variables: Iterable[Any], max_norm: float) -> list[Any]:
    """Return pairs of gradients and variables with each gradient's norm limited; ``None`` stays."""

    def clipped(grad: Any) -> Any:
        if grad is None:
            return None
        if isinstance(grad, tf.IndexedSlices):
            return tf.IndexedSlices(tf.clip_by_norm(grad.values, max_norm), grad.indices, grad.dense_shape)
        return tf.clip_by_norm(grad, max_norm)

    return [(clipped(grad), var) for grad, var in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Iterable[Any]], list[Any]]:
    """Return a function that calls ``clip_gradient_norms``."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(grads_and_vars: Iterable[Any], gradient_multipliers: Mapping[Any, Any]) -> list[Any]:
    """Return pairs of gradients and variables, some gradients multiplied.

    Args:
        grads_and_vars: the pairs.
        gradient_multipliers: factors by variable or by the name of its operation.

    Raises:
        ValueError: if there are no factors, or a variable with one has no gradient.
    """
    if not isinstance(gradient_multipliers, Mapping) or not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is a dict with at least one factor")
    pairs = []
    for grad, var in grads_and_vars:
        key = var if var in gradient_multipliers else var.op.name
        if key in gradient_multipliers:
            if grad is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = tf.cast(gradient_multipliers[key], grad.dtype.base_dtype)
            if isinstance(grad, tf.IndexedSlices):
                grad = tf.IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
            else:
                grad = grad * factor
        pairs.append((grad, var))
    return pairs


def add_gradients_summaries(grads_and_vars: Iterable[Any]) -> list[Any]:
    """Add a histogram and the norm of each gradient to the summaries, and return these."""
    summaries = []
    for grad, var in grads_and_vars:
        if grad is None:
            _log.info("Var %s has no gradient", var.op.name)
            continue
        values = grad.values if isinstance(grad, tf.IndexedSlices) else grad
        summaries.append(tf.summary.histogram(f"{var.op.name}_gradient", values))
        summaries.append(tf.summary.scalar(f"{var.op.name}_gradient_norm", tf.global_norm([values])))
    return summaries


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Any], Any] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """Return a tensor with the loss, which trains when it is run.

    Args:
        total_loss: the loss.
        optimizer: the optimiser.
        global_step: the variable to count in; ``None`` for none; that of the graph if omitted.
        update_ops: what has to be run before the loss; those of ``UPDATE_OPS`` if omitted.
        variables_to_train: the variables; all trainable ones if omitted.
        transform_grads_fn: changes the pairs of gradients and variables.
        summarize_gradients: whether to add summaries of gradients.
        gate_gradients: as for ``compute_gradients``, like the two that follow.
        aggregation_method: how gradients are added.
        colocate_gradients_with_ops: whether gradients are computed beside their operations.
        check_numerics: whether a loss that is not finite is an error.
    """
    step = tf.train.get_or_create_global_step() if _is_default(global_step) else global_step
    collected = set(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    updates = collected if update_ops is None else set(update_ops)
    if not collected <= updates:
        _log.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if updates:
        with tf.control_dependencies([tf.group(*sorted(updates, key=lambda op: op.name))]):
            total_loss = tf.identity(total_loss)
    grads = optimizer.compute_gradients(
        total_loss,
        variables_to_train,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        grads = transform_grads_fn(grads)
    if summarize_gradients:
        add_gradients_summaries(grads)
    applied = optimizer.apply_gradients(grads, global_step=step)
    with tf.name_scope("train_op"):
        if check_numerics:
            total_loss = tf.check_numerics(total_loss, "LossTensor is inf or nan")
        with tf.control_dependencies([applied]):
            train_op = tf.identity(total_loss)
    collection = tf.get_collection_ref(tf.GraphKeys.TRAIN_OP)
    if train_op not in collection:
        collection.append(train_op)
    return train_op


def _is_default(global_step: Any) -> bool:
    return isinstance(global_step, int) and global_step == _USE_GLOBAL_STEP


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Sequence[Any] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: int = 7200,
    run_metadata: Any = None,
) -> Any:
    """Run a training operation until a hook stops it, and return its last value.

    The arguments are those of ``tf.train.MonitoredTrainingSession``.

    Raises:
        ValueError: without a folder although something is to be saved.
    """
    if logdir is None and is_chief and (save_checkpoint_secs or save_summaries_steps):
        raise ValueError("logdir cannot be None when save_summaries_steps or save_checkpoint_secs is set")
    with tf.train.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss


# -- evaluation --------------------------------------------------------------------------------------


def wait_for_new_checkpoint(
    checkpoint_dir: str, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """Wait until a folder has another checkpoint than the last one.

    Args:
        checkpoint_dir: the folder.
        last_checkpoint: the prefix of the last one.
        seconds_to_sleep: seconds between two looks.
        timeout: seconds to wait; for ever if omitted.

    Returns:
        The prefix of the checkpoint; ``None`` if the time is over.
    """
    checked_seconds("seconds_to_sleep", seconds_to_sleep)
    end = None if timeout is None else time.monotonic() + checked_seconds("wait", timeout)
    while True:
        path: str | None = tf.train.latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            return path
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the prefix of each new checkpoint of a folder.

    Args:
        checkpoint_dir: the folder.
        min_interval_secs: seconds between two checkpoints at least.
        timeout: seconds to wait for the next one; for ever if omitted.
        timeout_fn: asked when the time is over; true ends the iteration. Without it, it ends then.
    """
    checked_seconds("min_interval_secs", min_interval_secs)
    last = None
    while True:
        path = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if path is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        start = time.monotonic()
        last = path
        yield path
        time.sleep(max(0.0, start + min_interval_secs - time.monotonic()))


def get_or_create_eval_step() -> Any:
    """Return the variable that counts evaluations, a local one."""
    counters = tf.get_collection(tf.GraphKeys.EVAL_STEP)
    if len(counters) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if counters:
        return counters[0]
    return tf.get_variable(
        "eval_step",
        shape=[],
        dtype=tf.int64,
        initializer=tf.zeros_initializer(),
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.EVAL_STEP],
    )


class StopAfterNEvalsHook(tf.train.SessionRunHook):
    """Stops a session after some evaluations.

    Args:
        num_evals: the number of evaluations; ``None`` for no end.
        log_progress: whether to log each.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._log_progress = num_evals, log_progress
        self._count: Any = None

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._count = updated_eval_step

    def before_run(self, run_context: Any) -> Any:
        """Ask for the number of evaluations."""
        return tf.train.SessionRunArgs({"evals": self._count})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stop when they are enough."""
        done = run_values.results["evals"]
        if self._log_progress:
            _log.info("Evaluation [%d/%s]", done, self._num_evals or "-")
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(tf.train.SessionRunHook):
    """Writes summaries when a session ends.

    Args:
        log_dir: the folder of the event file.
        summary_writer: a writer in its place.
        summary_op: the summaries; all of the graph if omitted.
        feed_dict: values to feed.
    """

    def __init__(
        self, log_dir: str | None = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None
    ) -> None:
        if summary_writer is None and log_dir is None:
            raise ValueError("Either log_dir or summary_writer must be set.")
        self._log_dir, self._writer = log_dir, summary_writer
        self._summary_op, self._feed_dict = summary_op, feed_dict

    def begin(self) -> None:
        """Find the summaries and the writer."""
        if self._summary_op is None:
            self._summary_op = tf.summary.merge_all()
        if self._writer is None:
            self._writer = tf.summary.FileWriterCache.get(self._log_dir)
        self._step = tf.train.get_or_create_global_step()

    def end(self, session: Any) -> None:
        """Write them."""
        if self._summary_op is not None:
            step = session.run(self._step)
            self._writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._writer.flush()


def evaluate_once(
    checkpoint_path: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Sequence[Any] | None = None,
    config: Any = None,
) -> Any:
    """Restore a checkpoint, run evaluations until a hook stops them, and return the final values.

    Args:
        checkpoint_path: the prefix of the checkpoint.
        master: the address of a server.
        scaffold: the parts of the session.
        eval_ops: a tensor, operation, or list or dict of these, run once for each evaluation; nothing is
            evaluated without.
        feed_dict: values for them.
        final_ops: what is run at the end.
        final_ops_feed_dict: values for it.
        hooks: hooks of the session; ``StopAfterNEvalsHook`` stops it.
        config: settings of the session.
    """
    eval_step = get_or_create_eval_step()
    update = tf.assign_add(eval_step, 1)
    for hook in hooks or ():
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(update)
    creator = tf.train.ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    final = tf.train.FinalOpsHook(final_ops, final_ops_feed_dict)
    with tf.train.MonitoredSession(creator, [*(hooks or ()), final]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run([eval_ops, update], feed_dict)
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
    hooks: Sequence[Any] | None = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Call ``evaluate_once`` for each new checkpoint of a folder, and return the last values.

    Args:
        checkpoint_dir: the folder.
        master: as there, like the arguments up to ``final_ops_feed_dict``, and ``hooks`` and ``config``.
        scaffold: the parts of the session.
        eval_ops: what is run for each evaluation.
        feed_dict: values for it.
        final_ops: what is run at the end of each.
        final_ops_feed_dict: values for it.
        eval_interval_secs: seconds between two checkpoints at least.
        hooks: hooks of the sessions.
        config: settings of the sessions.
        max_number_of_evaluations: the number of checkpoints; all if omitted.
        timeout: seconds to wait for a checkpoint; see ``checkpoints_iterator``.
        timeout_fn: asked when the time is over.
    """
    values = None
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for done, path in enumerate(paths, 1):
        values = evaluate_once(
            path, master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config
        )
        if max_number_of_evaluations is not None and done >= max_number_of_evaluations:
            break
    return values


# -- tasks of parameter servers ----------------------------------------------------------------------


def byte_size_load_fn(op: Any) -> int:
    """Return the bytes of the value of an operation, which has one output of known shape."""
    (output,) = op.outputs
    if not output.shape.is_fully_defined():
        raise ValueError(f"the shape of {op.name} is {output.shape}; it must be known")
    return int(output.shape.num_elements() * output.dtype.base_dtype.size)


class GreedyLoadBalancingStrategy:
    """Gives each operation to the task with the least load so far; for ``replica_device_setter``.

    Args:
        num_tasks: the number of tasks.
        load_fn: the load of an operation.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._loads: list[float] = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Any) -> int:
        """Return the task of an operation."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Gives each operation to a random task; for ``replica_device_setter``.

    Args:
        num_ps_tasks: the number of tasks.
        seed: the seed of the sequence.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._count, self._random = num_ps_tasks, np.random.RandomState(seed)

    def __call__(self, op: Any) -> int:
        """Return the task of an operation."""
        return int(self._random.randint(self._count))
