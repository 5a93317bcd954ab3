"""All differential programs against what TensorFlow gave for them, which is written down.

The records have TensorFlow's values, static shapes, names and classes of errors;
``scripts/differential --record`` makes them.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from scripts.differentials import recorded
from scripts.differentials.families import programs
from scripts.differentials.reasons import REASONS
from scripts.differentials.record import record
from scripts.differentials.report import Outcome, judge, stale

PROGRAMS = programs()
FAMILIES = list(dict.fromkeys(program.family for program in PROGRAMS))
# Of so many programs of a family the short suite runs one.
_SHORT = 3


def outcomes_of(family: str, every: int) -> list[Any]:
    """How one of so many programs of a family compares with what is written down."""
    theirs = recorded.load(family)
    outcomes = []
    for program in [program for program in PROGRAMS if program.family == family][::every]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ours = json.loads(json.dumps(record(program, tf)))
        outcomes.append(judge(program, ours, theirs[program.name]))
    return outcomes


@pytest.mark.parametrize("family", FAMILIES)
def test_the_programs_of_a_family_give_what_tensorflow_gave(family: str, whole: bool) -> None:
    """Where a result differs there is a reason, and no reason is for what no longer differs."""
    chosen = [program for program in PROGRAMS if program.family == family]
    theirs = recorded.load(family)
    assert list(theirs) == [program.name for program in chosen]
    outcomes = outcomes_of(family, 1 if whole else _SHORT)
    assert [each.told() for each in outcomes if each.verdict == Outcome.DIFFERS] == []
    if not whole:
        return
    own = [reason for reason in REASONS if any(reason.matches(each.name) for each in chosen)]
    assert [reason for reason in stale(outcomes, list(theirs)) if reason in own] == []


def test_two_thirds_of_the_results_are_values() -> None:
    """So that a fault which makes everything fail alike does not pass for agreement."""
    given = [one for family in FAMILIES for one in recorded.load(family).values()]
    some = [one for one in given if one.get("facts") or any("value" in s for s in one["steps"])]
    assert len(some) > len(PROGRAMS) * 2 / 3
