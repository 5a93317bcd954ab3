"""Limits in time that count where the caller sets none: nothing waits for ever."""

from __future__ import annotations

__all__ = ["CONNECT_TIMEOUT", "DEFAULT_STEP_TIMEOUT"]

# Seconds to reach a master or create a session when the caller sets no limit: long enough for a
# cluster whose processes are still being started, short enough that a person waits for the answer.
CONNECT_TIMEOUT = 30.0
# Seconds for one step when the caller sets no limit. A lost peer is noticed in seconds by its link;
# this bounds what no link can notice.
DEFAULT_STEP_TIMEOUT = 600.0
