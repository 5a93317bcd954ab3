"""What servers and sessions remember of their last steps and errors."""

from __future__ import annotations

import time
from typing import Any

import pytest

from actorsession.config import ErrorRecord, PartRecord, StepRecord, TransferStats, merge_records, without_fragments
from actorsession.errors import CancelledError, InvalidArgumentError, NotFoundError, UnavailableError
from actorsession.runtime.step_log import ErrorLog, Part, StepLog, Transfers, Whole

TASK = "/job:worker/replica:0/task:0"
HERE, THERE = f"{TASK}/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"


def key(source: str, target: str, edge: str) -> str:
    return f"{source};{1:016x};{target};{edge};0:0"


KEY = key(THERE, HERE, "edge_1_x:0")


def whole(step_id: int, began: float, ended: float, *, session: str = "s", error: str = "") -> Whole:
    return Whole(step_id, session, "run", ("x:0",), ("y:0",), ("train",), began, ended, error)


def part(step_id: int, began: float, ended: float, *transfers: Transfers, **fields: Any) -> Part:
    return Part(step_id, "s", (HERE,), began, ended, transfers=transfers, **fields)


class TestTheLastSteps:
    def test_come_in_the_order_of_their_ends(self) -> None:
        log = StepLog(TASK)
        log.wholes += [whole(1, 10.0, 13.0), whole(2, 11.0, 12.0)]
        assert [step.step_id for step in log.last(10)] == [2, 1]

    def test_are_at_most_as_many_as_asked_for(self) -> None:
        log = StepLog(TASK)
        log.wholes += [whole(number, number, number + 1.0) for number in range(1, 6)]
        assert [step.step_id for step in log.last(2)] == [4, 5]
        assert log.last(0) == []

    def test_that_were_faster_can_be_left_out(self) -> None:
        log = StepLog(TASK)
        log.wholes += [whole(1, 10.0, 10.5), whole(2, 11.0, 11.01), whole(3, 12.0, 12.2)]
        assert [step.step_id for step in log.last(10, slower_than=0.1)] == [1, 3]

    def test_of_one_session_can_be_chosen(self) -> None:
        log = StepLog(TASK)
        log.wholes += [whole(1, 1.0, 2.0), whole(2, 3.0, 4.0, session="other")]
        assert [step.step_id for step in log.last(10, session="other")] == [2]

    def test_have_names_error_and_wall_clock(self) -> None:
        log, now, wall = StepLog(TASK), time.monotonic(), time.time()
        log.wholes.append(whole(1, now - 2.0, now - 1.5, error="NotFoundError: no file"))
        (step,) = log.last(1)
        assert step.began == pytest.approx(wall - 2.0, abs=0.5)
        assert step.took == pytest.approx(0.5)
        assert (step.feeds, step.fetches, step.error) == (("x:0",), ("y:0", "train"), "NotFoundError: no file")

    def test_that_run_come_last_if_asked_for(self) -> None:
        log = StepLog(TASK)
        log.wholes.append(whole(1, 1.0, 2.0))
        log.running.append(lambda: [whole(2, time.monotonic() - 5.0, 0.0)])
        assert [step.step_id for step in log.last(10)] == [1]
        done, under_way = log.last(10, running=True)
        assert not done.is_running
        assert under_way.is_running
        assert [step.step_id for step in log.last(10, slower_than=4.0, running=True)] == [2]

    def test_are_not_those_of_which_only_a_part_has_ended(self) -> None:
        log = StepLog(TASK)
        log.parts.append(part(1, 1.0, 2.0))
        log.running.append(lambda: [whole(1, 1.0, 0.0)])
        assert log.last(10) == []
        (step,) = log.last(10, running=True)
        assert step.is_running
        assert step.parts

    def test_are_dropped_when_there_are_more_than_are_kept(self) -> None:
        log = StepLog(TASK, kept=3)
        log.wholes += [whole(number, number, number + 1.0) for number in range(8)]
        log.parts.append(part(7, 7.1, 7.9))
        assert len(log.wholes) >= log.full
        log.trim()
        assert [step.step_id for step in log.last(10)] == [5, 6, 7]
        assert log.last(1)[0].parts


class TestThePartsOfAStep:
    def test_belong_to_the_whole_of_the_same_server(self) -> None:
        log = StepLog(TASK)
        log.wholes.append(whole(1, 10.0, 13.0))
        log.parts += [part(1, 10.5, 12.0), part(2, 20.0, 21.0)]
        one, other = log.last(10)
        assert one.took == pytest.approx(3.0)
        assert [p.device for p in one.parts] == [HERE]
        assert one.is_whole
        assert not other.is_whole
        assert other.took == pytest.approx(1.0)

    def test_waited_for_what_the_thread_did_not_work(self) -> None:
        log = StepLog(TASK)
        log.parts.append(part(1, 10.0, 13.5, paused=True, worked=1.5))
        ((only,),) = [step.parts for step in log.last(1)]
        assert only.waited == pytest.approx(2.0)
        assert only.ended - only.began == pytest.approx(3.5)

    def test_did_not_wait_while_work_was_in_the_kernel_pool(self) -> None:
        log = StepLog(TASK)
        log.parts.append(part(1, 10.0, 14.0, paused=True, worked=0.5, pooled=3.5))
        assert log.last(1)[0].parts[0].waited == pytest.approx(0.0)

    def test_that_the_thread_did_not_leave_did_not_wait(self) -> None:
        log = StepLog(TASK)
        log.parts.append(part(1, 10.0, 14.0))
        assert log.last(1)[0].parts[0].waited == 0.0

    def test_have_the_transfers_that_were_seen(self) -> None:
        log = StepLog(TASK)
        away = key(HERE, THERE, "edge_2_y:0")
        within = key(HERE, f"{TASK}/device:CPU:1", "edge_3_z:0")
        seen: list[Transfers] = [
            (10.1, "send", (away,), (16,)),
            (10.2, "local", (within,), (4,)),
            (10.5, "recv", (KEY,), (8,)),
        ]
        log.parts.append(part(1, 10.0, 11.0, *seen))
        transfers = log.last(1)[0].transfers
        assert [(t.kind, t.device, t.nbytes) for t in transfers] == [
            ("send", HERE, 16),
            ("send", HERE, 4),
            ("recv", f"{TASK}/device:CPU:1", 4),
            ("recv", HERE, 8),
        ]

    def test_are_found_by_the_number_of_the_step(self) -> None:
        log = StepLog(TASK)
        log.parts += [part(1, 1.0, 2.0), part(2, 2.0, 3.0)]
        assert [step.step_id for step in log.of_steps([2, 9])] == [2]


