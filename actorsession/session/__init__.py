"""The session API, and the two kinds of session behind it.

``AsyncSession`` and ``Session`` map structures of fetches and feeds to names and values. A direct session
runs plans in this process; a remote session sends requests to a master. Factories choose by target.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

# By the file that has them; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    ".async_session": "AsyncSession",
    ".base": "get_default_session",
    ".factory": "SessionFactory SessionOptions register_factory",
    ".graph_mutation_warnings": "GraphGrowthWarning GraphMutationWarning",
    ".interactive": "AsyncInteractiveSession InteractiveSession",
    ".notebooks": "CellWarning",
    ".sync_session": "Session",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
