"""Groups: who completes them, in which order, and who may not join."""

from __future__ import annotations

import pytest

from actorsession.errors import InvalidArgumentError, OpError
from actorsession.runtime.collective.groups import Group, GroupTable, Member


def member(task: int, device: int = 0, incarnation: int = 7) -> Member:
    return Member(f"/job:worker/replica:0/task:{task}/device:CPU:{device}", incarnation)


class Joiner:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Group | OpError] = []

    def __call__(self, found: Group | OpError) -> None:
        self.told.append(found)

    @property
    def group(self) -> Group:
        [found] = self.told
        assert isinstance(found, Group)
        return found

    @property
    def error(self) -> OpError:
        [found] = self.told
        assert isinstance(found, InvalidArgumentError)
        return found


def test_members_are_told_when_the_last_has_joined_in_the_order_of_tasks_and_devices() -> None:
    table, joiners = GroupTable(), [Joiner() for _ in range(3)]
    coming = [member(10), member(2, 1), member(2)]
    for joiner, who in zip(joiners[:2], coming, strict=False):
        table.join(1, 3, who, joiner)
        assert not joiner.told
    table.join(1, 3, coming[2], joiners[2])
    assert [j.group.members for j in joiners] == 3 * [(coming[2], coming[1], coming[0])]
    assert joiners[0].group.ranks[coming[1].device] == 1


def test_a_member_joins_repeatedly_and_is_counted_once() -> None:
    table, first, second, third = GroupTable(), Joiner(), Joiner(), Joiner()
    table.join(1, 2, member(0), first)
    table.join(1, 2, member(0), second)
    assert not first.told
    table.join(1, 2, member(1), third)
    assert first.group is second.group is third.group
    again = Joiner()
    table.join(1, 2, member(1), again)
    assert again.group is first.group


def test_groups_of_other_keys_are_apart() -> None:
    table, one, two = GroupTable(), Joiner(), Joiner()
    table.join(1, 2, member(0), one)
    table.join(2, 2, member(1), two)
    assert not one.told
    assert not two.told


def test_who_has_gone_is_not_told_and_no_member() -> None:
    table, gone, last = GroupTable(), Joiner(), Joiner()
    table.join(1, 2, member(0), gone)
    table.forget(gone)
    table.join(1, 2, member(1), last)
    assert not gone.told
    assert not last.told


def test_a_device_that_comes_back_forms_the_group_anew() -> None:
    table = GroupTable()
    for task in range(2):
        table.join(1, 2, member(task), Joiner())
    back, other = Joiner(), Joiner()
    table.join(1, 2, member(1, incarnation=8), back)
    assert not back.told
    table.join(1, 2, member(0), other)
    assert back.group.members == (member(0), member(1, incarnation=8))


@pytest.mark.parametrize("complete", [False, True])
def test_members_that_differ_in_size_all_fail(complete: bool) -> None:
    table, first, odd = GroupTable(), Joiner(), Joiner()
    table.join(1, 2, member(0), first)
    if complete:
        table.join(1, 2, member(1), Joiner())
    table.join(1, 3, member(1), odd)
    said = f"{member(0).device} has 2, {member(1).device} has 3"
    assert said in odd.error.message
    if not complete:
        assert said in first.error.message
        assert first.error is not odd.error


def test_a_stranger_does_not_join_a_complete_group() -> None:
    table, stranger = GroupTable(), Joiner()
    for task in range(2):
        table.join(1, 2, member(task), Joiner())
    table.join(1, 2, member(2), stranger)
    assert "group 1 is complete with" in stranger.error.message
    assert member(2).device in stranger.error.message
