"""The graph is that of the tests of ops."""

from __future__ import annotations

from tests.ops.conftest import graph

__all__ = ["graph"]
