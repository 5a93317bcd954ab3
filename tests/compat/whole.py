"""Whole programs for TensorFlow 1, each a test that it prints what is recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scripts.differentials.side import OURS
from scripts.differentials.whole import WholeProgram, WholeSide, output_difference, whole_programs, whole_side
from tests.rows import few_of

# Each takes a core four tenths of a second or more.
LONG = """
    autoencoder_with_distributions checkpoints_of_objects contrib_learn_models contrib_optimizers decoders_by_numbers
    estimator_linear_model estimator_train_and_evaluate estimator_wide_classifier every_optimizer
    parameter_server_training recovering_sessions seq2seq_attention several_servers slim_convnet small_batches
    translate_with_buckets
"""


@pytest.fixture(scope="module")
def side() -> Iterator[WholeSide]:
    """Return a process that runs programs."""
    with whole_side(OURS, sys.executable) as side:
        yield side


def each_program(*, long: bool) -> Callable[..., Any]:
    """Parametrise a test by the long programs, or by all others."""
    chosen = [program for program in whole_programs() if (program.path.stem in LONG.split()) == long]
    assert len(chosen) >= len(LONG.split())
    params = [pytest.param(program, id=program.name) for program in chosen]
    return pytest.mark.parametrize("program", params if long else few_of(params, 3))


def assert_prints_what_is_recorded(side: WholeSide, program: WholeProgram) -> None:
    """Run a program and compare what it prints."""
    printed = side.run(program)
    assert printed.status == 0, printed.err
    assert output_difference(program.recorded.read_text(encoding="utf-8"), printed.out) is None, printed.err
