"""``basic_train_loop``: a training loop that survives lost sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.train.supervisor import Supervisor
from actorsession.errors import AbortedError

__all__ = ["basic_train_loop"]

_log = get_logger()


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Train until the supervisor requests to stop, with a new session after each ``AbortedError``.

    Args:
        supervisor: the supervisor.
        train_step_fn: runs a step; called with the session and the arguments.
        args: its positional arguments after the session.
        kwargs: its keyword arguments.
        master: the address of the master.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError as exc:
            _log.info("the session was lost, and is created again: %s", exc)
