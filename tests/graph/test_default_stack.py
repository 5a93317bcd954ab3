"""Stacks of defaults: the innermost counts, and each thread has its own fallback."""

from __future__ import annotations

import threading

import pytest

from actorsession.graph.default_stack import DefaultStack


def test_the_innermost_default_counts() -> None:
    stack: DefaultStack[str] = DefaultStack("test")
    assert stack.get() is None
    with stack.entered("outer"):
        with stack.entered("inner"):
            assert stack.get() == "inner"
        assert stack.get() == "outer"
    assert stack.get() is None


def test_what_was_pushed_is_removed_wherever_it_is() -> None:
    stack: DefaultStack[list[int]] = DefaultStack("test")
    first, second = [1], [1]
    stack.push(first)
    stack.push(second)
    stack.remove(first)
    assert stack.get() is second, "equal is not the same"
    stack.remove(second)
    stack.remove(second)
    assert stack.get() is None


def test_the_fallback_is_made_once_per_thread() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    stack: DefaultStack[object] = DefaultStack("test", make)
    here = stack.get()
    assert stack.get() is here
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(stack.get()))
    thread.start()
    thread.join()
    assert made == [here, *seen]
    assert seen[0] is not here


def test_a_fallback_is_reset_outside_of_blocks_only() -> None:
    stack: DefaultStack[object] = DefaultStack("test", object)
    first = stack.get()
    with stack.entered("block"), pytest.raises(AssertionError, match="inside a block"):
        stack.reset_fallback()
    assert stack.get() is first
    stack.reset_fallback()
    assert stack.get() is not first


def test_what_is_kept_is_the_default_of_all_threads_beneath_what_they_pushed() -> None:
    stack: DefaultStack[object] = DefaultStack("test", object)
    first, second = object(), object()
    stack.keep(first)
    stack.keep(second)
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(stack.get()))
    thread.start()
    thread.join()
    assert seen == [second]
    with stack.entered("block"):
        assert stack.get() == "block"
    stack.remove(second)
    stack.remove(second)
    assert stack.get() is first
    with pytest.raises(AssertionError, match="inside a block"):
        stack.reset_fallback()
    stack.remove(first)
    assert stack.get() not in (first, second)
