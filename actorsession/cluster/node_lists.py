"""Slurm's compact texts: node lists such as ``n[01-03,7],login``, and numbers such as ``4(x2),1``.

Pure functions of their text, used by ``slurm_resolver`` and by what asks ``squeue``. A node list may have any
number of brackets in a name, also before a suffix, which ``scontrol`` refuses to print but other tools write.

Invariant: the order is Slurm's. The last bracket of a name varies fastest, and nodes are not sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from actorsession.errors import RequestValueError

__all__ = ["expand_counts", "expand_node_list"]

# Slurm's own limit; a mistyped range must not fill the memory.
_MOST = 65_536

_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\],\s]+)")
_NAME = re.compile(r"(?:\[[^\[\]]*\]|[^\[\],\s])+")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_COUNT = re.compile(r"([0-9]{1,18})(?:\(x([0-9]{1,18})\))?")


def expand_node_list(text: str) -> list[str]:
    """Return the names of a node list, in its order.

    Args:
        text: such as ``n[01-03,7],rack[0-1]node[0-9]-ib``; a range keeps the zeros of its first number.

    Raises:
        ValueError: for text in another form; names the part.
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _NAME.match(text, at)
        if match is None or text[match.end() : match.end() + 1] not in ("", ","):
            raise RequestValueError(f"{text[at:]!r:.100} is no name of nodes, such as n1 or n[1-4,7]")
        names += _expand_name(match[0], _MOST - len(names))
        at = match.end() + 1
    if not names or text.endswith(","):
        raise RequestValueError("a name of nodes is missing, such as n1 or n[1-4,7]")
    return names


def _expand_name(name: str, most: int) -> Iterator[str]:
    choices: list[list[str]] = []
    for numbers, plain in _PIECE.findall(name):
        choices.append([plain] if plain else _expand_ranges(numbers, name, most))
        most //= len(choices[-1])
    return ("".join(parts) for parts in product(*choices))


def _expand_ranges(text: str, name: str, most: int) -> list[str]:
    numbers: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise RequestValueError(f"{part!r:.100} in {name!r:.100} is no number or range, such as 3 or 01-16")
        low, high = match[1], match[2] or match[1]
        count = int(high) - int(low) + 1
        if count < 1:
            raise RequestValueError(f"the range {part!r:.100} in {name!r:.100} ends before it begins")
        if len(numbers) + count > most:
            raise RequestValueError(f"{name!r:.100} is more than {_MOST} nodes, the limit")
        numbers += [str(n).zfill(len(low)) for n in range(int(low), int(high) + 1)]
    return numbers


def expand_counts(text: str) -> list[int]:
    """Return the numbers of a compact list, one per node.

    Args:
        text: such as ``4(x2),1`` for 4, 4 and 1.

    Raises:
        ValueError: for text in another form; names the part.
    """
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        times = int(match[2] or 1) if match else 0
        if match is None or not times or len(counts) + times > _MOST:
            raise RequestValueError(f"{part!r:.100} is no number or repeated number, such as 3 or 4(x2)")
        counts += [int(match[1])] * times
    return counts
