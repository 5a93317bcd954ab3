"""What a newcomer asks, in his own words, is found: the answer is among the first three results of a search.

The search is a plain one over the headings and texts of all sections. ``scripts/docs --check`` asks the
search index of the site as well.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_docs_names import anchors, heading_anchor, names, without_fences

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUESTIONS = ROOT / "docs" / "questions.md"
FIRST = 3  # results that a reader looks at
HEADING_WEIGHT = 4  # how often a word of a heading counts
NO_WORDS = names(
    """
    a an and are at can do does for from get has have how i if in into is it its my of on one or so that the
    there this to use was what when where which while who why with you your
    """
)

# What is typed, and the sections of which one should be among the first results.
QUERIES = {
    # a web developer without TensorFlow
    "install pip": ["how-do-i-install-it"],
    "feed numpy array": ["how-do-i-feed-a-numpy-array-and-get-one-back"],
    "fastapi": ["how-do-i-use-it-in-fastapi-or-aiohttp"],
    "async function event loop refuses": ["can-i-call-it-in-an-async-function"],
    "thread safe": ["is-it-thread-safe"],
    "stop a run after 3 seconds": ["how-do-i-stop-a-run-after-3-seconds"],
    "timeout of a run": ["how-do-i-stop-a-run-after-3-seconds", "cancellation-time-limits-cancelling-closing"],
    "dense layer": ["are-there-layers-and-a-training-loop", "the-layers"],
    "training loop early stopping": ["are-there-layers-and-a-training-loop", "training"],
    "save a model": ["how-do-i-save-a-model-and-load-it-again"],
    "load model again": ["how-do-i-save-a-model-and-load-it-again"],
    "catch exceptions": ["which-exceptions-do-i-catch"],
    "error message meaning": ["what-does-an-error-message-mean-and-what-do-i-do-about-it"],
    "first run slow": ["why-is-the-first-run-slow"],
    "memory grows": ["why-does-my-memory-grow"],
    "gpu": ["does-it-run-on-a-gpu"],
    "windows": ["does-it-run-on-windows-or-macos"],
    "run in jupyter": ["can-i-run-it-in-jupyter-or-a-notebook"],
    "pytest": ["how-do-i-use-it-in-pytest"],
    "draw a graph": ["how-do-i-see-a-graph"],
    "random seed same numbers": ["how-do-i-get-the-same-random-numbers-again"],
    "print a value": ["how-do-i-print-or-debug-a-value-inside-the-graph"],
    "nan": ["how-do-i-find-a-nan"],
    "call a database in a graph": ["how-do-i-call-python-code-a-database-or-a-web-service-in-a-graph"],
    # a TensorFlow 1 veteran
    "tensorflow 1 program import": [
        "what-do-i-change-in-a-tensorflow-1-program",
        "a-program-for-tensorflow-1",
        "programs-for-tensorflow-1",
    ],
    "keras": ["are-keras-layers-tfdata-and-tensorboard-summaries-there"],
    "tensorboard": ["are-keras-layers-tfdata-and-tensorboard-summaries-there"],
    "restore tensorflow checkpoint": ["can-i-restore-my-tensorflow-checkpoint", "tensorflows-checkpoints"],
    "freeze a graph": ["how-do-i-freeze-a-graph"],
    "frozen graph load": ["can-i-load-a-frozen-graph-or-a-graphdef-that-tensorflow-wrote"],
    "eager": ["does-it-have-eager-execution-or-tffunction"],
    "fast compared with tensorflow": ["is-it-as-fast-as-tensorflow"],
    "without parameter server": [
        "how-do-i-train-on-several-machines-without-a-parameter-server",
        "training-without-a-parameter-server",
    ],
    "sessions share variables": ["does-a-session-of-one-process-share-variables-with-another"],
    # an operator
    "see my cluster in a browser": ["how-do-i-see-what-my-cluster-is-doing", "the-page"],
    "why does my run hang": ["why-does-my-run-hang", "why-does-it-hang"],
    "last errors of a task": ["what-failed-last-night", "the-last-steps"],
    "why is my step slow": ["why-is-my-step-slow", "a-cluster-that-is-slow-on-purpose"],
    "see the generated code": ["the-generated-source"],
    "what port does a worker use": ["what-port-does-a-worker-use"],
    "kill -9": ["what-happens-at-kill--9-of-a-worker"],
    "start a dead worker again": ["what-happens-at-kill--9-of-a-worker", "tasks-that-are-started-again"],
    "process restarts variables lost": ["are-variables-lost-when-a-process-restarts"],
    "docker": ["how-do-i-run-it-in-docker-or-kubernetes"],
    "kubernetes": ["how-do-i-run-it-in-docker-or-kubernetes"],
    "systemd": ["how-do-i-run-it-with-systemd"],
    "how do i log": ["how-do-i-log-and-where-does-the-log-go"],
    "metrics prometheus": ["how-do-i-get-metrics-into-prometheus", "monitoring"],
    "health check": ["how-do-i-check-the-health-of-a-server"],
    "password": ["how-do-i-secure-a-server-with-a-password-or-tls"],
    "limit threads": ["how-do-i-limit-threads-and-processor-use"],
    "add workers": ["how-do-i-add-or-remove-workers-while-it-runs"],
    "overload": ["what-happens-under-overload"],
    "shut down a cluster": ["how-do-i-shut-down-a-cluster"],
    # an engineer who reads the source
    "read the source": ["where-do-i-start-to-read-the-source"],
    "how to add an op": ["how-do-i-add-an-op"],
    "what happens in a step": ["what-happens-in-a-step-from-run-to-the-answer"],
    "write a transport": ["how-do-i-write-my-own-device-or-transport", "a-transport"],
    "profile": ["how-do-i-profile-a-step-or-see-which-node-ran-where"],
    "pickle": ["why-is-there-no-pickle-and-how-do-python-objects-travel"],
    "run the tests": ["how-do-i-run-the-tests-or-only-some-of-them"],
}


class Section(NamedTuple):
    """A section of a page.

    Attributes:
        page: its file.
        anchor: what links call its heading.
        words: how often each word occurs in it, those of the heading several times.
    """

    page: str
    anchor: str
    words: Counter[str]


def words(text: str) -> list[str]:
    """The words of a text that a search looks for, without the endings of plurals and verbs."""
    found = re.findall(r"[a-z0-9_]+", text.lower())
    return [re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in found if word not in NO_WORDS]


@cache
def sections() -> list[Section]:
    """All sections of all pages."""
    found = []
    for page in PAGES:
        for part in re.split(r"^#+ ", without_fences(page), flags=re.MULTILINE)[1:]:
            title, _, text = part.partition("\n")
            counted = Counter(words(title) * HEADING_WEIGHT + words(text))
            found.append(Section(page.name, heading_anchor(title), counted))
    return found


@cache
def rarity(word: str) -> float:
    """How much a word tells: the fewer sections have it, the more."""
    having = sum(word in section.words for section in sections())
    return math.log((1 + len(sections())) / (1 + having))


def results(query: str) -> list[Section]:
    """The sections that a query finds, the best first: by the weight of its words in them (Okapi BM25)."""
    mean = sum(s.words.total() for s in sections()) / len(sections())

    def score(section: Section) -> float:
        long = 1.2 * (0.25 + 0.75 * section.words.total() / mean)
        found = ((rarity(word), section.words[word]) for word in set(words(query)))
        return sum(weight * 2.2 * times / (times + long) for weight, times in found)

    return sorted((s for s in sections() if score(s) > 0), key=score, reverse=True)


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_for_the_words_of_a_question_finds_its_answer(query: str) -> None:
    first = [section.anchor for section in results(query)[:FIRST]]
    assert set(first) & set(QUERIES[query]), f"{query!r} found {first}"


def test_the_sections_that_are_expected_exist() -> None:
    known = frozenset[str]().union(*map(anchors, PAGES))
    assert {anchor for found in QUERIES.values() for anchor in found} <= known


def test_every_question_is_searched_for_and_answered_with_a_link() -> None:
    asked = re.split(r"^### ", QUESTIONS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    expected = {anchor for found in QUERIES.values() for anchor in found}
    assert len(asked) >= 40
    for part in asked:
        title = part.partition("\n")[0]
        anchor = heading_anchor(title)
        assert title.endswith("?")
        if "```" not in part:
            assert re.search(r"\]\([^)]+\.md", part), title
        if anchor != "what-is-this-for" and anchor not in expected:
            pytest.fail(f"no query of this test expects the question {title!r}")


def test_a_search_for_what_no_page_says_finds_nothing() -> None:
    assert results("blockchain") == []
