"""Random programs of raw loops and conditionals: compiled, node by node on the engine, and in Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import actorsession as acts
from actorsession import Graph, GraphOptions, Operation, OptimizerOptions, Tensor
from actorsession.config import OptLevel
from actorsession.errors import InvalidArgumentError, OpError
from actorsession.extend import DeviceAttributes, DeviceSet, RunSignature
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.device import LOCAL_TASK
from actorsession.plan.control_flow.functionalize import functionalize
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from tests.nodes import make
from tests.ops.raw_control import raw_cond, raw_while
from tests.rows import for_each

VARIABLES = 3
MODULUS = 97
Block = list[tuple[Any, ...]]
CPU = f"{LOCAL_TASK}/device:CPU:0"


class DividedError(Exception):
    """What a division by zero is in Python here."""


def random_block(draw: random.Random, depth: int, divides: list[int]) -> Block:
    """Statements over a few variables: arithmetic, changes of state, branches and loops. ``divides`` holds how many
    divisions there may yet be: with two it would be open which one fails first."""
    block: Block = []
    for _ in range(draw.randint(1, 3)):
        deep = ["if", "if", "while", "while"] if depth else []
        kind = draw.choice(["add", "multiply", "set", "count", "divide", *deep])
        to, one, other = (draw.randrange(VARIABLES) for _ in range(3))
        if kind == "divide":
            kind = kind if divides[0] else "add"
            divides[0] -= kind == "divide"
        if kind == "if":
            inner = [random_block(draw, depth - 1, divides) for _ in range(2)]
            block.append((kind, one, draw.randrange(MODULUS), *inner))
        elif kind == "while":
            inner = [random_block(draw, depth - 1, divides)]
            block.append((kind, one, draw.randint(1, 4), *inner))
        elif kind == "set":
            block.append((kind, to, draw.randrange(MODULUS)))
        else:
            block.append((kind, to, one, other))
    return block


def interpreted(block: Block, values: Sequence[int]) -> list[int]:
    """What the statements do to the values; a change of state changes none."""
    values = list(values)
    for statement in block:
        match statement:
            case "add", to, one, other:
                values[to] = (values[one] + values[other]) % MODULUS
            case "multiply", to, one, other:
                values[to] = (values[one] * values[other]) % MODULUS
            case "divide", to, one, other:
                if not values[other] % 5:
                    raise DividedError
                values[to] = values[one] // (values[other] % 5)
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


def built(block: Block, given: Sequence[Tensor]) -> list[Tensor]:
    """The statements as operations, over the variables and the handle of what is counted, if anything is."""
    values = list(given)
    for statement in block:
        match statement:
            case "add", to, one, other:
                values[to] = (values[one] + values[other]) % MODULUS
            case "multiply", to, one, other:
                values[to] = (values[one] * values[other]) % MODULUS
            case "divide", to, one, other:
                values[to] = values[one] // (values[other] % 5)
            case "count", to, one, _ if values[VARIABLES:]:
                attrs = {"dtype": acts.int32}
                with acts.control_dependencies([make("AssignAddVariableOp", [values[-1], values[one]], attrs)]):
                    values[to] = acts.identity(values[to])
            case "set", to, number:
                values[to] = acts.constant(number)
            case "if", one, number, yes, no:
                taken = values[one] < number
                values[:VARIABLES] = raw_cond(taken, partial(_branch, yes), partial(_branch, no), values)
            case "while", one, most, inner:
                values[:VARIABLES] = _loop(values, one, most, inner)
    return values


def _branch(block: Block, given: Sequence[Tensor]) -> list[Tensor]:
    return built(block, given)[:VARIABLES]


def _loop(values: list[Tensor], one: int, most: int, inner: Block) -> list[Tensor]:
    def body(given: Sequence[Tensor], constants: Sequence[Tensor]) -> list[Tensor]:
        made = built(inner, [*given[1:], *constants[1:]])
        return [given[0] + 1, *made[:VARIABLES]]

    start = [values[one] * 0, *values[:VARIABLES]]
    constants = [values[one] % most, *values[VARIABLES:]]
    return raw_while(lambda v, c: v[0] < c[0], body, start, constants, parallel_iterations=1 + one * 4)[1:]


@for_each("devices", [1, 3])
@for_each("seed", range(25))
def test_a_random_program_gives_what_python_gives(seed: int, devices: int) -> None:
    draw = random.Random(seed)
    block = random_block(draw, 3, [0])

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


def node_by_node() -> acts.ConfigProto:
    """Settings under which nothing is lifted."""
    optimizer = OptimizerOptions(opt_level=OptLevel.L0)
    return acts.ConfigProto(graph_options=GraphOptions(optimizer_options=optimizer))


def outcome(session: acts.Session, fetches: Any, feeds: Any) -> Any:
    """What a run gives, or the error that it ends with."""
    try:
        return [int(value) for value in session.run(fetches, feeds)]
    except InvalidArgumentError as error:
        return error.node, error.source, error.message


def left(graph: Graph, fetches: Sequence[Tensor], feeds: Sequence[Tensor]) -> set[str]:
    """The operation types that a plan has after lifting."""
    nodes = [op.plain for op in graph.get_operations()]
    devices = DeviceSet([DeviceAttributes(name=CPU, device_type="CPU", incarnation=7)])
    placed = Placer(devices).place(nodes)
    names = tuple(t.name for t in feeds), tuple(t.name for t in fetches)
    step = prune(GraphView(nodes), RunSignature(*names, ()))
    lifted, device_of = functionalize(step, {n: placed[n].device if n in placed else CPU for n in step.nodes})
    assert lifted.nodes.keys() == device_of.keys()
    return {node.op for node in lifted.nodes.values()}


@for_each("seed", range(40))
def test_a_random_program_does_the_same_compiled_as_node_by_node(seed: int) -> None:
    draw = random.Random(seed)
    block = random_block(draw, 3, [1])
    with acts.Graph().as_default() as graph:
        total = acts.Variable(0)
        fed = [acts.placeholder(acts.int32, [], name=f"v{k}") for k in range(VARIABLES)]
        made = built(block, [*fed, total.handle])[:VARIABLES]
        results = [acts.identity(value) for value in made]
        read = total.read_value()
        some = draw.sample(results, draw.randint(1, VARIABLES))
        assert left(graph, some, fed).isdisjoint(PRIMITIVES)
        with acts.Session() as compiled, acts.Session(config=node_by_node()) as engine:
            for _ in range(4):
                feeds = {tensor: draw.randrange(MODULUS) for tensor in fed}
                compiled.run(total.initializer)
                engine.run(total.initializer)
                found = outcome(compiled, some, feeds)
                assert found == outcome(engine, some, feeds)
                if isinstance(found, tuple):
                    continue
                assert compiled.run(read) == engine.run(read)
                try:
                    expected = interpreted(block, list(feeds.values()))
                except DividedError:
                    continue  # by what nobody asked for
                assert found == [expected[results.index(tensor)] for tensor in some]


def asked(session: acts.Session, fetches: Any, feeds: Any) -> Any:
    """What a run gives, or the error that it ends with; of what is dead, that something is."""
    try:
        return [None if v is None else v.tolist() for v in session.run(fetches, feeds)]
    except OpError as error:
        return "dead" if "is dead" in error.message else (error.node, error.message)


@for_each("seed", range(25))
def test_whatever_is_asked_for_is_the_same_compiled_as_node_by_node(seed: int) -> None:
    """Values inside loops, on ways that may be dead, and operations for their effects alone."""
    draw = random.Random(seed)
    block = random_block(draw, 3, [0])
    with acts.Graph().as_default() as graph:
        total = acts.Variable(0)
        before = len(graph.get_operations())
        fed = [acts.placeholder(acts.int32, [], name=f"v{k}") for k in range(VARIABLES)]
        made = built(block, [*fed, total.handle])[:VARIABLES]
        results = [acts.identity(value) for value in made]
        read = total.read_value()
        ops = graph.get_operations()[before + VARIABLES : -1]
        tensors = [t for op in ops for t in op.outputs if t.dtype.name in ("int32", "bool")]
        with acts.Session() as compiled, acts.Session(config=node_by_node()) as engine:
            for _ in range(8):
                some = draw.sample(tensors, draw.randint(1, 2)) + draw.sample(results, 1)
                fetches = [*some, draw.choice(ops)][draw.randint(0, 2) :]
                feeds = {tensor: draw.randrange(MODULUS) for tensor in fed}
                compiled.run(total.initializer)
                engine.run(total.initializer)
                found = asked(compiled, fetches, feeds)
                assert found == asked(engine, fetches, feeds)
                if isinstance(found, list):
                    assert compiled.run(read) == engine.run(read)
