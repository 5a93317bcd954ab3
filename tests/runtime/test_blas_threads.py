"""The threads of BLAS: which library, one number for the process, and back to what was."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from actorsession.ops import blas
from actorsession.ops.blas import loaded_libraries
from actorsession.runtime.blas_threads import blas_threads, hold_blas_threads, share_blas_threads

pytestmark = pytest.mark.skipif(not loaded_libraries(), reason="numpy's BLAS is no OpenBLAS here")


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    """A number that no test asks for, so that going back to it can be seen."""
    (library, *_) = loaded_libraries()
    before = library.get()
    library.set(4)
    yield
    library.set(before)


def test_the_library_that_numpy_has_loaded_is_found_by_the_process_itself() -> None:
    (library, *_) = loaded_libraries()
    assert "openblas" in library.path
    assert library.get() == 4


def test_a_number_counts_while_somebody_holds_it() -> None:
    held = hold_blas_threads(1)
    assert held is not None
    assert blas_threads() == 1
    del held
    assert blas_threads() == 4


def test_the_last_holder_brings_the_old_number_back() -> None:
    first, second = hold_blas_threads(2), hold_blas_threads(2)
    assert first is second
    del first
    assert blas_threads() == 2
    del second
    assert blas_threads() == 4


def test_another_number_is_logged_once_and_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    held = hold_blas_threads(1)
    with caplog.at_level(logging.WARNING, "actorsession.runtime"):
        others = [hold_blas_threads(3) for _ in range(3)]
    assert blas_threads() == 1
    (record,) = caplog.records
    assert "intra_op_parallelism_threads=3 has no effect" in record.message
    assert "asked for 1" in record.message
    del held, others


def test_another_number_counts_once_the_first_is_let_go() -> None:
    held = hold_blas_threads(1)
    del held
    held = hold_blas_threads(3)
    assert blas_threads() == 3
    del held
    assert blas_threads() == 4


def test_a_library_that_is_not_known_is_said_to_be_unknown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(blas, "_loaded_files", list)
    with caplog.at_level(logging.WARNING, "actorsession.runtime"):
        assert hold_blas_threads(2) is None
    assert "no OpenBLAS is loaded" in caplog.text
    assert blas_threads() is None


def test_a_file_that_is_no_openblas_is_passed_over() -> None:
    assert loaded_libraries(["/nowhere/libopenblas.so", "libc.so.6"]) == []


# -- shares ----------------------------------------------------------------------------------------


def test_the_least_share_counts_while_its_server_lives() -> None:
    first, second = share_blas_threads(3), share_blas_threads(2)
    assert blas_threads() == 2
    del second
    assert blas_threads() == 3
    del first
    assert blas_threads() == 4


def test_what_a_session_asks_for_counts_before_any_share() -> None:
    share = share_blas_threads(1)
    held = hold_blas_threads(3)
    assert blas_threads() == 3
    later = share_blas_threads(2)
    assert blas_threads() == 3
    del held
    assert blas_threads() == 1
    del share, later
    assert blas_threads() == 4
