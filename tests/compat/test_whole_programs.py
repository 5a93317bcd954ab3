"""Whole programs for TensorFlow 1 print what is recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from scripts.differentials.side import OURS
from scripts.differentials.whole import WholeProgram, WholeSide, output_difference, whole_programs, whole_side

PROGRAMS = whole_programs()


@pytest.fixture(scope="module")
def side() -> Iterator[WholeSide]:
    """Return a process that runs programs."""
    with whole_side(OURS, sys.executable) as side:
        yield side


@pytest.mark.process
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_prints_what_is_recorded(side: WholeSide, program: WholeProgram) -> None:
    printed = side.run(program)
    assert printed.status == 0, printed.err
    assert output_difference(program.recorded.read_text(encoding="utf-8"), printed.out) is None, printed.err
