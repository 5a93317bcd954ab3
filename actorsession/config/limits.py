"""Limits that count where the caller sets none: nothing waits for ever, and nothing grows for ever."""

from __future__ import annotations

__all__ = [
    "CONNECT_TIMEOUT", "DEFAULT_STEP_TIMEOUT", "MAX_INFLIGHT_BYTES", "MAX_INFLIGHT_STEPS",
    "MAX_SERVER_STEPS",
]  # fmt: skip

# Seconds to reach a master or create a session when the caller sets no limit: long enough for a
# cluster whose processes are still being started, short enough that a person waits for the answer.
CONNECT_TIMEOUT = 30.0
# Seconds for one step when the caller sets no limit. A lost peer is noticed in seconds by its link;
# this bounds what no link can notice.
DEFAULT_STEP_TIMEOUT = 600.0
# Steps of one session that are under way at once. A step under way costs some 10 KB in each process that it
# goes through, without its tensors; and no machine gets more work done by having more of them.
MAX_INFLIGHT_STEPS = 1000
# Bytes of tensors that steps under way hold, per session: enough to keep a 10 Gbit link busy for 200 ms.
MAX_INFLIGHT_BYTES = 256 * 2**20
# Steps of all sessions of one master that are under way at once: 100 MB, and ten clients without limits.
MAX_SERVER_STEPS = 10 * MAX_INFLIGHT_STEPS
