"""The versions that the scripts install: the pinned ones, and the lowest ones that pyproject.toml allows.

``scripts/constraints.txt`` pins all direct and indirect dependencies of the project and its tools, so that a
new release of a dependency changes nothing in a clone. ``scripts/renew`` writes the file, and setup.sh passes
it to pip. The script must run in an interpreter that may have nothing but pip.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "scripts" / "constraints.txt"
# The packages that build and install the project, in addition to those in pyproject.toml.
BUILDERS = ("pip", "editables")
HEAD = """\
# The versions that scripts/demo, scripts/test and scripts/docs install. Written by scripts/renew.
"""


def read_project() -> dict[str, Any]:
    """Return the project's own pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(project: dict[str, Any]) -> list[str]:
    """Return all requirements of a pyproject.toml: to build, to run, in extras and in groups."""
    table, groups = project["project"], project["dependency-groups"]
    lists = [project["build-system"]["requires"], table["dependencies"]]
    lists += [*table["optional-dependencies"].values(), *groups.values()]
    return [requirement for found in lists for requirement in found]


def name_of(requirement: str) -> str:
    """Return the normalised name of the distribution in a requirement."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def lower_bounds(asked: Iterable[str]) -> dict[str, str]:
    """Return the lowest version that each requirement allows, by name.

    Raises:
        ValueError: if a requirement has no lower bound, or two have different ones.
    """
    bounds: dict[str, str] = {}
    for requirement in asked:
        found = re.search(r"(?:>=|~=|==)\s*([0-9][^\s,;]*)", requirement)
        if found is None:
            raise ValueError(f"{requirement!r} has no lower bound")
        if bounds.setdefault(name_of(requirement), found[1]) != found[1]:
            raise ValueError(f"{requirement!r} has another lower bound elsewhere")
    return bounds


def resolve(python: str) -> dict[str, str]:
    """Return the versions that pip would install from wheels on a version of Python, by name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report)]
        there = ["--python-version", python, "--only-binary", ":all:", "--target", folder]
        asked = [*requirements(read_project()), *BUILDERS]
        subprocess.run([sys.executable, "-m", "pip", *words, *there, *asked], check=True)
        found = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return {name_of(item["name"]): item["version"] for item in found}


def pins(resolved: dict[str, dict[str, str]]) -> str:
    """Return the contents of the constraints file for the versions resolved on each Python, the oldest first.

    A name has one line for each range of Python versions with the same version of it. The last range includes
    newer Pythons.
    """
    pythons = list(resolved)
    lines = []
    for name in sorted({name for found in resolved.values() for name in found}):
        for first, python in enumerate(pythons):
            version = resolved[python].get(name)
            if version is None or (first and resolved[pythons[first - 1]].get(name) == version):
                continue
            same = first
            while same < len(pythons) and resolved[pythons[same]].get(name) == version:
                same += 1
            markers = [f'python_version >= "{python}"'] if first else []
            markers += [f'python_version < "{pythons[same]}"'] if same < len(pythons) else []
            lines.append(f"{name}=={version}" + (" ; " + " and ".join(markers) if markers else ""))
    return HEAD + "\n".join(lines) + "\n"


def lowest(pinned: str, project: dict[str, Any]) -> str:
    """Return constraints with the lower bounds of pyproject.toml, and the pins for everything else."""
    bounds = lower_bounds(requirements(project))
    kept = [line for line in pinned.splitlines() if line[0] == "#" or name_of(line) not in bounds]
    return "\n".join([*kept, *(f"{name}=={version}" for name, version in bounds.items())]) + "\n"


# Settings of pip that decide what it finds, with the options of uv that do.
UV_OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "constraint": "--constraint",
    "cert": "--cert",
    "trusted-host": "--allow-insecure-host",
}


def uv_options(configuration: str) -> list[str]:
    """Return the options with which uv finds what pip does, given what ``pip config list`` says."""
    settings = {}
    for line in configuration.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        settings[section, name] = str(ast.literal_eval(value))

    def setting(name: str) -> str:
        return next(
            (settings[place, name] for place in (":env:", "install", "global") if (place, name) in settings), ""
        )

    # pip takes the best version of all places, uv by default one of the first place that has any.
    found = ["--index-strategy", "unsafe-best-match"]
    for name, option in UV_OPTIONS.items():
        found += [word for value in setting(name).split() for word in (option, value)]
    return [*found, *(["--no-index"] if setting("no-index").lower() in ("1", "true", "yes", "on") else [])]


def main(words: list[str]) -> None:
    """Write the pins (``renew 3.11 ...``), or print constraints with the lower bounds (``lowest``) or uv's options."""
    if words[0] == "renew":
        PINS.write_text(pins({python: resolve(python) for python in words[1:]}), encoding="utf-8")
    elif words[0] == "uv":
        listing = [sys.executable, "-m", "pip", "config", "list"]
        print(*uv_options(subprocess.run(listing, check=True, capture_output=True, text=True).stdout), sep="\n")
    else:
        sys.stdout.write(lowest(PINS.read_text(encoding="utf-8"), read_project()))


if __name__ == "__main__":
    main(sys.argv[1:])
