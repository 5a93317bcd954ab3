"""The operations that ``tf`` takes over from the library."""

from __future__ import annotations

from actorsession import ops, opsets
from actorsession.ops import *  # noqa: F403 - its __all__ is the list
from actorsession.opsets import *  # noqa: F403 - its __all__ is the list

__all__: list[str] = []
__all__ += ops.__all__
__all__ += opsets.__all__
