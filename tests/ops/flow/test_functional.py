"""Branches and loops of ``Defun`` functions, remote calls and symbolic gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.ops.flow.functional import For, Gradient, If, While, remote_call, symbolic_gradient
from tests.rows import for_each


def run(fetches: Any, feeds: Any = None) -> Any:
    with acts.Session(graph=acts.get_default_graph(), config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        return session.run(fetches, feeds)


def product() -> Any:
    return acts.flow.Defun(acts.float32, acts.float32)(lambda x, y: (x * y + 1.0, x - y))


def test_a_remote_call_runs_on_its_target() -> None:
    found = remote_call(target="/cpu:1", args=[2.0, 3.0], Tout=[acts.float32, acts.float32], f=product())
    assert (found[0].op.type, found[0].op.device) == ("RemoteCall", "/device:CPU:1")
    assert run(found) == [7.0, -1.0]
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.placement()["RemoteCall"].device.endswith("CPU:1")


def test_the_target_may_be_a_constant_tensor_but_must_be_known() -> None:
    target = acts.constant("/device:CPU:0")
    found = remote_call(target, [2.0], [acts.float32], acts.flow.Defun(acts.float32)(lambda x: x + 1.0))
    assert run(found) == [3.0]
    with pytest.raises(ValueError, match="target must be known"):
        remote_call(acts.placeholder(acts.string, []), [2.0], [acts.float32], product())
    with pytest.raises(ValueError, match="Tout says"):
        remote_call("/cpu:0", [2.0, 3.0], [acts.float32], product())


def test_the_gradient_of_a_remote_call_is_computed_there() -> None:
    a, b = acts.constant(2.0), acts.constant(3.0)
    found = remote_call("/cpu:1", [a, b], [acts.float32, acts.float32], product())
    grads = acts.gradients(found[0], [a, b])
    assert [g.op.device for g in grads] == ["/device:CPU:1", "/device:CPU:1"]
    assert run(grads) == [3.0, 2.0]


def test_if_calls_one_of_two_functions() -> None:
    p = acts.placeholder(acts.int32, [])
    other = acts.flow.Defun(acts.float32, acts.float32)(lambda x, y: (x, y))
    found = If(p, [2.0, 3.0], product(), other)
    assert found[0].op.name == "If/Merge"
    assert run(found, {p: 3}) == [7.0, -1.0]
    assert run(found, {p: 0}) == [2.0, 3.0]


def test_if_takes_strings_and_tensors_that_may_be_empty_for_a_predicate() -> None:
    one, two = (
        (acts.flow.Defun(acts.float32)(lambda x, k=None, v=v: x) for v in ())
        if ()
        else (acts.flow.Defun(acts.float32)(lambda x: x + 1.0), acts.flow.Defun(acts.float32)(lambda x: x + 2.0))
    )
    word = acts.placeholder(acts.string, [])
    items = acts.placeholder(acts.float32, [None])
    found = [If(word, [0.0], one, two)[0], If(items, [0.0], one, two)[0]]
    assert run(found, {word: b"", items: [1.0]}) == [2.0, 1.0]
    assert run(found, {word: b"a", items: []}) == [1.0, 2.0]


def test_while_repeats_a_function_and_lets_shapes_change() -> None:
    goes_on = acts.flow.Defun(acts.int32, acts.float32)(lambda i, x: i < 5)
    grows = acts.flow.Defun(acts.int32, acts.float32)(lambda i, x: (i + 1, acts.concat([x, x], 0)))
    found = While([acts.constant(0), [1.0]], goes_on, grows)
    assert [t.shape.rank for t in found] == [0, None]
    assert run(found)[1].shape == (32,)
    with pytest.raises(ValueError, match="gives 1 values for 2"):
        While([0, [1.0]], goes_on, acts.flow.Defun(acts.int32, acts.float32)(lambda i, x: i + 1))


@for_each(
    "start, limit, delta, expected",
    [(0, 5, 1, 10.0), (5, 0, -2, 9.0), (0, 0, 1, 0.0), (0, 5, 0, 0.0)],
    ids=["up", "down", "none", "still"],
)
def test_for_counts_up_and_down(start: int, limit: int, delta: int, expected: float) -> None:
    body = acts.flow.Defun(acts.int32, acts.float32)(lambda i, x: x + acts.cast(i, acts.float32))
    (total,) = For(start, limit, delta, [0.0], body)
    assert run(total) == expected


def test_a_symbolic_gradient_takes_the_gradients_of_the_results() -> None:
    f = product()
    found = symbolic_gradient([2.0, 3.0, 1.0, 10.0], [acts.float32, acts.float32], f)
    np.testing.assert_allclose(run(found), [13.0, -8.0])
    assert run(Gradient([2.0, 3.0, 1.0, 0.0], f)) == [3.0, 2.0]
    with pytest.raises(ValueError, match="2 results, got 1 gradients"):
        symbolic_gradient([2.0, 3.0, 1.0], [acts.float32, acts.float32], f)
    with pytest.raises(TypeError, match="arguments must be declared"):
        Gradient([2.0, 1.0], acts.flow.Defun()(lambda x: x * 2.0))


def test_a_symbolic_gradient_gives_zeros_where_nothing_depends() -> None:
    f = acts.flow.Defun(acts.float32, acts.float32)(lambda x, y: x * 2.0)
    assert run(symbolic_gradient([2.0, 3.0, 1.0], [acts.float32, acts.float32], f)) == [2.0, 0.0]


def test_a_symbolic_gradient_of_a_function_that_captures_is_refused() -> None:
    c = acts.constant(2.0)
    f = acts.flow.Defun(acts.float32)(lambda x: x * c)
    with pytest.raises(ValueError, match="pass it as an argument"):
        symbolic_gradient([2.0, 1.0], [acts.float32], f)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="one that Defun made"):
        remote_call("/cpu:0", [2.0], [acts.float32], lambda x: x)  # type: ignore[arg-type]
