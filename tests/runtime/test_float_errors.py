"""numpy's error state around kernels: ignored within, as it was behind."""

from __future__ import annotations

import contextvars

import numpy as np
import pytest

from actorsession.runtime import float_errors
from actorsession.runtime.float_errors import FLOAT_ERRORS, IGNORED, ErrorState, find_error_state
from tests.rows import for_each

IGNORING = dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


def not_found(monkeypatch: pytest.MonkeyPatch) -> tuple[ErrorState, object]:
    """What is used with a numpy that keeps its state elsewhere."""
    with monkeypatch.context() as patch:
        patch.setattr(contextvars, "copy_context", dict)
        return find_error_state()


@for_each("found", [True, False])
def test_errors_are_ignored_until_the_state_is_reset(found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    state, ignored = (FLOAT_ERRORS, IGNORED) if found else not_found(monkeypatch)
    with np.errstate(all="raise"):
        outside = np.geterr()
        before = state.set(ignored)
        assert np.geterr() == IGNORING
        assert np.isinf(np.float32(1) / np.float32(0))
        state.reset(before)
        assert np.geterr() == outside
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)


def test_blocks_may_be_nested_and_what_a_kernel_sets_ends_with_its_block() -> None:
    outside = np.geterr()
    first = FLOAT_ERRORS.set(IGNORED)
    second = FLOAT_ERRORS.set(IGNORED)
    np.seterr(all="raise")
    FLOAT_ERRORS.reset(second)
    assert np.geterr() == IGNORING
    FLOAT_ERRORS.reset(first)
    assert np.geterr() == outside


def test_this_numpy_keeps_its_state_in_a_context_variable() -> None:
    assert not isinstance(FLOAT_ERRORS, float_errors._Blocks), "each step takes 2 us longer"
