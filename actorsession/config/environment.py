"""Settings from the environment: numbers and switches, under this package's or TensorFlow's names.

They are read when a session is made. Of several names the first that is set counts. A value that cannot be
parsed is logged and ignored, because a program must not fail because of a variable that was exported long
ago.
"""

from __future__ import annotations

import logging
import os

__all__ = ["environment_number", "environment_switch"]

_log = logging.getLogger("actorsession.config")
# TensorFlow's words, in lower case; case does not matter.
_WORDS = {"true": True, "1": True, "false": False, "0": False}


def environment_number(*names: str, default: int = 0) -> int:
    """Return a number from the environment.

    Args:
        names: names of the variables; the first that holds a number counts.
        default: the result if none does.
    """
    for name in names:
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        try:
            return int(text)
        except ValueError:
            _log.error("environment variable %s is ignored: %r is not a whole number", name, text)
    return default


def environment_switch(*names: str, default: bool) -> bool:
    """Return a truth value from the environment: ``true`` or ``1``, ``false`` or ``0``.

    Args:
        names: names of the variables; the first that contains one of these texts counts.
        default: the result if none does.
    """
    for name in names:
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        switch = _WORDS.get(text.lower())
        if switch is not None:
            return switch
        _log.error(
            "environment variable %s is ignored: %r is none of %s; the value is %s",
            name,
            text,
            ", ".join(_WORDS),
            str(default).lower(),
        )
    return default
