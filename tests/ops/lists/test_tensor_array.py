"""``TensorArray``: written, read, and carried through loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from tests.ops.cases import run
from tests.ops.uses import each_use, equals
from tests.rows import refused


def plain(*fetches: Any) -> list[Any]:
    """What a step gives, as plain lists and numbers."""
    return [np.asarray(v).tolist() for v in run(list(fetches))]


def made(size: int, **options: Any) -> acts.TensorArray:
    return acts.TensorArray(acts.float32, size=size, **options)


def _back(x: list[float], build: Any) -> Any:
    given = acts.constant(x)
    return plain(*acts.gradients(build(given), given))[0]


def _filled(size: int, value: Any) -> acts.TensorArray:
    """An array that a loop writes."""
    loop = acts.while_loop(lambda i, _: i < size, lambda i, a: (i + 1, a.write(i, value(i))), [0, made(size)])
    assert isinstance(loop[1], acts.TensorArray)
    return loop[1]


def _each_write() -> Any:
    first = made(1).write(0, 1.0)
    second = first.write(0, 2.0)
    return plain(first.read(0), second.read(0), first.read(0))


def _unknown() -> Any:
    """Shapes that are only known when the step runs."""
    x = acts.placeholder(acts.float32, [None, None])
    array = acts.TensorArray(acts.float32, size=acts.shape(x)[0]).unstack(x)
    found = run([array.read(1), array.size()], {x: [[1.0, 2.0], [3.0, 4.0]]})
    return found[0].tolist(), found[1]


def _squared(x: Any) -> Any:
    array = made(3).unstack(x)
    return _filled(3, lambda i: array.read(i) ** 2.0).stack()


THREE = [1.0, 2.0, 3.0]
USES = [
    equals(
        lambda: [plain(a.stack(), a.read(1)) for a in [made(3).write(0, 1.0).write(1, 2.0).write(2, 3.0)]], [[THREE, 2]]
    ),
    equals(lambda: made(3).write(0, 1.0).stack().shape.as_list(), [3]),
    equals(_each_write, [1.0, 2.0, 1.0]),
    equals(lambda: plain(made(3, element_shape=[2]).write(1, [1.0, 2.0]).stack()), [[[0, 0], [1, 2], [0, 0]]]),
    equals(
        lambda: [plain(a.size(), a.stack()) for a in [made(0, dynamic_size=True).write(3, 1.0)]], [[4, [0, 0, 0, 1]]]
    ),
    equals(lambda: made(0, dynamic_size=True).dynamic_size, True),
    (lambda: run(made(3).write(5, 1.0).stack()), acts.errors.InvalidArgumentError, "element 5"),
    (lambda: made(3).write(0, acts.constant(1)), TypeError, "float32"),
    equals(lambda: [(a.write(0, 1.0), a.element_shape.as_list())[1] for a in [made(3)]], [[]]),
    (lambda: made(3).write(0, 1.0).write(1, [1.0, 2.0]), ValueError, "inconsistent shapes"),
    equals(lambda: plain(made(2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0]).concat()), [THREE]),
    equals(lambda: [plain(a.gather([2, 0]), a.stack()) for a in [made(3).unstack(THREE)]], [[[3, 1], THREE]]),
    (lambda: made(3).unstack(1.0), ValueError, "rank 1 at least"),
    equals(_unknown, ([3.0, 4.0], 2)),
    equals(lambda: plain(made(3).scatter([2, 0, 1], THREE).stack()), [[2, 3, 1]]),
    equals(
        lambda: [
            plain(*map(a.read, range(3)), a.concat()) for a in [made(3, infer_shape=False).split(THREE, [1, 0, 2])]
        ],
        [[[1], [], [2, 3], THREE]],
    ),
    equals(lambda: plain(_filled(4, lambda i: acts.cast(i * i, acts.float32)).stack()), [[0, 1, 4, 9]]),
    equals(lambda: _filled(4, lambda i: 1.0).stack().shape.as_list(), [4]),  # what the loop wrote, the array knows
    equals(lambda: _back(THREE, lambda x: made(2).write(0, x[0]).write(1, x[1] * x[2]).stack()), [1, 3, 2]),
    equals(lambda: _back(THREE, lambda x: made(3).unstack(x).read(1) ** 2.0), [0, 4, 0]),
    equals(lambda: _back(THREE, _squared), [2, 4, 6]),
    (lambda: acts.TensorArray(acts.float32), ValueError, "TensorArray"),
    (lambda: made(1, handle=3), TypeError, "TensorArray"),
    (lambda: acts.TensorArray(acts.float32, flow=3), TypeError, "TensorArray"),  # type: ignore[arg-type]
    (lambda: made(1, flow=3), ValueError, "TensorArray"),
]


test_arrays_do_what_their_rows_say = each_use(USES)


def test_an_array_of_constants_is_made_in_the_step_and_is_no_constant() -> None:
    array = acts.TensorArray(acts.float32, size=2).unstack([1.0, 2.0])
    metadata = acts.RunMetadata()
    with acts.Session() as session:
        options = acts.RunOptions(output_partition_graphs=True)
        session.run(array.stack(), options=options, run_metadata=metadata)
    ops = {node.op for graph in metadata.partition_graphs for node in graph.nodes}
    assert "TensorListFromTensor" in ops


def test_a_branch_gives_an_array() -> None:
    p = acts.placeholder(acts.bool_, [])
    array = acts.TensorArray(acts.float32, size=2)
    chosen = acts.cond(p, lambda: array.write(0, 5.0), lambda: array.write(1, 6.0))
    assert (list(run(chosen.stack(), {p: True})), list(run(chosen.stack(), {p: False}))) == ([5.0, 0.0], [0.0, 6.0])


def test_shape_invariants_of_an_array_say_nothing() -> None:
    array = acts.TensorArray(acts.float32, size=3)
    _, found = acts.while_loop(
        lambda i, _: i < 3,
        lambda i, a: (i + 1, a.write(i, 1.0)),
        [acts.constant(0), array],
        shape_invariants=[acts.TensorShape([]), acts.TensorShape(None)],
    )
    assert list(run(found.stack())) == [1.0, 1.0, 1.0]


def test_what_it_is_made_of_can_be_asked() -> None:
    array = acts.TensorArray(acts.int32, size=2, name="mine")
    assert (array.dtype, array.flow.dtype.name, array.handle) == (acts.int32, "variant", None)
    assert array.flow.op.name == "mine"
    assert array.identity().flow is not array.flow
    assert run(array.size()) == 2
    assert run(array.close()) is None
    refused(lambda: array.grad("mine"), NotImplementedError, "by themselves")
