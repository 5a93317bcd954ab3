"""JSON of somebody else: every fault of a text is a ``ValueError`` of ours, in words.

The standard library raises other classes for a text that is nested deeply, is no UTF-8, or has a number of
thousands of digits. Called by whatever reads files, variables and messages of others.
"""

from __future__ import annotations

import json
from typing import Any

from actorsession.errors import RequestTypeError, RequestValueError

__all__ = ["read_json", "read_json_object"]


def read_json(text: str | bytes | bytearray) -> Any:
    """Return the value of a text.

    Raises:
        ValueError: if it is no JSON; says why.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise RequestValueError("it is nested too deeply") from None
    except UnicodeDecodeError as exc:
        raise RequestValueError(f"it is no UTF-8: {exc.reason} at byte {exc.start}") from None
    except ValueError as exc:
        raise RequestValueError(str(exc)) from None


def read_json_object(text: str | bytes | bytearray, where: str, what: str = "an object") -> dict[str, Any]:
    """Return the object that a text has.

    Args:
        text: the text.
        where: where it stands, for errors.
        what: what is expected there, for errors.

    Raises:
        ValueError: if it is no JSON; says where and why.
        TypeError: if it is something else than an object.
    """
    try:
        value = read_json(text)
    except ValueError as exc:
        raise RequestValueError(f"{where} is not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise RequestTypeError(f"{where} is {what}, got {value!r:.100}")
    return value
