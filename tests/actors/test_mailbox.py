from __future__ import annotations

import threading

import pytest

from actorsession.actors.mailbox import Mailbox


def filled(limit: int, in_flight: int) -> Mailbox[str]:
    mailbox: Mailbox[str] = Mailbox(limit)
    mailbox.in_flight = in_flight
    return mailbox


@pytest.mark.parametrize(
    ("in_flight", "queued", "posted", "full"),
    [
        (0, 0, 0, False),
        (2, 0, 0, False),
        (3, 0, 0, True),
        (1, 2, 0, True),
        (1, 1, 1, True),
        (0, 0, 3, True),
        (1, 1, 0, False),
    ],
)
def test_messages_in_flight_queued_and_posted_share_room(in_flight: int, queued: int, posted: int, full: bool) -> None:
    mailbox = filled(3, in_flight)
    for _ in range(queued):
        mailbox.push("q")
    assert all(mailbox.reserve() for _ in range(posted))
    assert mailbox.full is full


def test_those_who_wait_are_let_in_first_come_first_served_as_room_comes() -> None:
    mailbox = filled(2, 2)
    for name in "abc":
        mailbox.wait_for_space(name)
    mailbox.release()
    assert (list(mailbox.queue), mailbox.waiting) == (["a"], 2)
    mailbox.queue.popleft()
    mailbox.admit()
    assert (list(mailbox.queue), mailbox.waiting) == (["b"], 1)


def test_one_who_gives_up_leaves_the_order_of_the_others() -> None:
    mailbox = filled(1, 1)
    for name in "abc":
        mailbox.wait_for_space(name)
    mailbox.leave("b")
    mailbox.leave("b")
    assert mailbox.drain() == ["a", "c"]
    assert (mailbox.waiting, len(mailbox.queue)) == (0, 0)


def test_what_is_left_is_emptied_in_the_order_of_arrival() -> None:
    """Who waits for space has come after all that have some."""
    mailbox = filled(3, 0)
    for name in "abc":
        mailbox.push(name)
    mailbox.wait_for_space("d")
    assert mailbox.drain() == ["a", "b", "c", "d"]


def test_a_reservation_is_refused_when_full_and_given_back_on_arrival() -> None:
    mailbox = filled(1, 0)
    assert mailbox.reserve()
    assert not mailbox.reserve()
    mailbox.arrive()
    assert mailbox.reserve()


def test_reservations_of_many_threads_never_exceed_the_limit() -> None:
    mailbox = filled(50, 0)
    granted: list[bool] = []
    threads = [threading.Thread(target=lambda: granted.extend(mailbox.reserve() for _ in range(20))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 50


@pytest.mark.parametrize("limit", [0, -1])
def test_a_mailbox_without_room_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1 message, got a limit of {limit}"):
        Mailbox(limit)
