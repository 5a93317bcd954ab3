from __future__ import annotations

import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.rpc.liveness.lease import Lease


def test_a_peer_that_is_silent_for_the_lease_is_lost_and_not_a_beat_before() -> None:
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    lease.look(1.0, received=10, sent=0)
    lost = [lease.look(now, received=10, sent=0).lost for now in (2.0, 3.0, 4.0, 5.0, 6.0)]
    assert lost == [False, False, False, False, True]


def test_a_peer_that_never_said_anything_is_lost_too() -> None:
    lease = Lease(beat=1.0, lease=3.0, now=0.0)
    looks = [lease.look(float(now), received=0, sent=now) for now in range(1, 4)]
    assert [look.lost for look in looks] == [False, False, True]


def test_bytes_of_an_unfinished_frame_keep_it_alive() -> None:
    lease = Lease(beat=1.0, lease=2.0, now=0.0)
    assert not any(lease.look(float(n), received=n, sent=0).lost for n in range(1, 50))


def test_the_silence_is_counted_from_the_look_that_saw_the_last_bytes() -> None:
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    lease.look(1.0, received=1, sent=0)
    assert lease.look(2.0, received=1, sent=0).silence == 1.0
    assert lease.look(3.0, received=2, sent=0).silence == 0.0


def test_a_beat_is_due_only_if_nothing_else_was_sent() -> None:
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    sent = [0, 2, 3, 4, 4, 5]  # two of them are the beats that were due
    due = [lease.look(float(i), received=i, sent=count).beat_due for i, count in enumerate(sent)]
    assert due == [True, False, False, False, True, True]


@pytest.mark.parametrize("stall", [2.5, 6.0, 3600.0])
def test_time_in_which_we_stood_still_ourselves_does_not_count(stall: float) -> None:
    """1. Our loop is held for a while: the next look comes late. 2. What the peer sent meanwhile is not read yet, so
    nothing new has come. 3. The peer has a whole lease from there on, less the silence before."""
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    lease.look(1.0, received=1, sent=0)
    lease.look(2.0, received=1, sent=0)
    look = lease.look(3.0 + stall, received=1, sent=0)
    assert (look.lost, look.silence) == (False, 2.0)
    later = [lease.look(3.0 + stall + n, received=1, sent=0).lost for n in (1, 2, 3)]
    assert later == [False, False, True]


def test_what_came_while_we_stood_still_is_read_before_the_peer_is_given_up() -> None:
    """1. The peer is silent for almost a lease, then gives a sign; by then our loop is held. 2. The look that comes
    late finds nothing read yet, and waits; the next one sees the sign."""
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    looks = [lease.look(float(now), received=0, sent=now) for now in (1, 2, 3, 4)]
    looks.append(lease.look(9.0, received=0, sent=5))
    assert (looks[-1].silence, [look.lost for look in looks]) == (5.0, [False] * 5)
    assert not lease.look(10.0, received=1, sent=6).lost


def test_a_loop_that_is_always_late_gives_a_silent_peer_up_all_the_same() -> None:
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    looks = [lease.look(3.0 * now, received=0, sent=now) for now in range(1, 7)]
    assert [look.lost for look in looks] == [False] * 5 + [True]


def test_small_delays_of_our_timers_do_count() -> None:
    lease = Lease(beat=1.0, lease=5.0, now=0.0)
    lease.look(1.0, received=1, sent=0)
    looks = [lease.look(1.0 + 1.4 * n, received=1, sent=0) for n in range(1, 5)]
    assert [look.lost for look in looks] == [False, False, False, True]


@pytest.mark.parametrize(("beat", "lease"), [(0.0, 5.0), (-1.0, 5.0), (1.0, 1.9), (5.0, 1.0)])
def test_a_lease_shorter_than_two_beats_is_refused(beat: float, lease: float) -> None:
    told = "at least two beats" if beat > 0 else f"a beat is more than 0 seconds, got {beat}"
    with pytest.raises(InvalidArgumentError, match=told):
        Lease(beat=beat, lease=lease, now=0.0)
