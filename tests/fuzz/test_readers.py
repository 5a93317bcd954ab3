"""Files and words of others that are spoilt give a value or an error of ours; see ``readers``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.readers import READERS, spoil_arguments, spoil_files

SEED, TIMES = 20261128, 6


def write_and_read(name: str, folder: Path) -> None:
    READERS[name].write(folder)
    READERS[name].read(folder)


@pytest.mark.parametrize("name", READERS)
def test_spoilt_files_are_read_as_something_or_refused_in_our_words(name: str, tmp_path: Path) -> None:
    assert spoil_files(name, tmp_path, SEED, TIMES) == []


def test_odd_words_for_any_option_of_any_command_are_refused_in_one_line() -> None:
    assert spoil_arguments(SEED) == []
