from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from actorsession.messages import Beat, Call, Cancel, Done, Reply, Tell


def test_envelopes_of_different_kinds_are_never_equal() -> None:
    envelopes = [Reply(1, Done()), Cancel(1), Beat(), Tell("t", Done()), Call(1, "t", None, Done())]
    assert len(set(envelopes)) == len(envelopes)
    assert Cancel(1) == Cancel(1)


def test_an_envelope_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Cancel(1).call_id = 2  # type: ignore[misc]
