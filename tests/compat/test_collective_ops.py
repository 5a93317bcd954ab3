"""``tensorflow.python.ops.collective_ops``: members on two devices, with keys that the program gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.ops import collective_ops as ops

X = [np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([[5.0, 6.0], [7.0, 9.0]], np.float32)]


def met(build: Any) -> list[Any]:
    """What two members get, each of which builds its own on a device of its own."""
    with tf.Graph().as_default() as graph:
        members = []
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                members.append(build(tf.constant(X[i]), i))
        with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            found: list[Any] = session.run(members)
            return found


SEND: dict[str, Any] = {"group_size": 2, "group_key": 1, "instance_key": 1}
JOINED = np.concatenate(X)
CASES: dict[str, tuple[Any, Any]] = {
    "all_reduce": (lambda x, i: ops.all_reduce(x, 2, 1, 1), [X[0] + X[1]] * 2),
    "all_reduce of means": (lambda x, i: ops.all_reduce(x, 2, 1, 1, "Add", "Div"), [(X[0] + X[1]) / 2] * 2),
    "all_reduce_v2": (lambda x, i: ops.all_reduce_v2(x, 2, 1, 1, "Max", communication_hint="RING"), [X[1]] * 2),
    "all_gather": (lambda x, i: ops.all_gather(x, 2, 1, 1), [JOINED] * 2),
    "all_gather_v2": (lambda x, i: ops.all_gather_v2(x, 2, 1, 1), [JOINED] * 2),
    "all_to_all_v2": (lambda x, i: ops.all_to_all_v2(x, 2, 1, 1), [np.stack([X[0][i], X[1][i]]) for i in range(2)]),
    "broadcast": (
        lambda x, i: (
            ops.broadcast_recv([2, 2], tf.float32, **SEND) if i else ops.broadcast_send(x, [2, 2], tf.float32, **SEND)
        ),
        [X[0]] * 2,
    ),
    "broadcast_v2": (
        lambda x, i: ops.broadcast_send_v2(x, 2, 1, 1) if i else ops.broadcast_recv_v2([2, 2], tf.float32, 2, 1, 1),
        [X[1]] * 2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_members_get_what_numpy_gets(case: str) -> None:
    build, expected = CASES[case]
    for found, wanted in zip(met(build), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: ops.all_reduce(x, 1, 1, 1),
        lambda x: ops.all_gather(x, 1, 1, 1),
        lambda x: ops.broadcast_send(x, [2, 2], tf.float32, 1, 1, 1),
        lambda x: ops.broadcast_recv([2, 2], tf.float32, 1, 1, 1),
    ],
)
def test_a_group_of_one_is_refused_where_the_graph_is_built(build: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="at least 2, got 1"):
        build(tf.constant(X[0]))
