"""Recurrent networks: cells and their loops, with their gradients and the names of their variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

cells = Family("cells")
loops = Family("rnn")
FAMILIES = [cells, loops]

_Cell = Callable[[Any, Any], Any]
"""Makes a cell of an API module and its module of cells."""


def _waves(tf: Any, np: Any) -> Any:
    """Return an initialiser whose values depend only on the shape, so that both sides get the same ones."""

    def initialize(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        sizes = [int(size) for size in shape]
        count = int(np.prod(sizes))
        waves = np.sin(np.arange(count) * 1.7 + len(sizes)) * 0.6
        return tf.constant(waves.reshape(sizes), dtype or tf.float32)

    return initialize


def _scope(tf: Any, np: Any, name: str = "net", **settings: Any) -> Any:
    return tf.variable_scope(name, initializer=_waves(tf, np), **settings)


def _seen(tf: Any, cell: Any) -> list[Any]:
    """Return the observable facts: names and shapes of variables, and the sizes of the cell."""
    named = [[v.name, [int(size) for size in v.shape.as_list()]] for v in tf.global_variables()]
    trained = [v.name for v in tf.trainable_variables()]
    losses = [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
    return [named, trained, len(losses), repr(cell.state_size), repr(cell.output_size)]


def _run_cell(tf: Any, np: Any, make: _Cell, dtype: str = "float32") -> Plan:
    """Return two steps of a cell, and the gradients of its outputs."""
    made = make(tf, tf.nn.rnn_cell)
    x = tf.constant(reals(np, (2, 3), dtype=dtype))
    with _scope(tf, np):
        state = made.zero_state(2, x.dtype)
        first, state = made(x, state)
        second, state = made(x * 0.5, state)
    variables = tf.trainable_variables()
    slopes = tf.gradients(tf.reduce_sum(first * second), [x, *variables])
    return Plan([first, second, state, slopes], facts=_seen(tf, made))


_MADE: dict[str, _Cell] = {
    "basic": lambda tf, c: c.BasicRNNCell(4),
    "basic-relu": lambda tf, c: c.BasicRNNCell(4, activation=tf.nn.relu),
    "basic-named": lambda tf, c: c.BasicRNNCell(4, name="mine", activation="sigmoid"),
    "basic-untrained": lambda tf, c: c.BasicRNNCell(4, trainable=False),
    "gru": lambda tf, c: c.GRUCell(4),
    "gru-initializers": lambda tf, c: c.GRUCell(
        4, kernel_initializer=tf.constant_initializer(0.2), bias_initializer=tf.constant_initializer(0.1)
    ),
    "basic-lstm": lambda tf, c: c.BasicLSTMCell(4),
    "basic-lstm-bias": lambda tf, c: c.BasicLSTMCell(4, forget_bias=0.25),
    "basic-lstm-one-state": lambda tf, c: c.BasicLSTMCell(4, state_is_tuple=False),
    "lstm": lambda tf, c: c.LSTMCell(4),
    "lstm-peepholes": lambda tf, c: c.LSTMCell(4, use_peepholes=True),
    "lstm-clip": lambda tf, c: c.LSTMCell(4, cell_clip=0.2),
    "lstm-projection": lambda tf, c: c.LSTMCell(4, num_proj=2),
    "lstm-projection-clip": lambda tf, c: c.LSTMCell(4, num_proj=2, proj_clip=0.1),
    "lstm-all": lambda tf, c: c.LSTMCell(
        4, True, 0.3, tf.constant_initializer(0.3), 3, 0.2, forget_bias=0.5, activation=tf.nn.relu
    ),
    "lstm-one-state": lambda tf, c: c.LSTMCell(4, num_proj=2, state_is_tuple=False),
    "stack": lambda tf, c: c.MultiRNNCell([c.BasicLSTMCell(4), c.GRUCell(2)]),
    "stack-one-state": lambda tf, c: c.MultiRNNCell([c.GRUCell(4), c.GRUCell(2)], state_is_tuple=False),
    "stack-of-one-cell": lambda tf, c: c.MultiRNNCell([c.GRUCell(3, name="shared")] * 2),
    "stack-of-other-widths": lambda tf, c: c.MultiRNNCell([c.GRUCell(4)] * 2),
    "residual": lambda tf, c: c.ResidualWrapper(c.GRUCell(3)),
    "residual-function": lambda tf, c: c.ResidualWrapper(c.GRUCell(4), lambda x, y: tf.concat([x, y], 1)),
    "residual-of-another-width": lambda tf, c: c.ResidualWrapper(c.GRUCell(4)),
    "device": lambda tf, c: c.DeviceWrapper(c.GRUCell(3), "/cpu:0"),
    "dropout-of-nothing": lambda tf, c: c.DropoutWrapper(c.GRUCell(3)),
    "dropout-nested": lambda tf, c: c.MultiRNNCell([c.DropoutWrapper(c.LSTMCell(3), 1.0, 1.0, 1.0)] * 1),
    "whole-number-dtype": lambda tf, c: c.GRUCell(3, dtype=tf.int32),
    "unknown-argument": lambda tf, c: c.GRUCell(3, units=4),
    "unknown-activation": lambda tf, c: c.GRUCell(3, activation="loud"),
    "stack-of-nothing": lambda tf, c: c.MultiRNNCell([]),
    "stack-of-no-list": lambda tf, c: c.MultiRNNCell(c.GRUCell(3)),
    "stack-of-tuples-as-one": lambda tf, c: c.MultiRNNCell([c.BasicLSTMCell(3)], state_is_tuple=False),
    "dropout-of-no-cell": lambda tf, c: c.DropoutWrapper(3),
    "dropout-above-one": lambda tf, c: c.DropoutWrapper(c.GRUCell(3), 1.5),
    "dropout-visitor": lambda tf, c: c.DropoutWrapper(c.GRUCell(3), dropout_state_filter_visitor=3),
    "dropout-without-dtype": lambda tf, c: c.DropoutWrapper(c.GRUCell(3), 0.5, variational_recurrent=True),
    "dropout-without-size": lambda tf, c: c.DropoutWrapper(
        c.GRUCell(3), 0.5, variational_recurrent=True, dtype=tf.float32
    ),
}
cells.over("{make}", _run_cell, make=_MADE)
_DOUBLE = ("basic", "gru", "basic-lstm", "lstm-all", "stack")
cells.over("{make}-{dtype}", _run_cell, make={name: _MADE[name] for name in _DOUBLE}, dtype=["float64"])
# Which elements are dropped is random, so only dtypes and shapes are compared.
_DROPPED: dict[str, dict[str, Any]] = {
    "inputs": {"input_keep_prob": 0.5},
    "outputs": {"output_keep_prob": 0.5},
    "states": {"state_keep_prob": 0.5},
    "all": {"input_keep_prob": 0.9, "output_keep_prob": 0.5, "state_keep_prob": 0.2, "seed": 3},
    "recurrent": {
        "input_keep_prob": 0.5,
        "output_keep_prob": 0.5,
        "state_keep_prob": 0.5,
        "variational_recurrent": True,
        "input_size": 3,
        "dtype": "float32",
        "seed": 1,
    },
}


@cells("dropout-{settings}-{kind}", settings=_DROPPED, kind={"basiclstmcell": "BasicLSTMCell", "grucell": "GRUCell"})
def _dropout(tf: Any, np: Any, settings: Any, kind: str) -> Plan:
    inner = getattr(tf.nn.rnn_cell, kind)(4)
    plan = _run_cell(tf, np, lambda tf, c: c.DropoutWrapper(inner, **settings))
    return Plan(plan.fetches, facts=plan.facts, random=True)


@cells("names-of-objects")
def _objects(tf: Any, np: Any) -> Plan:
    made = [
        tf.nn.rnn_cell.BasicLSTMCell(2),
        tf.nn.rnn_cell.BasicLSTMCell(2),
        tf.nn.rnn_cell.GRUCell(2, name="own"),
        tf.nn.rnn_cell.BasicLSTMCell(2),
    ]
    return Plan(facts=[[cell.name, cell.built, cell.trainable] for cell in made])


@cells("two-in-one-scope")
def _two(tf: Any, np: Any) -> Plan:
    x = tf.constant(reals(np, (2, 3)))
    outs = []
    with _scope(tf, np):
        for _ in range(2):
            cell = tf.nn.rnn_cell.GRUCell(2)
            outs.append(cell(x, cell.zero_state(2, tf.float32))[0])
    facts = [_seen(tf, cell), cell.scope_name, [v.name for v in cell.trainable_variables]]
    return Plan(outs, facts=facts)


@cells("shared-by-{way}", way=("reuse", "argument"))
def _shared(tf: Any, np: Any, way: str) -> Plan:
    x, outs = tf.constant(reals(np, (2, 3))), []
    for reuse in (None, True):
        with _scope(tf, np, reuse=reuse if way == "reuse" else None):
            cell = tf.nn.rnn_cell.LSTMCell(2, reuse=reuse if way == "argument" else None)
            outs.append(cell(x, cell.zero_state(2, tf.float32))[0])
    return Plan(outs, facts=_seen(tf, cell))


@cells("reuse-of-what-is-not-there")
def _not_there(tf: Any, np: Any) -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(2, reuse=True)
    return cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))[0]


_SCOPED: dict[str, tuple[_Cell, Callable[[Any], Any], tuple[str, ...]]] = {
    "scope-argument": (lambda tf, c: c.MultiRNNCell([c.GRUCell(2)]), lambda tf: None, ("there",)),
    "partitioned": (lambda tf, c: c.LSTMCell(4, num_unit_shards=3), lambda tf: None, ()),
    "regularized": (lambda tf, c: c.GRUCell(2), lambda tf: tf.nn.l2_loss, ()),
}


@cells("{way}", way=_SCOPED)
def _scoped(tf: Any, np: Any, way: Any) -> Plan:
    make, regularizer, scope = way
    cell = make(tf, tf.nn.rnn_cell)
    constant = tf.constant_initializer(0.2)
    with tf.variable_scope("net", initializer=constant, regularizer=regularizer(tf)):
        out, _ = cell(tf.constant(reals(np, (2, 3))), cell.zero_state(2, tf.float32), *scope)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return Plan([out, *losses], facts=_seen(tf, cell))


@cells("inputs-{shape}", shape={"vector": [3], "cube": [2, 2, 3], "unknown-depth": [2, None]})
def _inputs(tf: Any, np: Any, shape: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(2)
    x = tf.placeholder(tf.float32, shape)
    return cell(x, cell.zero_state(2, tf.float32))[0]


@cells("whole-numbers")
def _whole(tf: Any, np: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(2)
    return cell(tf.ones([2, 3], tf.int32), cell.zero_state(2, tf.int32))[0]


@cells("state-of-a-placeholder")
def _state(tf: Any, np: Any) -> Plan:
    batch = tf.placeholder(tf.int32, [])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2), tf.nn.rnn_cell.GRUCell(3)])
    return Plan(cell.zero_state(batch, tf.float32), {batch: 4}, names=True)


@cells("memory-and-output")
def _tuples(tf: Any, np: Any) -> Plan:
    both = tf.nn.rnn_cell.LSTMStateTuple(tf.zeros([2]), tf.ones([2]))
    return Plan(both, facts=[both.dtype.name, list(both._fields), isinstance(both, tuple)])


cells.add(
    "memory-and-output-differ",
    lambda tf, np: tf.nn.rnn_cell.LSTMStateTuple(tf.zeros([2]), tf.ones([2], tf.float64)).dtype,
)


def _own(tf: Any, way: str) -> Any:
    """Return a cell that a program defines itself, in one of three ways."""
    base: Any = tf.nn.rnn_cell.RNNCell

    class Leaky(base):  # type: ignore[misc]  # a base class that is known only at run time
        def __init__(self, units: int) -> None:
            super().__init__()
            self._units = units

        state_size = output_size = property(lambda self: self._units)

    class Built(Leaky):
        def build(self, shape: Any) -> None:
            self.kernel = self.add_variable("kernel", [int(shape[1]), self._units])
            self.built = True

        def call(self, inputs: Any, state: Any) -> Any:
            state = 0.5 * state + tf.matmul(inputs, self.kernel)
            return tf.tanh(state), state

    class Got(Leaky):
        def call(self, inputs: Any, state: Any) -> Any:
            kernel = tf.get_variable("w", [int(inputs.shape[1]), self._units])
            fixed = tf.get_variable("f", [self._units], trainable=False)
            state = 0.5 * state + tf.matmul(inputs, kernel) + fixed
            return tf.tanh(state), state

    class Called(Leaky):
        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with tf.variable_scope(scope or type(self).__name__):
                kernel = tf.get_variable("w", [int(inputs.shape[1]), self._units])
                state = 0.5 * state + tf.matmul(inputs, kernel)
                return tf.tanh(state), state

    return {"built": Built, "got": Got, "called": Called}[way](3)


@cells("own-{way}", way=("built", "got", "called"))
def _own_cell(tf: Any, np: Any, way: str) -> Plan:
    cell = _own(tf, way)
    x = tf.placeholder(tf.float32, [2, None, 3])
    with _scope(tf, np):
        outs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    weights = [[v.name for v in found] for found in (cell.weights, cell.trainable_weights)]
    fetched = [outs, state, tf.gradients(outs, tf.trainable_variables())]
    return Plan(fetched, {x: reals(np, (2, 4, 3))}, facts=[_seen(tf, cell), weights if way != "called" else None])


# -- loops -----------------------------------------------------------------------------------------


_INNER: dict[str, _Cell] = {
    "basic": lambda tf, c: c.BasicRNNCell(4),
    "gru": lambda tf, c: c.GRUCell(4),
    "lstm": lambda tf, c: c.BasicLSTMCell(4),
    "lstm-all": lambda tf, c: c.LSTMCell(4, True, 0.5, num_proj=3, proj_clip=0.2),
    "lstm-one-state": lambda tf, c: c.BasicLSTMCell(4, state_is_tuple=False),
    "stack": lambda tf, c: c.MultiRNNCell([c.LSTMCell(4), c.ResidualWrapper(c.GRUCell(4))]),
}
# Lengths for a loop over five steps, and for one where each of three has nodes of its own.
_LENGTHS: dict[str, Any] = {"": (None, None), "-lengths": ([2, 5, 0], [2, 3, 0]), "-short": ([2, 1, 3], [2, 1, 0])}
_STEPS = 3


def _slopes(tf: Any, outs: Any, inputs: list[Any]) -> Any:
    leaves = outs if isinstance(outs, (list, tuple)) else [outs]
    loss = tf.add_n([tf.reduce_sum(tf.square(leaf)) for leaf in leaves])
    return tf.gradients(loss, [*inputs, *tf.trainable_variables()])


@loops("{way}-{cell}{lengths}", way=("dynamic", "static"), cell=_INNER, lengths=_LENGTHS)
def _loop(tf: Any, np: Any, way: str, cell: _Cell, lengths: Any) -> Plan:
    made, many, few = cell(tf, tf.nn.rnn_cell), *lengths
    count = 5 if way == "dynamic" else _STEPS
    x = tf.placeholder(tf.float32, [None, None if way == "dynamic" else count, 3])
    with _scope(tf, np):
        if way == "dynamic":
            outs, state = tf.nn.dynamic_rnn(made, x, many, dtype=tf.float32)
        else:
            outs, state = tf.nn.static_rnn(made, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=few)
    return Plan([outs, state, _slopes(tf, outs, [x])], {x: reals(np, (3, count, 3))}, facts=_seen(tf, made))


@loops("{way}{lengths}", way=("both-ways", "static-both-ways", "both-ways-time-major"), lengths=_LENGTHS)
def _both(tf: Any, np: Any, way: str, lengths: Any) -> Plan:
    forward, back = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.BasicLSTMCell(2)
    static, major = way.startswith("static"), way.endswith("major")
    x = tf.placeholder(tf.float32, [3, _STEPS, 2] if static else [None, None, 2])
    with _scope(tf, np):
        if static:
            found = tf.nn.static_bidirectional_rnn(
                forward, back, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths[1]
            )
        else:
            found = tf.nn.bidirectional_dynamic_rnn(forward, back, x, lengths[0], dtype=tf.float32, time_major=major)
    fed = {x: reals(np, (5, 3, 2) if major else (3, _STEPS if static else 5, 2))}
    return Plan([*found, _slopes(tf, found[0], [x])], fed, facts=_seen(tf, back))


@loops("state-goes-on")
def _goes_on(tf: Any, np: Any) -> Plan:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    x = tf.placeholder(tf.float32, [2, None, 2])
    start = cell.zero_state(2, tf.float32)
    with _scope(tf, np):
        outs, state = tf.nn.dynamic_rnn(cell, x, initial_state=start)
    fed = {x: reals(np, (2, 3, 2)), start.c: reals(np, (2, 3)), start.h: reals(np, (2, 3), -1)}
    return Plan(steps=[Step([outs, state], {x: reals(np, (2, 4, 2))}), Step([outs, state], fed)])


@loops("nested")
def _nested(tf: Any, np: Any) -> Plan:
    base: Any = tf.nn.rnn_cell.RNNCell

    class Pair(base):  # type: ignore[misc]  # a base class that is known only at run time
        state_size = property(lambda self: (tf.TensorShape([2]), 3))
        output_size = property(lambda self: (3, tf.TensorShape([2])))

        def call(self, inputs: Any, state: Any) -> Any:
            (a, b), (s, t) = inputs, state
            s, t = 0.5 * s + a, tf.tanh(t + b)
            return (t, s), (s, t)

    a = tf.placeholder(tf.float32, [None, None, 2])
    b = tf.placeholder(tf.float32, [None, None, 3])
    outs, state = tf.nn.dynamic_rnn(Pair(), (a, b), [1, 3], dtype=tf.float32)
    return Plan([outs, state], {a: reals(np, (2, 3, 2)), b: reals(np, (2, 3, 3))})


@loops("twice-with-one-cell")
def _twice(tf: Any, np: Any) -> Plan:
    cell = tf.nn.rnn_cell.GRUCell(2)
    x = tf.constant(reals(np, (2, 3, 2)))
    with _scope(tf, np):
        first, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope="a")
        second, _ = tf.nn.dynamic_rnn(cell, first, initial_state=state, scope="b")
    return Plan([first, second], facts=_seen(tf, cell))


@loops("twice-in-one-scope")
def _again(tf: Any, np: Any) -> Any:
    x = tf.constant(reals(np, (2, 3, 2)))
    for _ in range(2):
        outs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), x, dtype=tf.float32)
    return outs


@loops("trains")
def _trains(tf: Any, np: Any) -> Plan:
    x, y = tf.placeholder(tf.float32, [4, None, 2]), tf.placeholder(tf.float32, [4, 3])
    with _scope(tf, np):
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(state.h - y))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    fed = {x: reals(np, (4, 6, 2)), y: reals(np, (4, 3), -0.5, 0.5)}
    return Plan(steps=[Step([loss, train], fed)] * 8 + [Step(tf.trainable_variables(), fed)])


@loops("raw{emit}", emit={"": False, "-emitting": True})
def _stopping(tf: Any, np: Any, emit: bool) -> Plan:
    cell, lengths = tf.nn.rnn_cell.GRUCell(3), [2, 4]
    inputs = tf.constant(reals(np, (4, 2, 3)))
    array = tf.TensorArray(tf.float32, 4).unstack(inputs)

    def loop_fn(time: Any, output: Any, state: Any, counted: Any) -> Any:
        first = output is None
        out = (tf.zeros([2]) if emit else None) if first else (output[:, :2] if emit else output)
        ended = time >= lengths
        given = tf.cond(tf.reduce_all(ended), lambda: tf.zeros([2, 3]), lambda: array.read(time))
        after = cell.zero_state(2, tf.float32) if first else state
        return ended, given, after, out, tf.constant(10) if first else counted + 1

    with _scope(tf, np):
        outs, state, counted = tf.nn.raw_rnn(cell, loop_fn)
    return Plan([outs.stack(), state, counted], facts=_seen(tf, cell))


class _Kept:
    """A state saver that keeps states in variables from run to run."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self._variables: dict[str, Any] = {}

    def state(self, name: str) -> Any:
        made = self._tf.Variable(self._tf.zeros([2, 3]), name=name, trainable=False)
        self._variables[name] = made
        return made.read_value()

    def save_state(self, name: str, value: Any) -> Any:
        return self._variables[name].assign(value)


