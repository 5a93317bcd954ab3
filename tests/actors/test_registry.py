from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from actorsession.actors import LocalRef, lookup, publish, withdraw
from actorsession.errors import AlreadyExistsError
from tests.actors.kit import Desk, Said, Say, soon

ADDRESS = "inproc://test-master"


@pytest.fixture(autouse=True)
def nothing_stays_published() -> Iterator[None]:
    yield
    withdraw(ADDRESS)


async def test_a_published_actor_is_found_with_the_loop_it_lives_on() -> None:
    desk = Desk()
    publish(ADDRESS, desk.ref)
    found = lookup(ADDRESS)
    assert isinstance(found, LocalRef)
    assert found == desk.ref
    assert found.loop is asyncio.get_running_loop()
    assert await found.ask(Say(text="hi")) == Said(text="hi")


async def test_it_is_found_and_answers_in_another_thread() -> None:
    publish(ADDRESS, Desk().ref)

    def elsewhere() -> Said:
        async def main() -> Said:
            ref = lookup(ADDRESS)
            assert ref is not None
            return await ref.ask(Say(text="across"))

        return asyncio.run(main())

    assert await soon(asyncio.to_thread(elsewhere)) == Said(text="across")


def test_an_unknown_address_finds_nothing() -> None:
    assert lookup("inproc://nobody") is None


async def test_an_address_stands_for_one_actor() -> None:
    desk, other = Desk("first"), Desk("second")
    publish(ADDRESS, desk.ref)
    publish(ADDRESS, desk.ref)
    with pytest.raises(AlreadyExistsError, match=r"stands for actor 'first', it cannot for 'second'"):
        publish(ADDRESS, other.ref)


async def test_a_withdrawn_address_is_free_again() -> None:
    desk, other = Desk(), Desk()
    publish(ADDRESS, desk.ref)
    withdraw(ADDRESS)
    withdraw(ADDRESS)
    assert lookup(ADDRESS) is None
    publish(ADDRESS, other.ref)
    withdraw(ADDRESS, desk.ref)  # came late: the address has another actor now
    assert lookup(ADDRESS) == other.ref


def test_an_actor_whose_loop_is_closed_is_not_found_and_may_be_replaced() -> None:
    async def main() -> None:
        publish(ADDRESS, Desk().ref)

    asyncio.run(main())
    assert lookup(ADDRESS) is None
    publish(ADDRESS, Desk().ref)


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_finds_nothing_of_its_parents() -> None:
    publish(ADDRESS, Desk().ref)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if lookup(ADDRESS) is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert lookup(ADDRESS) is not None
