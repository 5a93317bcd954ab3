"""Which texts are whole numbers: in names, on the command line, in versions."""

from __future__ import annotations

import argparse

import pytest

from actorsession.cli.console import job_counts, whole_number
from actorsession.whole_numbers import is_index


@pytest.mark.parametrize("text", ["0", "7", "007", "9" * 18])
def test_digits_are_a_whole_number(text: str) -> None:
    assert is_index(text)
    assert whole_number(text) == int(text)


# Superscripts and digits of other scripts are digits for Python; a number of 5,000 digits is none.
@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1_0", "²", "٣", "9" * 19, "9" * 5000])
def test_everything_else_is_none(text: str) -> None:
    assert not is_index(text)
    with pytest.raises(argparse.ArgumentTypeError):
        whole_number(text)
    with pytest.raises(argparse.ArgumentTypeError):
        job_counts(f"worker={text}")