@loops("state-saving")
def _saving(tf: Any, np: Any) -> Plan:
    x = tf.constant(reals(np, (2, 2, 3)))
    with _scope(tf, np):
        outs, state = tf.nn.static_state_saving_rnn(
            tf.nn.rnn_cell.BasicLSTMCell(3), tf.unstack(x, axis=1), _Kept(tf), ("c", "h")
        )
    return Plan(steps=[Step([outs, state])] * 3)


# Each is given ``tf.nn``, a cell, what makes zeros of sizes, and ``tf``.
_WRONG: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "no-cell": lambda nn, c, z, tf: nn.dynamic_rnn(3, z(2, 3, 2), dtype=tf.float32),
    "no-dtype": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2, 3, 2)),
    "matrix": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2, 3), dtype=tf.float32),
    "vector": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2), dtype=tf.float32),
    "unknown-depth": lambda nn, c, z, tf: nn.dynamic_rnn(c, tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32),
    "other-times": lambda nn, c, z, tf: nn.dynamic_rnn(c, (z(2, 3, 2), z(2, 4, 2)), dtype=tf.float32),
    "other-batches": lambda nn, c, z, tf: nn.dynamic_rnn(c, (z(2, 3, 2), z(3, 3, 2)), dtype=tf.float32),
    "lengths-of-rank-2": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2, 3, 2), [[1, 2]], dtype=tf.float32),
    "too-many-lengths": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2, 3, 2), [1, 2, 3], dtype=tf.float32),
    "state-of-another-batch": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2, 3, 2), initial_state=z(3, 4)),
    "state-of-another-width": lambda nn, c, z, tf: nn.dynamic_rnn(c, z(2, 3, 2), initial_state=z(2, 5)),
    "state-of-another-dtype": lambda nn, c, z, tf: nn.dynamic_rnn(
        c, z(2, 3, 2), initial_state=tf.zeros([2, 4], tf.float64)
    ),
    "static-no-list": lambda nn, c, z, tf: nn.static_rnn(c, z(2, 3), dtype=tf.float32),
    "static-nothing": lambda nn, c, z, tf: nn.static_rnn(c, [], dtype=tf.float32),
    "static-no-dtype": lambda nn, c, z, tf: nn.static_rnn(c, [z(2, 3)]),
    "static-vectors-and-matrices": lambda nn, c, z, tf: nn.static_rnn(c, [z(2, 3), z(2)], dtype=tf.float32),
    "static-other-batches": lambda nn, c, z, tf: nn.static_rnn(c, [z(2, 3), z(4, 3)], dtype=tf.float32),
    "static-unknown-depth": lambda nn, c, z, tf: nn.static_rnn(
        c, [tf.placeholder(tf.float32, [2, None])], dtype=tf.float32
    ),
    "both-ways-no-cell": lambda nn, c, z, tf: nn.bidirectional_dynamic_rnn(c, 3, z(2, 3, 2), dtype=tf.float32),
    "raw-no-function": lambda nn, c, z, tf: nn.raw_rnn(c, 3),
}
loops.over(
    "wrong-{wrong}",
    lambda tf, np, wrong: wrong(tf.nn, tf.nn.rnn_cell.GRUCell(4), lambda *sizes: tf.zeros(sizes), tf)[0],
    wrong=_WRONG,
)
