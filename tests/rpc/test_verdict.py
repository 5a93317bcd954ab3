"""The judgement of a silent peer, by what is seen of its process."""

from __future__ import annotations

import pytest

from actorsession.rpc.liveness.sidecar import Sighting
from actorsession.rpc.liveness.verdict import PATIENCE, LivenessVerdict

LEASE = 5.0


def told(silence: LivenessVerdict, now: float, state: str, cpu: float, turns: int | None) -> str | None:
    """What is found of a peer that was last heard at 0."""
    silence.note(now, Sighting(state, cpu, turns))
    return silence.finding(now, now)


def over(seen: list[tuple[str, float, int | None]]) -> str | None:
    """What is found after some looks, one second apart, of which the first is 2 s after the last beat."""
    silence = LivenessVerdict("process 7", LEASE)
    found = None
    for index, (state, cpu, turns) in enumerate(seen):
        found = told(silence, 2.0 + index, state, cpu, turns)
    return found


def test_a_process_that_uses_the_processor_is_waited_for_however_long_it_takes() -> None:
    assert over([("S", 0.1 + 0.9 * second, 40) for second in range(3600)]) is None


def test_a_process_that_is_ready_to_run_is_waited_for_though_it_gets_no_processor() -> None:
    assert over([("R", 0.1, 40)] * 3600) is None


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_process_is_lost_whatever_it_did_before(state: str) -> None:
    seen: list[tuple[str, float, int | None]] = [("R", float(n), 40) for n in range(6)]
    assert over([*seen, (state, 6.0, 40)]) == "process 7 is stopped (SIGSTOP?)"


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_process_that_has_ended_is_gone_though_somebody_must_still_wait_for_it(state: str) -> None:
    assert over([(state, 1.0, 40)]) == "process 7 is gone"


def test_a_process_that_is_not_there_any_more_is_gone() -> None:
    silence = LivenessVerdict("process 7", LEASE)
    assert told(silence, 2.0, "R", 1.0, 40) is None
    silence.note(3.0, None)
    assert silence.finding(5.0, 5.0) == "process 7 is gone"


def test_a_process_whose_loop_turns_is_cut_off_though_it_is_busy() -> None:
    found = over([("R", float(n), 40 + 2 * n) for n in range(4)])
    assert found == "process 7 runs, so what it sends does not come through"


def test_two_turns_of_the_loop_prove_nothing_because_timers_lie_as_they_like() -> None:
    assert over([("R", 0.0, 40), ("R", 1.0, 42), ("R", 2.0, 42), ("R", 3.0, 42)]) is None


def test_a_loop_that_cannot_be_seen_is_judged_by_the_processor_alone() -> None:
    assert over([("S", float(n), None) for n in range(60)]) is None
    found = over([("S", 1.0, None)] * 60)
    assert found == "process 7 does not answer and uses no processor time"


def test_turns_are_counted_anew_after_a_look_that_could_not_see_them() -> None:
    found = over([("R", 0.0, 40), ("R", 1.0, None), ("R", 2.0, 43), ("R", 3.0, 45)])
    assert found is None
    found = over([("R", 0.0, 40), ("R", 1.0, None), ("R", 2.0, 43), ("R", 3.0, 46)])
    assert found == "process 7 runs, so what it sends does not come through"


def test_a_process_that_neither_turns_nor_works_is_lost_after_some_leases_and_not_before() -> None:
    silence = LivenessVerdict("process 7", LEASE)
    found = {now: told(silence, float(now), "S", 1.0, 40) for now in range(2, 20)}
    end = int(PATIENCE * LEASE)
    assert {now: found[now] for now in range(2, end)} == dict.fromkeys(range(2, end))
    assert found[end] == "process 7 does not answer and uses no processor time"


def test_threads_that_only_wait_for_the_lock_are_not_taken_for_work() -> None:
    """Five of them, each of which wakes every 5 ms and uses 0.2 % of a processor."""
    found = over([("S", 0.01 * second, 40) for second in range(16)])
    assert found == "process 7 does not answer and uses no processor time"


def test_the_patience_with_a_process_counts_from_its_last_work() -> None:
    busy: list[tuple[str, float, int | None]] = [("S", float(n), 40) for n in range(100)]
    rest: list[tuple[str, float, int | None]] = [("S", 99.0, 40)] * int(PATIENCE * LEASE)
    assert over([*busy, *rest]) is None
    found = over([*busy, *rest, *[("S", 99.0, 40)] * int(LEASE)])
    assert found == "process 7 does not answer and uses no processor time"


def test_what_was_seen_before_the_peer_was_heard_again_does_not_count() -> None:
    """
    1. The peer is silent, and its loop turns a little.
    2. It is heard, and then held: the turns of before are not added to those of now.
    """
    silence = LivenessVerdict("process 7", LEASE)
    assert told(silence, 2.0, "S", 1.0, 40) is None
    assert told(silence, 3.0, "S", 1.0, 42) is None
    silence.heard()
    assert told(silence, 4.0, "R", 1.0, 44) is None
    assert told(silence, 5.0, "R", 1.0, 45) is None
    silence.note(6.0, None)
    silence.heard()
    assert told(silence, 7.0, "R", 1.0, 46) is None


def test_nothing_is_found_where_nothing_was_seen() -> None:
    assert LivenessVerdict("process 7", LEASE).finding(100.0, 100.0) is None
