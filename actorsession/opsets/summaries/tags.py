"""Names of summaries: which characters a tag may have."""

from __future__ import annotations

import logging
import re

__all__ = ["clean_tag"]

_log = logging.getLogger("actorsession.summaries")

_NO_TAG = re.compile(r"[^-/\w\.]")


def clean_tag(name: str | None) -> str | None:
    """Return a name with an underscore in place of each character that no node's name has.

    Args:
        name: the name; ``None`` stays ``None``.
    """
    if name is None:
        return None
    tag = _NO_TAG.sub("_", name).lstrip("/")
    if tag != name:
        _log.info("Summary name %s is illegal; using %s instead.", name, tag)
    return tag
