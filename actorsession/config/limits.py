"""Limits that apply where the caller sets none, so that every wait and every queue is bounded."""

from __future__ import annotations

__all__ = [
    "CONNECT_TIMEOUT", "DEFAULT_STEP_TIMEOUT", "MAX_INFLIGHT_BYTES", "MAX_INFLIGHT_STEPS",
    "MAX_SERVER_STEPS", "whose_limit",
]  # fmt: skip

# Seconds to reach a master or create a session when the caller sets no limit: long enough for a cluster
# whose processes are still being started, short enough for an interactive user to wait.
CONNECT_TIMEOUT = 30.0
# Seconds for one step when the caller sets no limit. A link detects a lost peer in seconds; this limit
# bounds what no link can detect.
DEFAULT_STEP_TIMEOUT = 600.0
# Steps of one session that are in flight at once. Each costs some 10 KB, without its tensors, in each
# process that takes part; and no machine does more work with more of them.
MAX_INFLIGHT_STEPS = 1000
# Bytes of tensors that steps in flight hold, per session: enough to keep a 10 Gbit link busy for 200 ms.
MAX_INFLIGHT_BYTES = 256 * 2**20
# Steps of all sessions of one master that are in flight at once: 100 MB, and ten clients without limits.
MAX_SERVER_STEPS = 10 * MAX_INFLIGHT_STEPS


def whose_limit(run_in_ms: int, session_in_ms: int) -> str:
    """Return whose limit a step has and how long it is, as words for errors.

    Args:
        run_in_ms: ``RunOptions.timeout_in_ms``; 0 for none.
        session_in_ms: ``ConfigProto.operation_timeout_in_ms``; 0 for none.
    """
    if run_in_ms:
        return f"the run's limit of {run_in_ms / 1000:g} s"
    if session_in_ms:
        return f"the session's limit of {session_in_ms / 1000:g} s (operation_timeout_in_ms)"
    return f"the default limit of {DEFAULT_STEP_TIMEOUT:g} s"
