"""Checksums in messages and texts: of our own files, and of those that other programs wrote."""

from __future__ import annotations

import pytest

from actorsession.checkpoints.seals import open_message, open_text, seal_message, seal_text
from actorsession.errors import DataLossError

CONTENTS = [b"", b"\x08\x01", b"key: 1\n# a comment\n"]


@pytest.mark.parametrize("content", CONTENTS)
def test_what_is_sealed_is_opened_and_what_others_wrote_stays_as_it_is(content: bytes) -> None:
    assert open_message(seal_message(content), "m") == content
    assert open_text(seal_text(content), "m") == content
    assert open_message(content, "m") == content
    assert open_text(content, "m") == content


@pytest.mark.parametrize("content", CONTENTS)
def test_no_flipped_bit_makes_it_one_of_another_writer(content: bytes) -> None:
    for seal, opened in ((seal_message, open_message), (seal_text, open_text)):
        whole = seal(content)
        for bit in range(8 * len(whole)):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            with pytest.raises(DataLossError, match="'m' does not have the checksum"):
                opened(bytes(damaged), "m")


def test_a_message_that_another_program_wrote_again_is_read() -> None:
    """It has our fields behind its own, as they were."""
    sealed = seal_message(b"\x08\x01")
    ours = sealed.replace(b"\x08\x01", b"")
    assert open_message(b"\x08\x02" + ours, "m") == b"\x08\x02"
