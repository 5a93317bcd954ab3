"""The fixtures are those of the tests of queues."""

from __future__ import annotations

from tests.ops.queues.conftest import graph, session

__all__ = ["graph", "session"]
