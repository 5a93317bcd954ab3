"""Operation types that few programs build, against what TensorFlow gives for the same nodes.

The nodes are the family ``op-types`` of the differential programs; ``op_types.jsonl`` has TensorFlow's
values, static shapes, gradients and classes of errors, which ``scripts/differential --only op-types
--record`` writes down.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.graph.registry import is_registered
from scripts.differentials.compare import differences
from scripts.differentials.families.op_types import FAMILIES, RECORDED
from scripts.differentials.program import Program
from scripts.differentials.record import record
from scripts.differentials.report import Outcome, judge
from tests.rows import for_each

PROGRAMS = [program for family in FAMILIES for program in family.programs]
THEIRS = {
    found["name"]: found
    for found in map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
}


def test_there_is_a_record_of_each() -> None:
    assert [program.name for program in PROGRAMS] == list(THEIRS)


@for_each("program", PROGRAMS, ids=lambda program: program.name)
def test_a_node_gives_what_it_gives_in_tensorflow(program: Program) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours = json.loads(json.dumps(record(program, tf)))
    verdict = judge(program, ours, THEIRS[program.name]).verdict
    assert verdict is not Outcome.DIFFERS, differences(ours, THEIRS[program.name])


@pytest.mark.parametrize("name", ["op-types/Bincount-negative", "op-types/NthElement-outside"])
def test_refusals_are_recorded_too(name: str) -> None:
    steps = THEIRS[name]["steps"] or [THEIRS[name]]
    assert "error" in steps[0]
    assert is_registered(name.partition("/")[2].partition("-")[0])
