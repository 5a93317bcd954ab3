"""Flipped bits in whatever is written to files: see ``bit_errors``."""

from __future__ import annotations

import pytest

from tests.bit_errors import FORMATS, flipped


@pytest.mark.parametrize("name", FORMATS)
def test_a_flipped_bit_is_never_read_as_a_value(name: str) -> None:
    report = flipped(name)
    assert report.flips >= min(30, FORMATS[name].flips)
    assert not report.faults, "\n".join(report.faults)
