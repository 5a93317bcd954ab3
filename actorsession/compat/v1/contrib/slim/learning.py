"""``slim.learning``: a training operation with all that belongs to it, and the loop that runs it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession import train as trainers
from actorsession.compat.v1 import logging
from actorsession.compat.v1.contrib import training
from actorsession.compat.v1.train.supervisor import Supervisor
from actorsession.errors import OutOfRangeError
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]

_USE_DEFAULT = 0


add_gradients_summaries = training.add_gradients_summaries
clip_gradient_norms = training.clip_gradient_norms
multiply_gradients = training.multiply_gradients


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_DEFAULT,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = trainers.Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Any:
    """Return the loss, whose computation trains the model by one step.

    Args:
        total_loss: a scalar.
        optimizer: the optimiser.
        global_step: the step counter; that of the graph, which is made if there is none; ``None`` for none.
        update_ops: what runs before the loss; the collection ``UPDATE_OPS`` if left out.
        variables_to_train: the variables; all that are trainable if left out.
        clip_gradient_norm: the greatest norm of a gradient; 0 for no limit.
        summarize_gradients: whether gradients are summarised.
        gate_gradients: see ``tf.train.Optimizer``.
        aggregation_method: see there.
        colocate_gradients_with_ops: see there.
        gradient_multipliers: factors of gradients by variables or their names.
        check_numerics: whether a loss that is not finite is an error of the step.
    """

    def changed(pairs: Any) -> Any:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return training.create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        changed,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Mapping[str, Any]) -> tuple[Any, bool]:
    """Run one step, and return its loss and whether training ends.

    Args:
        sess: the session.
        train_op: the training operation, whose value is the loss.
        global_step: the step counter.
        train_step_kwargs: ``should_log`` and ``should_stop``, tensors of bools; and ``summary_writer``.
    """
    begun = time.monotonic()
    loss, step = sess.run([train_op, global_step])
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        spent = time.monotonic() - begun
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, spent)
    if "should_stop" in train_step_kwargs:
        return loss, bool(sess.run(train_step_kwargs["should_stop"]))
    return loss, False


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., tuple[Any, bool]] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Train until the wanted number of steps, and save the model at the end.

    Args:
        train_op: the training operation, whose value is the loss.
        logdir: the folder of checkpoints; ``None`` for none.
        train_step_fn: runs one step; see ``train_step``.
        train_step_kwargs: its last argument; made if left out.
        log_every_n_steps: steps between two lines of the log; 0 for none.
        graph: the graph.
        master: the address of the server; "" for one inside the process.
        is_chief: whether this task initialises, restores and saves.
        global_step: the step counter; that of the graph, which is made if there is none.
        number_of_steps: the number of the last step; ``None`` to train for ever.
        init_op: see ``tf.train.Supervisor``, as for what is not described here.
        init_feed_dict: see there.
        local_init_op: see there.
        init_fn: see there.
        ready_op: see there.
        summary_op: see there.
        save_summaries_secs: see there.
        summary_writer: see there.
        startup_delay_steps: the step at which a task that is not the chief begins.
        saver: see there.
        save_interval_secs: seconds between two checkpoints.
        sync_optimizer: a ``SyncReplicasOptimizer``, or a list of them.
        session_config: the settings of the session.
        session_wrapper: returns what is used in the place of the session.
        trace_every_n_steps: accepted for compatibility.
        ignore_live_threads: see ``Coordinator.join``.

    Returns:
        The loss of the last step.

    Raises:
        ValueError: without a training operation, or for a delay that a chief or synchronous task cannot have.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None and summary_op not in (_USE_DEFAULT, None):
        raise ValueError("Cannot provide summary_op because logdir=None")
    if sync_optimizer is not None and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = trainers.get_or_create_global_step()
        kept_saver = saver or trainers.Saver()
        synchronous = _listed(sync_optimizer)
        if train_step_kwargs == _USE_DEFAULT:
            train_step_kwargs = _step_arguments(global_step, number_of_steps, log_every_n_steps)
        chosen = {
            "init_op": init_op,
            "local_init_op": local_init_op,
            "ready_op": ready_op,
            "summary_op": summary_op,
            "summary_writer": summary_writer,
        }
        settings = {name: value for name, value in chosen.items() if value is None or value is not _USE_DEFAULT}
        if logdir is None:
            settings["summary_op"] = settings["summary_writer"] = None
        for each in synchronous:
            if not is_chief:
                settings.setdefault("local_init_op", each.local_step_init_op)
        supervisor = Supervisor(
            graph=graph,
            is_chief=is_chief,
            logdir=logdir,
            init_feed_dict=init_feed_dict,
            saver=kept_saver,
            global_step=global_step,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs,
            init_fn=init_fn,
            **settings,
        )
    total_loss: Any = None
    with supervisor.managed_session(
        master, config=session_config, start_standard_services=False, close_summary_writer=False
    ) as session:
        used = session if session_wrapper is None else session_wrapper(session)
        logging.info("Starting Session.")
        if is_chief and logdir:
            supervisor.start_standard_services(session)
        elif startup_delay_steps > 0:
            _wait_for_step(session, global_step, min(startup_delay_steps, number_of_steps or sys.maxsize))
        threads = supervisor.start_queue_runners(session)
        logging.info("Starting Queues.")
        for each in synchronous if is_chief else ():
            supervisor.start_queue_runners(session, [each.get_chief_queue_runner()])
            session.run(each.get_init_tokens_op())
        try:
            while not supervisor.should_stop():
                total_loss, stops = train_step_fn(used, train_op, global_step, train_step_kwargs)
                if stops:
                    logging.info("Stopping Training.")
                    supervisor.request_stop()
                    break
        except OutOfRangeError as error:
            logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
        # The threads end first, so that the last checkpoint is the newest one.
        supervisor.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
        if logdir and supervisor.is_chief:
            logging.info("Finished training! Saving model to disk.")
            supervisor.saver.save(used, supervisor.save_path, global_step=supervisor.global_step)
    return total_loss


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _step_arguments(global_step: Any, number_of_steps: int | None, log_every_n_steps: int) -> dict[str, Tensor]:
    """Return the tensors that say after a step whether to stop and whether to log."""
    with get_default_graph().name_scope("train_step"):
        arguments = {}
        if number_of_steps:
            arguments["should_stop"] = ops.greater_equal(global_step, number_of_steps)
        if log_every_n_steps > 0:
            arguments["should_log"] = ops.equal(ops.mod(global_step, log_every_n_steps), 0)
        return arguments


def _wait_for_step(session: Any, global_step: Any, step: int) -> None:
    while int(session.run(global_step)) < step:
        logging.info("Waiting for step %d before starting training.", step)
        time.sleep(1.0)
