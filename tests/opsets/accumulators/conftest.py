"""The session is that of the tests of queues."""

from __future__ import annotations

from tests.ops.queues.conftest import session

__all__ = ["session"]
