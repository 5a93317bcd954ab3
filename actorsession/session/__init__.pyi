# Written by scripts/generated.py.
"""The session API, and the two kinds of session behind it.

``AsyncSession`` and ``Session`` map structures of fetches and feeds to names and values. A direct session
runs plans in this process; a remote session sends requests to a master. Factories choose by target.
"""

from actorsession.session.async_session import AsyncSession as AsyncSession
from actorsession.session.base import get_default_session as get_default_session
from actorsession.session.factory import (
SessionFactory as SessionFactory, SessionOptions as SessionOptions, register_factory as
register_factory
)
from actorsession.session.graph_mutation_warnings import (
GraphGrowthWarning as GraphGrowthWarning, GraphMutationWarning as GraphMutationWarning
)
from actorsession.session.interactive import (
AsyncInteractiveSession as AsyncInteractiveSession, InteractiveSession as InteractiveSession
)
from actorsession.session.notebooks import CellWarning as CellWarning
from actorsession.session.sync_session import Session as Session


__all__ = [
"AsyncInteractiveSession", "AsyncSession", "CellWarning", "GraphGrowthWarning",
"GraphMutationWarning", "InteractiveSession", "Session", "SessionFactory", "SessionOptions",
"get_default_session", "register_factory"
]
