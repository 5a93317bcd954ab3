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


@cells("shared-by-reuse")
def _shared(tf: Any, np: Any) -> Plan:
    x, outs = tf.constant(reals(np, (2, 3))), []
    for reuse in (None, True):
        with _scope(tf, np, reuse=reuse):
            cell = tf.nn.rnn_cell.LSTMCell(2)
            outs.append(cell(x, cell.zero_state(2, tf.float32))[0])
    return Plan(outs, facts=_seen(tf, cell))


@cells("shared-by-argument")
def _shared_by_argument(tf: Any, np: Any) -> Plan:
    x, outs = tf.constant(reals(np, (2, 3))), []
    for reuse in (None, True):
        with _scope(tf, np):
            cell = tf.nn.rnn_cell.LSTMCell(2, reuse=reuse)
            outs.append(cell(x, cell.zero_state(2, tf.float32))[0])
    return Plan(outs, facts=_seen(tf, cell))


@cells("reuse-of-what-is-not-there")
def _not_there(tf: Any, np: Any) -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(2, reuse=True)
    return cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))[0]


@cells("scope-argument")
def _scope_argument(tf: Any, np: Any) -> Plan:
    x = tf.constant(reals(np, (2, 3)))
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2)])
    with _scope(tf, np):
        out, _ = cell(x, cell.zero_state(2, tf.float32), "there")
    return Plan(out, facts=_seen(tf, cell))


@cells("partitioned")
def _partitioned(tf: Any, np: Any) -> Plan:
    x = tf.constant(reals(np, (2, 3)))
    cell = tf.nn.rnn_cell.LSTMCell(4, num_unit_shards=3)
    with tf.variable_scope("net", initializer=tf.constant_initializer(0.2)):
        out, _ = cell(x, cell.zero_state(2, tf.float32))
    return Plan(out, facts=_seen(tf, cell))


@cells("regularized")
def _regularized(tf: Any, np: Any) -> Plan:
    x = tf.constant(reals(np, (2, 3)))
    cell = tf.nn.rnn_cell.GRUCell(2)
    with _scope(tf, np, regularizer=tf.nn.l2_loss):
        out, _ = cell(x, cell.zero_state(2, tf.float32))
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
_LENGTHS: dict[str, Any] = {"": None, "-lengths": [2, 5, 0], "-short": [2, 1, 3]}
# The same where each step has nodes of its own: a few steps show what many do.
_STEPS = 3
_FEW: dict[str, Any] = {"": None, "-lengths": [2, 3, 0], "-short": [2, 1, 0]}


def _slopes(tf: Any, outs: Any, inputs: list[Any]) -> Any:
    leaves = outs if isinstance(outs, (list, tuple)) else [outs]
    loss = tf.add_n([tf.reduce_sum(tf.square(leaf)) for leaf in leaves])
    return tf.gradients(loss, [*inputs, *tf.trainable_variables()])


@loops("dynamic-{cell}{lengths}", cell=_INNER, lengths=_LENGTHS)
def _dynamic(tf: Any, np: Any, cell: _Cell, lengths: Any) -> Plan:
    made = cell(tf, tf.nn.rnn_cell)
    x = tf.placeholder(tf.float32, [None, None, 3])
    with _scope(tf, np):
        outs, state = tf.nn.dynamic_rnn(made, x, lengths, dtype=tf.float32)
    return Plan([outs, state, _slopes(tf, outs, [x])], {x: reals(np, (3, 5, 3))}, facts=_seen(tf, made))


@loops("static-{cell}{lengths}", cell=_INNER, lengths=_FEW)
def _static(tf: Any, np: Any, cell: _Cell, lengths: Any) -> Plan:
    made = cell(tf, tf.nn.rnn_cell)
    x = tf.placeholder(tf.float32, [None, _STEPS, 3])
    with _scope(tf, np):
        outs, state = tf.nn.static_rnn(made, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths)
    return Plan([outs, state, _slopes(tf, outs, [x])], {x: reals(np, (3, _STEPS, 3))}, facts=_seen(tf, made))


