from __future__ import annotations

MISSING: tuple[str, ...] = ()
OTHERWISE: dict[str, str] = {}
