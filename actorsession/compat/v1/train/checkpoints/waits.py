"""``tf.train.checkpoints_iterator``: the checkpoints that another process writes to a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from actorsession.compat.v1.logging import get_logger
from actorsession.durations import checked_seconds
from actorsession.train import latest_checkpoint

__all__ = ["checkpoints_iterator"]

_log = get_logger()
_LOOK = 1.0  # seconds between two polls of the folder, as in TensorFlow


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the latest checkpoint of a folder whenever there is a new one.

    Checkpoints that are superseded in between are skipped.

    Args:
        checkpoint_dir: the folder, which need not exist yet.
        min_interval_secs: the minimal number of seconds between two checkpoints.
        timeout: how many seconds to wait for the next one; without limit if omitted.
        timeout_fn: called after the timeout; the iterator ends if it returns true or is omitted.
    """
    checked_seconds("min_interval_secs", min_interval_secs)
    if timeout is not None:
        checked_seconds("wait", timeout)
    last: str | None = None
    while True:
        path = _next_checkpoint(checkpoint_dir, last, timeout)
        if path is None:
            if timeout_fn is None:
                _log.info("no new checkpoint in %s after %s s", checkpoint_dir, timeout)
                return
            if timeout_fn():
                return
            continue
        last = path
        began = time.monotonic()
        yield path
        left = min_interval_secs - (time.monotonic() - began)
        if left > 0:
            time.sleep(left)


def _next_checkpoint(folder: str, last: str | None, timeout: float | None) -> str | None:
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        path: str | None = latest_checkpoint(folder)
        if path is not None and path != last:
            return path
        if end is not None and time.monotonic() + _LOOK > end:
            return None
        time.sleep(_LOOK)
