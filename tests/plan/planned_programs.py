"""Prints what planning makes of random programs: placement, transfers, generated source, words on each node.

``test_hash_seeds`` runs this module in processes with other hash seeds: ``python -m tests.plan.planned_programs``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import actorsession as acts
from actorsession import ops
from tests.ops.raw_control import raw_cond, raw_while
from transports.host import Entropy, Host, on_host

PLACES = (None, None, "/cpu:1", "/cpu:2", "/cpu:3")


class Ones(Entropy):
    """Draws the same incarnation for each device."""

    def randbits(self, k: int) -> int:
        return 1


def value_of(draw: random.Random, values: Sequence[acts.Tensor], depth: int = 0) -> acts.Tensor:
    """A value that one operation, loop or conditional makes of some others."""
    x, y, z = (draw.choice(values) for _ in range(3))
    match draw.randrange(12 if not depth else 9 if depth < 2 else 7):  # those of single operations stay outside
        case 0:
            return x + y
        case 1:
            return ops.tanh(x * y)
        case 2:
            return ops.add_n([x, y, z, x - 1.0])
        case 3:
            return ops.where(x > y, y, z)
        case 4:
            return ops.reduce_sum(ops.stack([x, y, z]), 0)
        case 5:
            return ops.Variable([0.5, 1.5], use_resource=draw.random() < 0.5).value() + y
        case 6:
            with acts.control_dependencies([y, z]):
                return ops.identity(x)
        case 7:
            return ops.cond(ops.reduce_sum(x) > 0, lambda: value_of(draw, [x, y], depth + 1), lambda: y * z)
        case 8:
            return ops.while_loop(
                lambda i, *_: i < 3,
                lambda i, v, w: (i + 1, ops.reshape(value_of(draw, [v, w, z], depth + 1), [2]), v),
                (0, x, y),
            )[1]
        case 9:
            slope = acts.gradients(ops.reduce_sum(x * y), [x, y])
            return slope[0] if slope[0] is not None else z
        case 10:
            made = raw_cond(ops.reduce_sum(x) > 0, lambda v: [v[0] + v[1]], lambda v: [v[0] * v[1]], [x, y])[0]
            return ops.reshape(made, [2])
        case _:
            made = raw_while(
                lambda v, c: ops.reduce_sum(v[0]) < c[0],
                lambda v, c: [v[0] + 1.0, ops.tanh(v[1]) + c[1]],
                [x, y],
                [acts.constant(3.0), z],
            )[1]
            return ops.reshape(made, [2])


def program(number: int) -> str:
    """Everything that is said of a random program's plan."""
    draw = random.Random(number)
    graph = acts.Graph()
    with graph.as_default():
        feeds = [acts.placeholder("float32", [2], name=f"feed{k}") for k in range(3)]
        values: list[acts.Tensor] = list(feeds)
        for _ in range(draw.randrange(2, 14)):
            with acts.device(draw.choice(PLACES)):
                values.append(value_of(draw, values))
    fetches = draw.sample(values, min(3, len(values)))
    config = acts.ConfigProto(device_count={"CPU": 4})
    with on_host(Host(entropy=Ones())), acts.Session(graph=graph, config=config) as session:
        explanation = session.explain(fetches, {feed: [0.0, 0.0] for feed in feeds})
    return f"{explanation.to_json()}\n{explanation}\n{explanation.to_dot()}"


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        sys.stdout.write(f"program {seed}\n{program(seed)}\n")
