"""Whole programs for TensorFlow 1 that take long print what is recorded."""

from __future__ import annotations

import pytest

from scripts.differentials.whole import WholeProgram, WholeSide
from tests.compat.whole import assert_prints_what_is_recorded, each_program, side

__all__ = ["side"]


@pytest.mark.process
@each_program(long=True)
def test_a_long_program_prints_what_is_recorded(side: WholeSide, program: WholeProgram) -> None:
    assert_prints_what_is_recorded(side, program)
