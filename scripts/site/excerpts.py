"""The texts of the pages as a script, from which the search shows excerpts of a site that is opened from disk.

Sphinx's search fetches each page that it has found, to show the words around the query. A browser fetches no
files for a page that is a file itself. So a build writes the texts of all pages into one script, which the page
of the search loads: it answers these requests, and no others.
"""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

__all__ = ["PageText", "setup", "write_excerpts"]

SCRIPT = "_static/excerpts.js"
# What Sphinx asks for when it looks for the words around a query: the address of a page, without its anchor.
_ANSWER = """\
(() => {
  if (location.protocol !== "file:") return;
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href).href;
  const fetched = window.fetch;
  window.fetch = (address, ...more) => {
    const page = new URL(address, location.href).href.split(/[?#]/)[0];
    const text = page.startsWith(root) ? texts[page.slice(root.length)] : undefined;
    return text === undefined ? fetched(address, ...more) : Promise.resolve(new Response(text));
  };
})();
"""


class PageText(HTMLParser):
    """Reads a page, and keeps the text of its main part with the sections that links lead to.

    Attributes:
        parts: the text so far, as HTML without any element but sections.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._open: list[tuple[str, bool]] = []  # elements of the main part, and whether they are kept

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter an element."""
        given = dict(attrs)
        if tag in _VOID or not (self._open or given.get("role") == "main"):
            return
        kept = not self._open or tag == "section"
        self._open.append((tag, kept))
        if kept:
            name = html.escape(given.get("id") or "")
            self.parts.append(f'<section id="{name}">' if len(self._open) > 1 else '<div role="main">')

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        if self._open and tag not in _VOID:
            _, kept = self._open.pop()
            if kept:
                self.parts.append("</section>" if self._open else "</div>")

    def handle_data(self, data: str) -> None:
        """Keep a text, unless it is that of a script or of the mark behind a heading."""
        if self._open and self._open[-1][0] not in ("script", "style") and data != "\N{PILCROW SIGN}":
            self.parts.append(html.escape(data, quote=False))


_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


def write_excerpts(site: Path) -> None:
    """Write the script into the folder of a site that has been built."""
    texts = {}
    for page in sorted(site.rglob("*.html")):
        reader = PageText()
        reader.feed(page.read_text(encoding="utf-8"))
        texts[page.relative_to(site).as_posix()] = "".join(reader.parts)
    content = f"const texts = {json.dumps(texts)};\n{_ANSWER}"
    (site / SCRIPT).write_text(content, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx write the script when a build has ended, and load it in the page of the search."""

    def add_script(_app: Any, name: str, *_: Any) -> None:
        if name == "search":
            app.add_js_file(Path(SCRIPT).name)

    def write(_app: Any, error: Exception | None) -> None:
        if error is None:
            write_excerpts(Path(app.outdir))

    app.connect("html-page-context", add_script)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
