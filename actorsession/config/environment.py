"""Settings that come from the environment: numbers and switches, under our name or TensorFlow's.

Read when a session is made. Of several names the first that is set counts. A word that cannot be read is
logged and the default kept, because a program must not fail for what somebody exported long ago.
"""

from __future__ import annotations

import logging
import os

__all__ = ["environment_number", "environment_switch"]

_log = logging.getLogger("actorsession.config")
# TensorFlow's words; capitals count as small letters.
_WORDS = {"true": True, "1": True, "false": False, "0": False}


def environment_number(*names: str, default: int = 0) -> int:
    """A number from the environment.

    Args:
        names: of the variables; the first that holds a number counts.
        default: what counts where none does.
    """
    for name in names:
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        try:
            return int(text)
        except ValueError:
            _log.error("environment variable %s is ignored: %r is no whole number", name, text)
    return default


def environment_switch(*names: str, default: bool) -> bool:
    """A truth value from the environment: ``true`` or ``1``, ``false`` or ``0``.

    Args:
        names: of the variables; the first that holds one of these words counts.
        default: what counts where none does.
    """
    for name in names:
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        found = _WORDS.get(text.lower())
        if found is not None:
            return found
        _log.error(
            "environment variable %s is ignored: %r is none of %s; %s counts",
            name, text, ", ".join(_WORDS), str(default).lower(),
        )  # fmt: skip
    return default
