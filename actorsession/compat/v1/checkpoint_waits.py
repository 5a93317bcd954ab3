"""``tf.train.checkpoints_iterator``: the checkpoints of a folder, as a training elsewhere writes them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from actorsession.train import latest_checkpoint

__all__ = ["checkpoints_iterator"]

_log = logging.getLogger("actorsession.compat")
_LOOK = 1.0  # seconds from one look at the folder to the next; TensorFlow's


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Each new checkpoint of a folder, when it is there; those in between are left out.

    Args:
        checkpoint_dir: the folder, which need not exist yet.
        min_interval_secs: at least so many seconds lie between two.
        timeout: how many seconds are waited for the next one; for ever if left out.
        timeout_fn: asked when that time is over; the iterator ends if it gives true, or is left out.
    """
    last: str | None = None
    while True:
        found = _next_checkpoint(checkpoint_dir, last, timeout)
        if found is None:
            if timeout_fn is None:
                _log.info("no new checkpoint in %s after %s s", checkpoint_dir, timeout)
                return
            if timeout_fn():
                return
            continue
        last = found
        began = time.monotonic()
        yield found
        left = min_interval_secs - (time.monotonic() - began)
        if left > 0:
            time.sleep(left)


def _next_checkpoint(folder: str, last: str | None, timeout: float | None) -> str | None:
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found: str | None = latest_checkpoint(folder)
        if found is not None and found != last:
            return found
        if end is not None and time.monotonic() + _LOOK > end:
            return None
        time.sleep(_LOOK)
