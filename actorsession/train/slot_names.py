"""What the variables are called that belong to another: the slots of optimisers, and moving averages.

Called by ``optimizer`` and ``moving_averages``. Such a name begins with the variable scope that is open where
the training is built, not with that of the variable; so two optimisers in scopes of their own keep apart.
"""

from __future__ import annotations

from actorsession.ops.variables.scope import get_variable_scope

__all__ = ["name_beside"]


def name_beside(primary: str, ending: str) -> str:
    """Return the wanted name of a variable that belongs to another.

    Args:
        primary: the name of the operation that it belongs to.
        ending: what it is to that.
    """
    scope = get_variable_scope().name
    return f"{scope}/{primary}/{ending}" if scope else f"{primary}/{ending}"
