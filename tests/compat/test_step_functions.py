"""Functions of several steps in a monitored session."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession.compat.v1 as tf


class Told(tf.train.SessionRunHook):
    """Counts the steps that hooks see; the first of them fails if that is wanted."""

    def __init__(self, *, fails: bool = False) -> None:
        self.steps = 0
        self._fails = fails

    def before_run(self, run_context: Any) -> None:
        """Counts."""
        self.steps += 1
        if self._fails:
            self._fails = False
            raise tf.errors.AbortedError(None, None, "lost")


def test_a_function_runs_steps_with_and_without_hooks() -> None:
    with tf.Graph().as_default():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        told = Told()

        def steps(step_context: Any) -> Any:
            return step_context.session.run(count), step_context.run_with_hooks(count)

        with tf.train.MonitoredSession(hooks=[told]) as session:
            assert session.run_step_fn(steps) == (1, 2)
            assert told.steps == 1
            with pytest.raises(ValueError, match="`step_context` argument"):
                session.run_step_fn(lambda: None)  # type: ignore[misc, arg-type]
            with pytest.raises(TypeError, match="must be a function"):
                session.run_step_fn(3)  # type: ignore[arg-type]


def test_a_function_asks_for_the_end() -> None:
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        with tf.train.MonitoredSession() as session:
            session.run_step_fn(lambda step_context: step_context.request_stop())
        assert session.should_stop()


def test_a_function_is_called_again_with_a_new_session() -> None:
    with tf.Graph().as_default():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        seen: list[Any] = []

        def steps(step_context: Any) -> Any:
            seen.append(step_context.session)
            return step_context.run_with_hooks(count)

        with tf.train.MonitoredSession(hooks=[Told(fails=True)]) as session:
            assert session.run_step_fn(steps) == 1
        assert len({id(one) for one in seen}) == 2
