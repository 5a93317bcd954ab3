"""What pages say is missing is missing: no sentence of absence names what programs find here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from tests.test_docs_names import ROOT, without_fences

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ABSENT = re.compile(r"\b(is|are) (not (included|here|there yet|supported)|missing)\b|\bThere (is|are) no\b|\bhas not:")
# What pages call by another word than the name that has it.
WORDS = {
    "attention": "contrib.seq2seq.AttentionWrapper",
    "beam": "contrib.seq2seq.BeamSearchDecoder",
    "datasets": "data",
    "fused": "contrib.rnn.LSTMBlockFusedCell",
    "layer": "layers",
    "summaries": "summary",
}
# Sentences that name what is here and say that something else is not.
OF_SOMETHING_ELSE = (
    "There are no step statistics, partition graphs or timeline for them",  # steps of tensors that are kept
    "with Keras 2.2 there are no classes of losses and metrics",  # of another package
    "and the cuDNN layers and `RadialConstraint` are missing",
    "There are no snapshots, no data service, and no databases",
    "so it shows models too whose operation types are missing here",
    "There is no state in which a session exists and cannot run",
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page that say that something is not here."""
    for part in re.split(r"(?<=[.;:])\s+|\n\n|\n[-|] | \| ", text):
        if ABSENT.search(part):
            yield " ".join(part.split())


def public_value(dotted: str) -> Any:
    """What a name stands for in either package; ``None`` if it is in neither."""
    for package in (acts, tf):
        value: Any = package
        for part in dotted.split("."):
            value = getattr(value, part, None)
        if value is not None:
            return value
    return None


def contradicted(sentence: str) -> list[str]:
    """The names in a sentence of absence that programs find."""
    quoted = [
        name.removeprefix("tf.").removeprefix("acts.") for name in re.findall(r"`((?:tf\.|acts\.)?[\w.]+)`", sentence)
    ]
    plain = [word.lower() for word in re.findall(r"[A-Za-z]+", re.sub(r"`[^`]*`", "", sentence))]
    meant = [WORDS.get(word, word) for word in plain]
    modules = [word for word in meant if word in WORDS.values() or isinstance(public_value(word), ModuleType)]
    return [name for name in [*quoted, *modules] if public_value(name) is not None]


def test_no_page_says_that_something_is_missing_which_programs_find() -> None:
    claims = [sentence for page in PAGES for sentence in sentences(without_fences(page))]
    assert len(claims) > 20
    wrong = [(names, said) for said in claims if (names := contradicted(said)) and not said_of_others(said)]
    assert wrong == []
    unused = [words for words in OF_SOMETHING_ELSE if not any(words in said for said in claims)]
    assert unused == []


def said_of_others(sentence: str) -> bool:
    """Whether a sentence is one of the list."""
    return any(words in sentence for words in OF_SOMETHING_ELSE)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Layers, datasets and summaries are not included;", ["layers", "data", "summary"]),
        ("It is quick. `tf.matmul` is missing.", ["matmul"]),
        ("There is no `acts.train.fit` here.", ["train.fit"]),
        ("`tf.matmul_twice` is missing.", []),
        ("A server says which file is missing.", []),
    ],
)
def test_a_wrong_claim_would_be_noticed(text: str, names: list[str]) -> None:
    assert [name for said in sentences(text) for name in contradicted(said)] == names
