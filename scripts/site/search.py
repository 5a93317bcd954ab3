"""Ask the search index of the documentation site the questions of a page.

The search of the site runs in a browser. This module reads the same index and applies the part of Sphinx's
rules that decides: a page is found if it has all words of the query, a word in a title counts three times as
much as one in a text, and a heading that contains the query comes before everything else.

python -m scripts.site.search site docs/questions.md
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.search.en import SearchEnglish

_FIRST = 3  # results that a reader looks at
_IN_TITLE, _IN_TEXT = 15, 5  # Sphinx's scores
_LANGUAGE = SearchEnglish({})


def read_index(site: Path) -> dict[str, Any]:
    """Return the search index of a site that Sphinx has built."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    return found


def stems(query: str) -> list[str]:
    """Return the words of a query as the index has them."""
    words = (word.lower() for word in re.findall(r"\w+", query))
    return [_LANGUAGE.stem(word) for word in words if word not in _LANGUAGE.stopwords]


def results(index: dict[str, Any], query: str) -> list[str]:
    """Return the names of the pages that a query finds, the best first.

    Args:
        index: what ``read_index`` returns.
        query: what a reader types.
    """
    scores: dict[int, int] | None = None
    for word in stems(query):
        found = dict.fromkeys(_documents(index["terms"], word), _IN_TEXT)
        found |= dict.fromkeys(_documents(index["titleterms"], word), _IN_TITLE)
        before = dict.fromkeys(found, 0) if scores is None else scores
        scores = {page: before[page] + score for page, score in found.items() if page in before}
    scores = scores or {}
    for title, places in index["alltitles"].items():
        if query.lower().strip("?") in title.lower():
            for page, _ in places:
                scores[page] = scores.get(page, 0) + 100
    return [index["docnames"][page] for page in sorted(scores, key=lambda p: -scores[p])]


def _documents(terms: dict[str, Any], word: str) -> list[int]:
    found = terms.get(word, [])
    return found if isinstance(found, list) else [found]


def main(site: Path, page: Path) -> int:
    """Print each question whose page is not among the first results, and return the exit status."""
    index = read_index(site)
    questions = re.findall(r"^### (.+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    name = page.with_suffix("").as_posix()
    lost = [q for q in questions if name not in results(index, q.replace("`", ""))[:_FIRST]]
    for question in lost:
        print(f"{page}: the search does not find {question!r}", file=sys.stderr)
    return 1 if lost or not questions else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
