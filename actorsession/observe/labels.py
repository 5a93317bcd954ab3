"""The labels of nodes in step statistics, ``name = Op(inputs)``, which say what each node has read."""

from __future__ import annotations

import re

__all__ = ["parse_label"]

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")


def parse_label(label: str) -> tuple[str, list[str]]:
    """Return the operation type and the names of the inputs; ``unknown`` and none for another text."""
    match = _LABEL.match(label)
    if match is None:
        return "unknown", []
    return match[2], match[3].split(", ") if match[3] else []
