"""Names of variables that belong to other variables: slots of optimisers, and moving averages.

Called by ``optimizer``, ``subclassing`` and ``moving_averages``. Such a name begins with the variable scope
that is open where the training is built, not with the scope of the other variable; so two optimisers in
different scopes use different names.
"""

from __future__ import annotations

from typing import Any

from actorsession.ops.variables.save_slices import SaveSliceInfo
from actorsession.ops.variables.scope import get_variable_scope

__all__ = ["mark_as_part", "name_beside"]


def name_beside(primary: str, ending: str) -> str:
    """Return the name to request for a variable that belongs to another one.

    Args:
        primary: the name of the operation that it belongs to.
        ending: suffix that describes its role.
    """
    scope = get_variable_scope().name
    return f"{scope}/{primary}/{ending}" if scope else f"{primary}/{ending}"


def mark_as_part(slot: Any, primary: Any) -> None:
    """Have the slot of a part of a variable saved as a part of the slots of all parts.

    The name of the whole is TensorFlow's: what is left of the slot's name behind as many characters as the
    name of the part has, which is no name that one would choose where a scope stands before it.
    """
    info = primary._get_save_slice_info()
    if info is not None:
        rest = slot.op.name[len(primary.op.name) + 1 :]
        whole = SaveSliceInfo(f"{info.full_name}/{rest}", info.full_shape, info.var_offset, info.var_shape)
        slot._set_save_slice_info(whole)
