"""``tf.train.SyncReplicasOptimizer`` with its hook for monitored sessions.

The hook replaces the manual steps of a program: it initialises the replica's local state, puts the first
tokens into the queue, and starts the queue runner of the chief.
"""

from __future__ import annotations

from typing import Any

from actorsession import train
from actorsession.compat.v1.train.hooks.basic import SessionRunHook

__all__ = ["SyncReplicasOptimizer"]


class _OptimizerKind(type):
    """Says that the base of the class is ``Optimizer``, which programs ask that list all optimisers."""

    __base__ = property(lambda cls: train.Optimizer)


class SyncReplicasOptimizer(train.SyncReplicasOptimizer, metaclass=_OptimizerKind):
    """``actorsession.train.SyncReplicasOptimizer`` with a method that returns a hook."""

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Return the hook of a replica, for ``MonitoredTrainingSession(hooks=[...])``.

        Args:
            is_chief: whether the replica is the one that applies the gradients.
            num_tokens: how many tokens the chief puts into the queue first, as for ``get_init_tokens_op``.
        """
        return _Hook(self, is_chief, num_tokens)


class _Hook(SessionRunHook):
    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._first_tokens: Any = None

    def begin(self) -> None:
        """Build the operations that the chief runs first.

        Raises:
            ValueError: before ``apply_gradients``.
        """
        if self._optimizer.chief_init_op is None:
            raise ValueError("apply_gradient should be called before the hook is used, or minimize")
        if self._is_chief:
            self._first_tokens = self._optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Initialise the local state; the chief also starts the queue runner.

        Raises:
            RuntimeError: if a global variable is uninitialised.
        """
        missing = session.run(self._optimizer.ready_for_local_init_op)
        if len(missing):
            names = ", ".join(name.decode() for name in missing)
            raise RuntimeError(
                f"Init operations did not make model ready for SyncReplicasOptimizer: {names} have no value"
            )
        if not self._is_chief:
            session.run(self._optimizer.local_step_init_op)
            return
        session.run(self._optimizer.chief_init_op)
        session.run(self._first_tokens)
        self._optimizer.get_chief_queue_runner().create_threads(session, coord=coord, daemon=True, start=True)
