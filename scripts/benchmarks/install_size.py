"""The number of bytes of a distribution and all its requirements on disk.

The sum is taken from the installed distributions' own lists of files, so nothing is downloaded and no
environment is created. It is the size that ``pip install`` adds to an empty environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

__all__ = ["installed_bytes"]


def installed_bytes(name: str, packages: Sequence[str]) -> int:
    """Return the bytes of a distribution and of all its installed requirements.

    Args:
        name: the distribution.
        packages: its import packages; their folders are counted even if the distribution is an editable
            install.

    Raises:
        PackageNotFoundError: if the distribution itself is not installed.
    """
    paths = {file for found in _with_requirements(name) for file in _files(found)}
    paths |= {file for package in packages for file in _package_files(package)}
    return sum(path.stat().st_size for path in paths if path.is_file())


def _with_requirements(name: str) -> Iterator[metadata.Distribution]:
    waiting, seen = [metadata.distribution(name)], {_plain(name)}
    while waiting:
        found = waiting.pop()
        yield found
        for line in found.requires or ():
            needed, _, marker = line.partition(";")
            wanted = _plain(re.split(r"[^\w.-]", needed.strip(), maxsplit=1)[0])
            if "extra" in marker or wanted in seen:
                continue
            seen.add(wanted)
            # A requirement that is not installed is one for another system or Python.
            with suppress(metadata.PackageNotFoundError):
                waiting.append(metadata.distribution(wanted))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files(found: metadata.Distribution) -> Iterator[Path]:
    for file in found.files or ():
        yield Path(str(file.locate())).resolve()


def _package_files(package: str) -> Iterator[Path]:
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from (path.resolve() for path in Path(folder).rglob("*"))