class TestRecords:
    def record(self, **fields: object) -> StepRecord:
        given = {"step_id": 7, "session": "s", "task": TASK, "began": 100.0, "took": 2.0}
        return StepRecord(**(given | fields))  # type: ignore[arg-type]

    def test_survive_the_wire(self) -> None:
        step = self.record(
            kind="partial",
            error="x",
            feeds=("a:0",),
            fetches=("b:0",),
            parts=(PartRecord(HERE, 100.0, 101.0, 0.5),),
            transfers=(TransferStats("send", KEY, THERE, 100.5, 8),),
            left_out=3,
            trace_id="f" * 32,
        )
        assert StepRecord.from_wire(step.to_wire()) == step
        error = ErrorRecord(1.0, "NotFoundError", "no", TASK, "s", 7, "step")
        assert ErrorRecord.from_wire(error.to_wire()) == error

    @pytest.mark.parametrize("wire", [None, [], [1] * 13, ["x"] * 13, [1, "s", TASK, "walk", 1.0, 1.0, *[""] * 7]])
    def test_refuse_another_form(self, wire: object) -> None:
        with pytest.raises(InvalidArgumentError, match="invalid record of a step"):
            StepRecord.from_wire(wire)
        with pytest.raises(InvalidArgumentError, match="invalid record of an error"):
            ErrorRecord.from_wire(wire)

    def test_of_several_tasks_become_one(self) -> None:
        own = self.record(fetches=("y:0",), parts=(PartRecord(HERE, 100.0, 101.0, 0.0),))
        other = self.record(
            task="other", began=99.0, took=9.0, error="late", parts=(PartRecord(THERE, 99.0, 108.0, 8.0),)
        )
        (merged,) = merge_records([other, own])
        assert (merged.task, merged.began, merged.took, merged.error) == (TASK, 100.0, 2.0, "")
        assert [p.device for p in merged.parts] == [HERE, THERE]

    def test_of_parts_alone_are_as_long_as_these(self) -> None:
        (merged,) = merge_records(
            [self.record(began=100.0, took=2.0), self.record(began=101.0, took=4.0, error="late")]
        )
        assert (merged.began, merged.took, merged.error) == (100.0, 5.0, "late")

    def test_of_a_worker_alone_are_left_out_where_the_master_has_answered(self) -> None:
        """Its step began after the master's answer; that of another session has a master that is silent."""
        whole = self.record(step_id=1, fetches=("y:0",))
        part, other = self.record(step_id=2), self.record(step_id=3, session="of a silent master")
        assert without_fragments([whole, part, other]) == [whole, other]

    def test_can_be_drawn_as_a_trace(self) -> None:
        step = self.record(parts=(PartRecord(HERE, 100.0, 102.0, 0.5), PartRecord(THERE, 100.0, 101.0, 0.0)))
        stats = step.step_stats()
        assert [(n.node, n.device, n.start, n.end) for n in stats.nodes] == [
            ("waited", HERE, 100.0, 100.5),
            ("step 7", HERE, 100.5, 102.0),
            ("step 7", THERE, 100.0, 101.0),
        ]


class TestErrors:
    def test_are_remembered_with_their_origin(self) -> None:
        errors = ErrorLog(TASK)
        errors.note(NotFoundError("no file", task="/job:ps/replica:0/task:0"), session="s", step_id=3)
        errors.note("lost", subject="link")
        first, second = errors.last()
        assert (first.code, first.message, first.task, first.session, first.step_id) == (
            "NotFoundError",
            "no file",
            "/job:ps/replica:0/task:0",
            "s",
            3,
        )
        assert (second.code, second.subject, second.task) == ("UnavailableError", "link", TASK)

    def test_are_the_last_hundred_and_all_are_counted(self) -> None:
        errors = ErrorLog(TASK)
        for number in range(150):
            errors.note(UnavailableError(f"no {number}"))
        assert [e.message for e in errors.last(2)] == ["no 148", "no 149"]
        assert len(errors.last(1000)) == 100
        assert errors.counts == {"UnavailableError": 150}

    def test_that_follow_from_others_are_left_out_and_cancellations_are_counted(self) -> None:
        errors = ErrorLog(TASK)
        errors.note(CancelledError("elsewhere", derived=True))
        errors.note(CancelledError("given up"))
        assert errors.last() == []
        assert errors.counts == {"CancelledError": 1}