@loops("both-ways{lengths}{major}", lengths=_LENGTHS, major={"": False, "-time-major": True})
def _both(tf: Any, np: Any, lengths: Any, major: bool) -> Plan:
    x = tf.placeholder(tf.float32, [None, None, 2])
    forward, back = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.BasicLSTMCell(2)
    options = {"dtype": tf.float32, "time_major": major}
    with _scope(tf, np):
        outs, states = tf.nn.bidirectional_dynamic_rnn(forward, back, x, lengths, **options)
    fed = {x: reals(np, (5, 3, 2) if major else (3, 5, 2))}
    return Plan([outs, states, _slopes(tf, outs, [x])], fed, facts=_seen(tf, back))


@loops("static-both-ways{lengths}", lengths=_FEW)
def _static_both(tf: Any, np: Any, lengths: Any) -> Plan:
    x = tf.placeholder(tf.float32, [3, _STEPS, 2])
    forward, back = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.BasicLSTMCell(2)
    options = {"dtype": tf.float32, "sequence_length": lengths}
    with _scope(tf, np):
        found = tf.nn.static_bidirectional_rnn(forward, back, tf.unstack(x, axis=1), **options)
    fed = {x: reals(np, (3, _STEPS, 2))}
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


_WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "no-cell": lambda tf, cell: tf.nn.dynamic_rnn(3, tf.zeros([2, 3, 2]), dtype=tf.float32),
    "no-dtype": lambda tf, cell: tf.nn.dynamic_rnn(cell, tf.zeros([2, 3, 2])),
    "matrix": lambda tf, cell: tf.nn.dynamic_rnn(cell, tf.zeros([2, 3]), dtype=tf.float32),
    "vector": lambda tf, cell: tf.nn.dynamic_rnn(cell, tf.zeros([2]), dtype=tf.float32),
    "unknown-depth": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32
    ),
    "other-times": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, (tf.zeros([2, 3, 2]), tf.zeros([2, 4, 2])), dtype=tf.float32
    ),
    "other-batches": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, (tf.zeros([2, 3, 2]), tf.zeros([3, 3, 2])), dtype=tf.float32
    ),
    "lengths-of-rank-2": lambda tf, cell: tf.nn.dynamic_rnn(cell, tf.zeros([2, 3, 2]), [[1, 2]], dtype=tf.float32),
    "too-many-lengths": lambda tf, cell: tf.nn.dynamic_rnn(cell, tf.zeros([2, 3, 2]), [1, 2, 3], dtype=tf.float32),
    "state-of-another-batch": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.zeros([2, 3, 2]), initial_state=tf.zeros([3, 4])
    ),
    "state-of-another-width": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.zeros([2, 3, 2]), initial_state=tf.zeros([2, 5])
    ),
    "state-of-another-dtype": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.zeros([2, 3, 2]), initial_state=tf.zeros([2, 4], tf.float64)
    ),
    "static-no-list": lambda tf, cell: tf.nn.static_rnn(cell, tf.zeros([2, 3]), dtype=tf.float32),
    "static-nothing": lambda tf, cell: tf.nn.static_rnn(cell, [], dtype=tf.float32),
    "static-no-dtype": lambda tf, cell: tf.nn.static_rnn(cell, [tf.zeros([2, 3])]),
    "static-vectors-and-matrices": lambda tf, cell: tf.nn.static_rnn(
        cell, [tf.zeros([2, 3]), tf.zeros([2])], dtype=tf.float32
    ),
    "static-other-batches": lambda tf, cell: tf.nn.static_rnn(
        cell, [tf.zeros([2, 3]), tf.zeros([4, 3])], dtype=tf.float32
    ),
    "static-unknown-depth": lambda tf, cell: tf.nn.static_rnn(
        cell, [tf.placeholder(tf.float32, [2, None])], dtype=tf.float32
    ),
    "both-ways-no-cell": lambda tf, cell: tf.nn.bidirectional_dynamic_rnn(
        cell, 3, tf.zeros([2, 3, 2]), dtype=tf.float32
    ),
    "raw-no-function": lambda tf, cell: tf.nn.raw_rnn(cell, 3),
}
loops.each(
    {f"wrong-{name}": asked for name, asked in _WRONG.items()},
    lambda asked: lambda tf, np: asked(tf, tf.nn.rnn_cell.GRUCell(4))[0],
)
