"""Names and versions of living sessions: who may have one, and when it is free again."""

from __future__ import annotations

import gc

import pytest

from actorsession.config import SessionMetadata
from actorsession.errors import InvalidArgumentError
from actorsession.runtime.session_names import SessionNames, check_version


class Living:
    """What has a name, as far as ``SessionNames`` looks at it."""

    def __init__(self) -> None:
        self.closed = False


@pytest.fixture
def names() -> SessionNames[Living]:
    return SessionNames()


def named(name: str = "model", version: int = 1) -> SessionMetadata:
    return SessionMetadata(name=name, version=version)


def test_a_name_with_a_version_belongs_to_one_living_session(names: SessionNames[Living]) -> None:
    holder = Living()
    names.add(named(), holder)
    with pytest.raises(InvalidArgumentError, match="'model' with version 1 lives already"):
        names.check(named())
    names.check(named(version=2))
    names.check(named("other"))


def test_it_is_free_once_its_session_is_closed(names: SessionNames[Living]) -> None:
    holder = Living()
    names.add(named(), holder)
    holder.closed = True
    names.check(named())


def test_it_is_free_once_its_session_is_gone(names: SessionNames[Living]) -> None:
    names.add(named(), Living())
    gc.collect()
    names.check(named())


def test_a_session_may_have_the_name_of_the_one_that_it_replaces(names: SessionNames[Living]) -> None:
    holder, newer = Living(), Living()
    names.add(named(), holder)
    names.check(named(), lambda other: other is holder)
    names.add(named(), newer)
    holder.closed = True
    with pytest.raises(InvalidArgumentError, match="lives already"):
        names.check(named())


def test_sessions_without_a_name_are_never_in_each_others_way(names: SessionNames[Living]) -> None:
    one, other = Living(), Living()
    for session in (one, other):
        names.check(None)
        names.add(None, session)


def test_a_version_is_not_negative(names: SessionNames[Living]) -> None:
    for check in (names.check, check_version):
        with pytest.raises(InvalidArgumentError, match="at least 0, got -5 for 'model'"):
            check(named(version=-5))
    check_version(None)
    check_version(named(version=0))
