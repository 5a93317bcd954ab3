"""TensorFlow's messages by name: those of settings, runs, servers, summaries and files.

They are the classes of ``interop``; each is made when it is first asked for. ``settings`` and ``runs``
convert those of sessions and runs to the library's own values.
"""

from __future__ import annotations

from typing import Any

from actorsession.interop.tabled import message_or_enum

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    try:
        value = globals()[name] = message_or_enum(name)
    except KeyError:
        raise AttributeError(f"there is no message {name!r}") from None
    return value
