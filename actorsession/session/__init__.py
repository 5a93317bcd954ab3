"""The faces: sessions as users hold them, and the two kinds behind them.

``AsyncSession`` and ``Session`` map structures of fetches and feeds to names and values; a direct session
runs plans in this process, a remote session asks a master. Factories choose by target.
"""

from __future__ import annotations

from actorsession.session import factories  # noqa: F401 - registers the two
from actorsession.session.async_session import AsyncSession
from actorsession.session.base import get_default_session
from actorsession.session.factory import SessionFactory, SessionOptions, register_factory
from actorsession.session.graph_mutation_warnings import GraphGrowthWarning, GraphMutationWarning
from actorsession.session.interactive import AsyncInteractiveSession, InteractiveSession
from actorsession.session.sync_session import Session

__all__ = [
    "AsyncInteractiveSession", "AsyncSession", "GraphGrowthWarning", "GraphMutationWarning",
    "InteractiveSession", "Session", "SessionFactory", "SessionOptions", "get_default_session",
    "register_factory",
]  # fmt: skip
