"""Random programs of nested loops and conditionals of single operations, against Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import actorsession as acts
from actorsession import Operation, Tensor
from tests.ops.raw_control import raw_cond, raw_while
from tests.rows import for_each

VARIABLES = 3
MODULUS = 97
Block = list[tuple[Any, ...]]


def random_block(draw: random.Random, depth: int) -> Block:
    """Statements over a few variables: sums, products, branches and loops."""
    block: Block = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["add", "multiply", "set", "if", "while"] if depth else ["add", "set"])
        to, one, other = (draw.randrange(VARIABLES) for _ in range(3))
        if kind == "if":
            block.append(
                (kind, one, draw.randrange(MODULUS), random_block(draw, depth - 1), random_block(draw, depth - 1))
            )
        elif kind == "while":
            block.append((kind, one, draw.randint(1, 4), random_block(draw, depth - 1)))
        elif kind == "set":
            block.append((kind, to, draw.randrange(MODULUS)))
        else:
            block.append((kind, to, one, other))
    return block


def interpreted(block: Block, values: Sequence[int]) -> list[int]:
    """What the statements do."""
    values = list(values)
    for statement in block:
        match statement:
            case "add", to, one, other:
                values[to] = (values[one] + values[other]) % MODULUS
            case "multiply", to, one, other:
                values[to] = (values[one] * values[other]) % MODULUS
            case "set", to, number:
                values[to] = number
            case "if", one, number, yes, no:
                values = interpreted(yes if values[one] < number else no, values)
            case "while", one, most, inner:
                count, limit = 0, values[one] % most
                while count < limit:
                    values = interpreted(inner, values)
                    count += 1
    return values


def built(block: Block, values: Sequence[Tensor]) -> list[Tensor]:
    """The statements as operations."""
    values = list(values)
    for statement in block:
        match statement:
            case "add", to, one, other:
                values[to] = (values[one] + values[other]) % MODULUS
            case "multiply", to, one, other:
                values[to] = (values[one] * values[other]) % MODULUS
            case "set", to, number:
                values[to] = acts.constant(number)
            case "if", one, number, yes, no:
                values = raw_cond(values[one] < number, partial(built, yes), partial(built, no), values)
            case "while", one, most, inner:
                values = _loop(values, one, most, inner)
    return values


def _loop(values: list[Tensor], one: int, most: int, inner: Block) -> list[Tensor]:
    def body(given: Sequence[Tensor], _: Sequence[Tensor]) -> list[Tensor]:
        return [given[0] + 1, *built(inner, given[1:])]

    start = [values[one] * 0, *values]
    parallel = 1 + one * 4
    return raw_while(
        lambda given, limit: given[0] < limit[0], body, start, [values[one] % most], parallel_iterations=parallel
    )[1:]


@for_each("devices", [1, 3])
@for_each("seed", range(25))
def test_a_random_program_gives_what_python_gives(seed: int, devices: int) -> None:
    draw = random.Random(seed)
    block = random_block(draw, 3)

    def anywhere(op: Operation) -> str:
        return f"/cpu:{draw.randrange(devices)}"

    with acts.Graph().as_default(), acts.device(anywhere):
        fed = [acts.placeholder(acts.int32, [], name=f"v{k}") for k in range(VARIABLES)]
        results = [acts.identity(value) for value in built(block, fed)]
        with acts.Session(config=acts.ConfigProto(device_count={"CPU": devices})) as session:
            for _ in range(3):
                given = [draw.randrange(MODULUS) for _ in range(VARIABLES)]
                found = session.run(results, dict(zip(fed, given, strict=True)))
                assert [int(v) for v in found] == interpreted(block, given)
