"""Names with and without a scope in front."""

from __future__ import annotations

import re

__all__ = ["prepend_name_scope", "strip_name_scope"]


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return a name with a scope in front, behind its mark if it has one (``^`` or ``loc:@``)."""
    if not import_scope:
        return name
    return re.sub(r"^(\^|loc:@)?", lambda mark: f"{mark[0]}{import_scope}/", name, count=1)


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return a name without a scope in front."""
    if not export_scope:
        return name
    return re.sub(rf"^(\^|loc:@)?{re.escape(export_scope)}/", lambda match: match[1] or "", name)
