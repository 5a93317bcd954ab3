"""The files of the page: what they may not contain, and that all of them are there."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.test_docs_names import ROOT

ASSETS = ROOT / "actorsession" / "dashboard" / "assets"
MODULES = sorted(path for path in ASSETS.rglob("*.js") if "vendor" not in path.parts)
# Whatever makes elements, code or styles of text, or sends something elsewhere.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|DOMParser|createContextualFragment|srcdoc|document\.write"
    r"|\beval\b|new Function|javascript:|setAttribute\(\"(on|style|href|src)|\bpostMessage\b|sendBeacon|WebSocket"
    r"|XMLHttpRequest|EventSource|localStorage|document\.cookie"
)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ASSETS)))
def test_modules_make_no_elements_and_no_code_of_text(module: Path) -> None:
    found = [line for line in module.read_text(encoding="utf-8").splitlines() if FORBIDDEN.search(line)]
    assert found == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ASSETS)))
def test_modules_import_modules_of_the_page_alone(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    imported = re.findall(r'^(?:import|export)[^;]*? from "([^"]+)";', text, re.MULTILINE)
    assert [name for name in imported if not (module.parent / name).is_file()] == []
    hosts = set(re.findall(r"\w+://[\w.]+", text))
    assert hosts <= {"http://www.w3.org"}  # the name of SVG, which nothing is fetched from


def test_every_module_is_used() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in [*MODULES, ASSETS / "index.html"])
    unused = [path.name for path in ASSETS.rglob("*") if path.suffix in (".js", ".css") and path.name not in texts]
    assert unused == []


def test_the_first_file_has_nothing_inline_and_refers_to_files_that_exist() -> None:
    text = (ASSETS / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<style|\son\w+=|\sstyle=", text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", text) == []
    referred = re.findall(r'(?:src|href)="([^"#]+)"', text)
    assert referred
    assert [name for name in referred if not (ASSETS / name.removeprefix("/assets/")).is_file()] == []


def test_libraries_of_others_are_as_published_and_come_with_their_licences() -> None:
    table = (ASSETS / "vendor" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| .* \| MIT, `(\S+)` \| `([0-9a-f]{64})` \|$", table, re.MULTILINE)
    files = {path.name for path in (ASSETS / "vendor").iterdir()}
    assert {"README.md", *(name for name, _, _ in rows), *(licence for _, licence, _ in rows)} == files
    for name, licence, digest in rows:
        assert hashlib.sha256((ASSETS / "vendor" / name).read_bytes()).hexdigest() == digest
        assert "Permission is hereby granted, free of charge" in (ASSETS / "vendor" / licence).read_text("utf-8")
