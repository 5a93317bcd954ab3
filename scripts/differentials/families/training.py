"""Gradients with the arguments of ``tf.gradients``; optimisers over several steps, and learning rate schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

gradients = Family("gradients")

_Function = Callable[[Any, Any], Any]
_FUNCTIONS: dict[str, _Function] = {
    "square": lambda tf, x: x * x,
    "tanh": lambda tf, x: tf.tanh(x),
    "sigmoid": lambda tf, x: tf.sigmoid(x),
    "softplus": lambda tf, x: tf.nn.softplus(x),
    "sin": lambda tf, x: tf.sin(x),
    "mean": lambda tf, x: tf.reduce_mean(x) + x,
    "logsumexp": lambda tf, x: tf.reduce_logsumexp(x, 1),
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "slice": lambda tf, x: x[:, 1:],
    "gather": lambda tf, x: tf.gather(x, [1, 1, 0]),
    "pad": lambda tf, x: tf.pad(x, [[1, 0], [0, 2]], "REFLECT"),
    "cumsum": lambda tf, x: tf.cumsum(x, 1, reverse=True),
    "matmul": lambda tf, x: tf.matmul(x, x, transpose_b=True),
    "maximum": lambda tf, x: tf.maximum(x, tf.reverse(x, [0])),
    "where": lambda tf, x: tf.where(x > 0, x * 2, x * x),
    "norm": lambda tf, x: tf.nn.l2_normalize(x, 1),
    "clip-norm": lambda tf, x: tf.clip_by_norm(x, 1.5),
    "division": lambda tf, x: x / (2.0 + x[:, :1]),
    "stop": lambda tf, x: x * tf.stop_gradient(x),
    "variance": lambda tf, x: tf.nn.moments(x, [0])[1],
}


@gradients("of-{function}", function=_FUNCTIONS)
def _first(tf: Any, np: Any, function: _Function) -> Plan:
    x = tf.placeholder(tf.float64, [2, 3])
    y = function(tf, x)
    fed = {x: reals(np, (2, 3), dtype="float64")}
    return Plan([y, *tf.gradients(y, x)], fed, tolerance=1e-6)


def _second(tf: Any, np: Any, outer: _Function, inners: str) -> Plan:
    """Return first and second gradients of a function of other functions."""
    x = tf.placeholder(tf.float64, [2, 3])
    found = {}
    for inner in inners.split():
        slope = tf.convert_to_tensor(tf.gradients(outer(tf, _FUNCTIONS[inner](tf, x)), x)[0])
        found[inner] = [slope, *[each for each in tf.gradients(slope * slope, x) if each is not None]]
    return Plan(found, {x: reals(np, (2, 3), dtype="float64")}, tolerance=1e-6)


for _outers, _inners in (
    ("square tanh softplus", "sigmoid softmax mean slice gather norm where sin pad division variance"),
    ("logsumexp matmul cumsum", "sigmoid softmax mean slice gather norm where sin pad division"),
):
    gradients.over(
        "second-{outer}", _second, outer={name: _FUNCTIONS[name] for name in _outers.split()}, inners=[_inners]
    )


@gradients("several-targets-and-sources")
def _several(tf: Any, np: Any) -> Any:
    a, b, c = tf.constant(2.0), tf.constant(3.0), tf.constant(4.0)
    found = tf.gradients([a * b, b * b], [a, b, c])
    return Plan(found[:2], facts=[each is None for each in found])


# A value, and what is asked of a constant of it.
_ASKED: dict[str, tuple[Any, _Function]] = {
    "unconnected-zero": (
        [2.0, 1.0],
        lambda tf, x: tf.gradients(x[0] * 3, [x, tf.zeros([2])], unconnected_gradients=tf.UnconnectedGradients.ZERO),
    ),
    "given-slopes": ([1.0, 2.0], lambda tf, x: tf.gradients([x * x, x + 1], x, [tf.constant([10.0, 20.0]), None])),
    "stopped-at": (2.0, lambda tf, x: (lambda y: tf.gradients(x * y, [x, y], stop_gradients=[x, y]))(x * 3)),
    "of-a-text": ("a", lambda tf, x: tf.gradients(x, tf.constant("b"))),
    "wrong-length-of-slopes": (1.0, lambda tf, x: tf.gradients([x, x * 2], x, grad_ys=[1.0])),
    "where-nan": ([0.0, 1.0], lambda tf, x: tf.gradients(tf.where(x > 0, tf.log(x), x), x)),
}
gradients.each(_ASKED, lambda asked: lambda tf, np: (lambda value, function: function(tf, tf.constant(value)))(*asked))
# Functions through which no gradient goes.
_CUT: dict[str, tuple[Any, _Function]] = {
    "of-a-whole-number": (3, lambda tf, x: x * x),
    "through-a-cast-to-int": (3.0, lambda tf, x: tf.cast(tf.cast(x * 2, tf.int32), tf.float32)),
    "through-argmax": ([3.0, 1.0], lambda tf, x: tf.cast(tf.argmax(x), tf.float32)),
    "of-a-py-func": (3.0, lambda tf, x: tf.py_func(lambda value: value * 2, [x], tf.float32)),
}


@gradients("{cut}", cut=_CUT)
def _cut(tf: Any, np: Any, cut: tuple[Any, _Function]) -> Plan:
    x = tf.constant(cut[0])
    return Plan(facts=[each is None for each in tf.gradients(cut[1](tf, x), x)])


@gradients("names")
def _names(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("layer"):
        y = tf.tanh(x * 3.0 + 1.0)
    return Plan(tf.gradients(y, x), {x: [0.1, 0.2]}, names=True)


@gradients("names-own")
def _own_names(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2], name="x")
    found = [tf.gradients(tf.exp(x) * x, x, name="slope")[0], tf.gradients(tf.square(x), x)[0]]
    return Plan(found, {x: [0.1, 0.2]}, names=True)


@gradients("of-a-variable-and-its-reading")
def _variable(tf: Any, np: Any) -> Plan:
    v = tf.Variable([1.0, 2.0])
    w = tf.get_variable("w", initializer=[3.0, 1.0])
    return Plan(tf.gradients(v * v * w + v, [v, w]))


@gradients("of-{places}", places={"an-embedding": [[1, 1, 4]], "two-embeddings": [[1, 1, 4], [0, 2, 4]]})
def _embedding(tf: Any, np: Any, places: list[list[int]]) -> Plan:
    table = tf.get_variable("table", initializer=reals(np, (5, 2)))
    rows = sum(tf.nn.embedding_lookup(table, each) for each in places)
    slope = tf.gradients(tf.reduce_sum(rows**2), table)[0]
    return Plan([slope, tf.convert_to_tensor(slope)], facts=[isinstance(slope, tf.IndexedSlices)])


@gradients("clip-by-global-norm")
def _global(tf: Any, np: Any) -> Any:
    found, norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0]), None, tf.constant([12.0])], 2.0)
    return [found[0], found[2], norm, tf.global_norm([tf.constant([3.0]), tf.constant([4.0])])]


@gradients("clip-by-global-norm-infinite")
def _infinite(tf: Any, np: Any) -> Any:
    found, norm = tf.clip_by_global_norm([tf.constant([np.inf, 4.0])], 2.0)
    return [*found, norm]


_NORMS: dict[str, Callable[[Any, float], Any]] = {
    "average-norm": lambda tf, norm: tf.clip_by_average_norm(tf.constant([3.0, -4.0]), norm),
    "norm-axis": lambda tf, norm: tf.clip_by_norm(tf.constant([[3.0, -4.0], [0.0, 0.1]]), norm, axes=[1]),
}
gradients.over("clip-by-{clip}-{norm}", lambda tf, np, clip, norm: clip(tf, norm), clip=_NORMS, norm=(0.5, 5.0))


optimisers = Family("optimisers")
schedules = Family("schedules")


@optimisers("two-halves")
def _halves(tf: Any, np: Any) -> Plan:
    v = tf.Variable([3.0, -4.0], name="v")
    other = tf.Variable(1.0, name="other")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
    clipped = [(tf.clip_by_value(slope, -1.0, 1.0), v) for slope, v in pairs if slope is not None]
    facts = [[slope is None for slope, _ in pairs], [v.name for _, v in pairs]]
    return Plan(steps=[Step(optimizer.apply_gradients(clipped)), Step([v, other])], facts=facts)


@optimisers("only-some-variables")
def _some(tf: Any, np: Any) -> Plan:
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    train = tf.train.AdamOptimizer(0.1).minimize(a * b, var_list=[b])
    return Plan(steps=[Step(train), Step([a, b])])


optimisers.add("nothing-to-train", lambda tf, np: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0)))


@optimisers("unconnected")
def _unused(tf: Any, np: Any) -> Any:
    v = tf.Variable(1.0)
    return tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0), var_list=[v])


@optimisers("rate-fed")
def _fed_rate(tf: Any, np: Any) -> Plan:
    v, rate = tf.Variable(2.0), tf.placeholder(tf.float32, [])
    train = tf.train.GradientDescentOptimizer(rate).minimize(v * v)
    return Plan(steps=[Step(train, {rate: 0.1}), Step(v), Step(train, {rate: 0.5}), Step(v)])


@optimisers("slots")
def _slots(tf: Any, np: Any) -> Plan:
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(v * v))
    slots = [optimizer.get_slot(v, name) for name in ("m", "v")]
    facts = [[slot.name for slot in slots], [each.name for each in optimizer.variables()]]
    return Plan(steps=[Step(train), Step(slots)], facts=facts)


@optimisers("in-a-scope")
def _scoped(tf: Any, np: Any) -> Plan:
    with tf.variable_scope("model"):
        v = tf.get_variable("v", initializer=1.0)
    with tf.name_scope("train"):
        train = tf.train.MomentumOptimizer(0.1, 0.5, name="Mine").minimize(v * v)
    return Plan(facts=[[each.name for each in tf.global_variables()], train.name])


for _steps in (None, 2):

    @optimisers(f"moving-average-{_steps}")
    def _average(tf: Any, np: Any, steps: int | None = _steps) -> Plan:
        v = tf.Variable(1.0, name="v")
        average = tf.train.ExponentialMovingAverage(0.9, num_updates=steps)
        apply = average.apply([v])
        shadow = average.average(v)
        facts = [average.average_name(v), shadow.name, sorted(average.variables_to_restore())]
        return Plan(steps=[Step(v.assign(5.0)), Step(apply), Step(shadow), Step(apply), Step(shadow)], facts=facts)


@schedules("global-step")
def _global_step(tf: Any, np: Any) -> Plan:
    before = tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    facts = [before, step.name, step.dtype.name.removesuffix("_ref"), tf.train.get_or_create_global_step() is step]

    def drive(session: Any) -> Any:
        return [lambda: int(tf.train.global_step(session, step)), lambda: session.run(step.assign_add(3))]

    return Plan(drive=drive, facts=facts)


@schedules("second-global-step")
def _second_step(tf: Any, np: Any) -> Any:
    tf.train.create_global_step()
    return tf.train.create_global_step()


# -- many settings, of which our tests use the makers as well --------------------------------------


def _double(tf: Any, value: float) -> Any:
    return tf.constant(value, tf.float64)


OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adagrad_start": lambda tf: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=1.0),
    "adagrad_da": lambda tf: tf.train.AdagradDAOptimizer(0.1, tf.constant(0, tf.int64)),
    "adagrad_da_l1": lambda tf: tf.train.AdagradDAOptimizer(
        0.1, tf.constant(2, tf.int64), l1_regularization_strength=0.05, l2_regularization_strength=0.1
    ),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(),
    "adadelta_fast": lambda tf: tf.train.AdadeltaOptimizer(1.0, 0.9, 1e-2),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1),
    "rmsprop_momentum": lambda tf: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
    "rmsprop_centered": lambda tf: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3, centered=True),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
    "ftrl_l1_l2": lambda tf: tf.train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.3, l2_regularization_strength=0.2
    ),
    "ftrl_power": lambda tf: tf.train.FtrlOptimizer(0.1, learning_rate_power=-0.25, l1_regularization_strength=0.3),
    "ftrl_shrinkage": lambda tf: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.4),
    "ftrl_beta": lambda tf: tf.train.FtrlOptimizer(0.1, beta=0.5, l2_regularization_strength=0.2),
    "proximal_sgd": lambda tf: tf.train.ProximalGradientDescentOptimizer(
        _double(tf, 0.1), _double(tf, 0.0), _double(tf, 0.5)
    ),
    "proximal_sgd_l1": lambda tf: tf.train.ProximalGradientDescentOptimizer(
        _double(tf, 0.1), _double(tf, 0.3), _double(tf, 0.5)
    ),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(
        _double(tf, 0.1), 0.1, _double(tf, 0.0), _double(tf, 0.5)
    ),
    "proximal_adagrad_l1": lambda tf: tf.train.ProximalAdagradOptimizer(
        _double(tf, 0.1), 0.1, _double(tf, 0.3), _double(tf, 0.5)
    ),
}
DENSE_START = [1.0, 2.0, -3.0]
SPARSE_START = [[1.0, -1.0], [2.0, 0.0], [-3.0, 0.5], [0.25, 4.0]]
SLOPES = [[0.5, -1.0, 0.0], [-0.25, 2.0, 0.125], [1.5, 0.75, -0.5], [0.1, -0.3, 0.2]]
INDICES = [3, 1, 3]


def rows_of(slopes: Any) -> Any:
    """Return the rows of a sparse gradient, made of those of a dense one."""
    a, b, c = slopes
    return [[a, b], [c, -a], [0.5, c]]


@optimisers("steps-{make}-dense", make=OPTIMISERS)
def _dense_steps(tf: Any, np: Any, make: Callable[[Any], Any]) -> Plan:
    w = tf.Variable(np.array(DENSE_START), name="w")
    slope = tf.placeholder(tf.float64, [3])
    move = make(tf).apply_gradients([(slope, w)])
    steps = [each for slopes in SLOPES for each in (Step(move, {slope: slopes}), Step(w))]
    return Plan(steps=steps, tolerance=1e-12)


@optimisers("steps-{make}-sparse", make=OPTIMISERS)
def _sparse_steps(tf: Any, np: Any, make: Callable[[Any], Any]) -> Plan:
    """Rows with one index are added up, and rows without gradient stay, except where momenta move them."""
    w, rows = tf.Variable(np.array(SPARSE_START), name="w"), tf.placeholder(tf.float64, [3, 2])
    slope = tf.IndexedSlices(rows, tf.constant(INDICES), tf.constant([4, 2]))
    move = make(tf).apply_gradients([(slope, w)])
    steps = [each for slopes in SLOPES for each in (Step(move, {rows: rows_of(slopes)}), Step(w))]
    return Plan(steps=steps, tolerance=1e-12)


RATES: dict[str, Callable[[Any, Any], Any]] = {
    "exponential": lambda t, s: t.exponential_decay(0.1, s, 10, 0.5),
    "exponential_staircase": lambda t, s: t.exponential_decay(0.1, s, 10, 0.5, staircase=True),
    "inverse_time": lambda t, s: t.inverse_time_decay(0.1, s, 10, 0.5),
    "inverse_time_staircase": lambda t, s: t.inverse_time_decay(0.1, s, 10, 0.5, True),
    "natural_exp": lambda t, s: t.natural_exp_decay(0.1, s, 10, 0.5),
    "natural_exp_staircase": lambda t, s: t.natural_exp_decay(0.1, s, 10, 0.5, True),
    "piecewise": lambda t, s: t.piecewise_constant(s, [5, 12], [0.1, 0.05, 0.01]),
    "polynomial": lambda t, s: t.polynomial_decay(0.1, s, 10, 0.01),
    "polynomial_power": lambda t, s: t.polynomial_decay(0.1, s, 10, 0.01, 2.0),
    "polynomial_cycle": lambda t, s: t.polynomial_decay(0.1, s, 10, 0.01, 0.5, cycle=True),
    "cosine": lambda t, s: t.cosine_decay(0.1, s, 10, 0.2),
    "cosine_restarts": lambda t, s: t.cosine_decay_restarts(0.1, s, 5),
    "cosine_restarts_mul": lambda t, s: t.cosine_decay_restarts(0.1, s, 5, t_mul=1.0, m_mul=0.5, alpha=0.1),
    "cosine_restarts_t": lambda t, s: t.cosine_decay_restarts(0.1, s, 5, t_mul=1.5, m_mul=0.5, alpha=0.1),
    "linear_cosine": lambda t, s: t.linear_cosine_decay(0.1, s, 10),
    "linear_cosine_periods": lambda t, s: t.linear_cosine_decay(0.1, s, 10, num_periods=2.0, alpha=0.1, beta=0.01),
    "noisy": lambda t, s: t.noisy_linear_cosine_decay(0.1, s, 10, initial_variance=0.0),
}


@schedules("rate-{make}", make=RATES)
def _rate(tf: Any, np: Any, make: Callable[[Any, Any], Any]) -> Plan:
    step = tf.placeholder(tf.int64, [])
    rate = make(tf.train, step)
    steps = [Step(rate, {step: at}) for at in (0, 1, 5, 10, 12, 13, 25)]
    return Plan(rate, steps=steps)


FAMILIES = [gradients, optimisers, schedules]
