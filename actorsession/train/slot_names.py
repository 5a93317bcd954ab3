"""Names of variables that belong to other variables: slots of optimisers, and moving averages.

Called by ``optimizer``, ``subclassing`` and ``moving_averages``. Such a name begins with the variable scope
that is open where the training is built, not with the scope of the other variable; so two optimisers in
different scopes use different names.
"""

from __future__ import annotations

from actorsession.ops.variables.scope import get_variable_scope

__all__ = ["name_beside"]


def name_beside(primary: str, ending: str) -> str:
    """Return the name to request for a variable that belongs to another one.

    Args:
        primary: the name of the operation that it belongs to.
        ending: suffix that describes its role.
    """
    scope = get_variable_scope().name
    return f"{scope}/{primary}/{ending}" if scope else f"{primary}/{ending}"
