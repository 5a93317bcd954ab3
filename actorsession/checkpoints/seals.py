"""Checksums in files of formats that have none: JSON, and protobuf messages as bytes and as text.

A reader of the format sees nothing of them: in JSON the checksum is a value that it ignores, in a message an
unknown field at the end, in a text a comment in the last line. Files of other writers have none and are read
as before; so each mark is such that a changed bit cannot make a file of this library one of another writer.
All that writes such files, and reads them again, calls this module.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.errors import DataLossError
from actorsession.json_text import read_json_object
from actorsession.protobuf.wire import FIXED32, write_tag

__all__ = [
    "check_unsealed",
    "is_sealed",
    "open_json",
    "open_message",
    "open_text",
    "seal",
    "seal_json",
    "seal_message",
    "seal_text",
]

_OURS = "actorsession"
_LENGTH = struct.Struct("<Q")
# Fields that no message of TensorFlow has: the first of a file, and the last one, with the checksum of all
# before it.
_FIRST, _LAST = write_tag(20001, FIXED32) + b"ACTS", write_tag(20002, FIXED32)
_COMMENT = b"  # crc32 "
_JSON = b'{"crc32": "'


# -- JSON ------------------------------------------------------------------------------------------


def seal(text: bytes, begin: bytes, covered: Callable[[bytes], bytes] = bytes) -> bytes:
    """Return a text with its checksum in it, in place of the eight digits that follow its beginning.

    Args:
        text: the text.
        begin: its beginning.
        covered: from the text to that which the checksum is of, with the same beginning.
    """
    return begin + _seal_of(covered(text), begin) + text[len(begin) + 8 :]


def is_sealed(text: bytes, begin: bytes, covered: Callable[[bytes], bytes] = bytes) -> bool:
    """Return whether a text has that beginning, and then its checksum; see ``seal``."""
    return text.startswith(begin + _seal_of(covered(text), begin))


def seal_json(content: Mapping[str, Any]) -> bytes:
    """Return an object as JSON in one line, with its checksum."""
    return seal(json.dumps({"crc32": "0" * 8, "sealed": True, **content}).encode(), _JSON)


def open_json(text: bytes, where: str) -> dict[str, Any]:
    """Return an object from its JSON, after checking its checksum, if its writer gave it one.

    Args:
        text: the JSON.
        where: its place, for messages.

    Raises:
        DataLossError: if the checksum is wrong, or it is no object in JSON.
    """
    try:
        content = read_json_object(text, where)
    except (TypeError, ValueError) as exc:
        raise DataLossError(str(exc)) from exc
    if text.startswith(_JSON) or "sealed" in content:
        if not is_sealed(text, _JSON):
            raise DataLossError(f"{where} does not have the checksum that it says: it is damaged")
        del content["crc32"], content["sealed"]
    return content


def check_unsealed(text: bytes, metadata: Mapping[str, Any]) -> None:
    """Refuse a text without the right checksum, unless its writer gave it none.

    Args:
        text: the text.
        metadata: what it says of its writer.

    Raises:
        ValueError: if it is of this library, in a version that writes checksums.
    """
    ours = metadata.get(_OURS)
    if b'"own_crc32"' not in text:
        if ours is not None and json.loads(ours)["version"] == 1:
            return
        if ours is None and metadata.get("format") != _OURS:
            return
    raise ValueError("it does not have its checksum")


def _seal_of(text: bytes, begin: bytes) -> bytes:
    rest = memoryview(text)[len(begin) + 8 :]
    # With the length, which is stored elsewhere.
    return b"%08x" % zlib.crc32(rest, zlib.crc32(begin, zlib.crc32(_LENGTH.pack(len(text)))))


# -- messages --------------------------------------------------------------------------------------


def seal_message(content: bytes) -> bytes:
    """Return a message with fields that hold its checksum."""
    content = _FIRST + content + _LAST
    return content + zlib.crc32(content).to_bytes(4, "little")


def open_message(content: bytes, path: str) -> bytes:
    """Return a message without those fields, after checking its checksum, if its writer gave it one.

    Args:
        content: the message.
        path: of its file, for messages.

    Raises:
        DataLossError: if the checksum is wrong.
    """
    size = len(_LAST) + 4
    inner, last = content[:-size], content[-size:]
    if content.startswith(_FIRST):
        if content == seal_message(inner[len(_FIRST) :]):
            return inner[len(_FIRST) :]
    elif not last.startswith(_LAST):
        return content
    elif inner.endswith(_FIRST):
        # Of a program that read a message and wrote it again: unknown fields are at the end, as they were.
        return inner[: -len(_FIRST)]
    raise DataLossError(f"{path!r} does not have the checksum that it says: it is damaged")


def seal_text(content: bytes) -> bytes:
    """Return a text with its checksum in a comment at the end of the last line: programs count the lines."""
    line = content.removesuffix(b"\n")
    return b"%s%s%08x\n" % (line, _COMMENT, zlib.crc32(content))


def open_text(content: bytes, path: str) -> bytes:
    """Return a text without the comment, after checking its checksum, if its writer gave it one.

    Raises:
        DataLossError: if the checksum is wrong.
    """
    line, mark, _ = content.rpartition(_COMMENT)
    for text in (line + b"\n", line):
        if mark and content == seal_text(text):
            return text
    last = content[-len(seal_text(b"")) :][: len(_COMMENT)].ljust(len(_COMMENT))
    changed = sum([a != b for a, b in zip(last, _COMMENT, strict=True)])
    if mark or changed == 1:
        raise DataLossError(
            f"{path!r} does not have the checksum in its last line: it is damaged, or was edited; whoever "
            "edits it removes that comment"
        )
    return content
