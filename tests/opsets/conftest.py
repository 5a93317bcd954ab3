"""The graph and the session are those of the tests of ops."""

from __future__ import annotations

from tests.ops.conftest import graph, session

__all__ = ["graph", "session"]
