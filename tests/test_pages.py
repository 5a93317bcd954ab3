"""The sources of the documentation site: what Sphinx is given to read."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from scripts.pages import page_text, pages, public_modules, public_names, write_sources
from scripts.site.excerpts import write_excerpts

pytestmark = pytest.mark.slow  # imports every public name


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_sources(folder)
    return folder


def test_every_page_of_the_repository_is_there_and_the_readme_comes_first(sources: Path) -> None:
    names = {str(page) for page in pages()} - {"README.md"}
    assert names <= {path.relative_to(sources).as_posix() for path in sources.rglob("*.md")}
    assert (sources / "index.md").read_text(encoding="utf-8").startswith("# actorsession\n")


def test_every_public_name_is_described_once_or_refers_to_its_description(sources: Path) -> None:
    text = "".join(p.read_text(encoding="utf-8") for p in (sources / "reference").glob("*.rst"))
    described = Counter(re.findall(r"^\.\. (?:autoclass|autofunction|py:data):: (\S+)", text, re.M))
    assert set(described.values()) == {1}
    referred = re.findall(r"The same as :py:\w+:`(.+)`\.", text)
    assert set(referred) <= set(described)
    names = sum(len(list(public_names(module))) for module in public_modules().values())
    assert described.total() + len(referred) == names > 1000


def test_no_two_pages_have_one_title(sources: Path) -> None:
    """The search lists titles."""
    titles = Counter(
        re.sub("[`#]", "", path.read_text(encoding="utf-8").lstrip().partition("\n")[0]).strip()
        for path in sources.rglob("*")
        if path.suffix in {".md", ".rst"}
    )
    assert titles.total() > 150
    assert [title for title, pages in titles.items() if pages > 1] == []


def test_links_to_examples_lead_to_the_page_that_shows_them(sources: Path) -> None:
    text = page_text(Path("README.md"))
    assert "](examples.md#examples-serve)" in text
    assert "](examples/" not in text
    assert "](../examples.md#examples-operate-prometheus)" in page_text(Path("docs/observability.md"))
    shown = (sources / "examples.md").read_text(encoding="utf-8")
    assert {"## examples/serve", "## examples/operate/prometheus"} <= set(shown.splitlines())
    assert Path("examples/quickstart.py").name in shown


def test_a_file_is_only_written_if_its_content_has_changed(tmp_path: Path) -> None:
    write_sources(tmp_path)
    changed, kept, stale = tmp_path / "index.md", tmp_path / "examples.md", tmp_path / "old.md"
    changed.write_text("another text")
    stale.write_text("a page that was removed")
    before = kept.stat().st_mtime_ns
    write_sources(tmp_path)
    assert changed.read_text(encoding="utf-8").startswith("# actorsession\n")
    assert kept.stat().st_mtime_ns == before
    assert not stale.exists()


def test_the_excerpts_are_the_texts_of_pages_with_the_sections_that_links_lead_to(tmp_path: Path) -> None:
    page = """<html><body><nav>menu</nav><article role="main"><section id="a"><h1>One<a href="#a">\xb6</a></h1>
<p>if x &lt; 3<br>end</p><script>no()</script><section id="b"><p>deep</p></section></section></article>foot</body>"""
    (tmp_path / "docs").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "docs" / "page.html").write_text(page, encoding="utf-8")
    write_excerpts(tmp_path)
    script = (tmp_path / "_static" / "excerpts.js").read_text(encoding="utf-8")
    texts = json.loads(script.removeprefix("const texts = ").partition(";\n")[0])
    deep = '<section id="b">deep</section>'
    assert texts == {"docs/page.html": f'<div role="main"><section id="a">One\nif x &lt; 3end{deep}</section></div>'}
