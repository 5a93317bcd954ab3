"""Whole TensorFlow 1 programs print here what TensorFlow printed (``scripts/differential --record``)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from scripts.differentials.side import OURS
from scripts.differentials.whole import WholeProgram, WholeSide, output_difference, whole_programs, whole_side

PROGRAMS = whole_programs()


@pytest.fixture(scope="module")
def side() -> Iterator[WholeSide]:
    with whole_side(OURS, sys.executable) as side:
        yield side


@pytest.mark.process
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_prints_what_is_recorded(side: WholeSide, program: WholeProgram) -> None:
    printed = side.run(program)
    assert printed.status == 0, printed.err
    expected = program.recorded.read_text(encoding="utf-8")
    assert output_difference(expected, printed.out) is None, printed.err
