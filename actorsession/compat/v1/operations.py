"""The operations that ``tf`` takes over from the library: all except ``nn``, which is a package here."""

from __future__ import annotations

from actorsession import ops
from actorsession.ops import *  # noqa: F403 - its __all__ is the list

__all__: list[str] = []
__all__ += ops.__all__
__all__.remove("nn")
