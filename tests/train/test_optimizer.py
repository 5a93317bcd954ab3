"""What all optimisers share, those that users write among them, and what each one refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    Graph,
    GraphKeys,
    IndexedSlices,
    Operation,
    Session,
    Variable,
    cast,
    constant,
    float32,
    float64,
    global_variables_initializer,
    int32,
    int64,
    ops,
    placeholder,
    reduce_sum,
    train,
    variable_scope,
)
from actorsession.ops.elements import arithmetic, elementwise
from actorsession.train import (
    AdamOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    get_or_create_global_step,
)
from scripts.differentials.families.training import DENSE_START, INDICES, OPTIMISERS, SLOPES, SPARSE_START, rows_of
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import refusing

MAKERS = [
    lambda: GradientDescentOptimizer(0.1),
    lambda: MomentumOptimizer(0.1, 0.9),
    lambda: AdamOptimizer(0.1, beta2=0.99),  # bfloat16 knows no 0.999
]
EVERY = pytest.mark.parametrize("make", MAKERS, ids=["sgd", "momentum", "adam"])


def started() -> Variables:
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    return state


def squares(*variables: Variable) -> Any:
    return arithmetic.add_n([reduce_sum(elementwise.square(w.value())) for w in variables])


# -- training ------------------------------------------------------------------------------------


@EVERY
def test_the_operation_of_a_step_is_named_after_the_optimizer(make: Any, graph: Graph) -> None:
    w = Variable([1.0], name="w")
    optimizer = make()
    train = optimizer.minimize(squares(w))
    assert train.name == optimizer.get_name()
    assert graph.get_collection(GraphKeys.TRAIN_OP) == [train]
    assert make().minimize(squares(w), get_or_create_global_step(), name="learn").name == "learn"
    updates = [op.name for op in graph.get_operations() if "Apply" in op.type]
    assert updates[0].startswith(f"{optimizer.get_name()}/update_w/")


@EVERY
def test_the_global_step_counts_only_after_all_updates(make: Any) -> None:
    a, b = Variable([1.0]), Variable([1.0])
    train = make().minimize(squares(a, b), get_or_create_global_step())
    seen: set[Operation] = set()
    waiting = [train]
    while waiting:
        op = waiting.pop()
        seen.add(op)
        waiting.extend(op.control_inputs)
    assert len([op for op in seen if op.type.startswith("ResourceApply")]) == 2


@EVERY
def test_a_plain_value_will_do_as_gradient(make: Any) -> None:
    w = Variable([1.0], dtype=float64)
    train = make().apply_gradients([([0.5], w), (None, Variable([2.0]))])
    state = started()
    evaluate([train], None, state)
    assert evaluate([w], None, state)[0][0] < 1.0


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_gates_do_not_change_gradients(gate: int) -> None:
    a, b = Variable([3.0]), Variable([5.0])
    pairs = GradientDescentOptimizer(0.1).compute_gradients(reduce_sum(a.value() * b.value()), gate_gradients=gate)
    state = started()
    assert [evaluate([g], None, state)[0].tolist() for g, _ in pairs] == [[5.0], [3.0]]


def test_the_gate_of_the_whole_graph_makes_all_gradients_wait_for_all() -> None:
    a, b = Variable([3.0]), Variable([5.0])
    loss = squares(a) + squares(b)
    gated = GradientDescentOptimizer(0.1).compute_gradients(loss, gate_gradients=Optimizer.GATE_GRAPH)
    assert len({op for g, _ in gated if g is not None for op in g.op.control_inputs}) == 1


def test_the_trainable_variables_of_the_graph_of_the_loss_are_trained() -> None:
    a, b = Variable([1.0]), Variable([1.0])
    Variable([1.0], trainable=False)
    loss = squares(a, b)
    with Graph().as_default():
        pairs = GradientDescentOptimizer(0.1).compute_gradients(loss)
    assert [v for _, v in pairs] == [a, b]


def test_a_variable_that_the_loss_does_not_use_has_no_gradient_and_stays() -> None:
    a, b = Variable([1.0]), Variable([1.0])
    optimizer = AdamOptimizer(0.1)
    pairs = optimizer.compute_gradients(squares(a))
    assert pairs[1] == (None, b)
    optimizer.apply_gradients(pairs)
    assert optimizer.get_slot(b, "m") is None


def test_slots_are_made_once_however_often_gradients_are_applied() -> None:
    w = Variable([1.0])
    optimizer = AdamOptimizer()
    optimizer.minimize(squares(w))
    first = optimizer.variables()
    optimizer.minimize(squares(w))
    assert optimizer.variables() == first
    # Asking for a slot that does not exist gives nothing.
    assert GradientDescentOptimizer(0.1).get_slot(Variable([1.0]), "momentum") is None
    assert GradientDescentOptimizer(0.1).get_slot_names() == []
    # Two optimizers keep apart.
    w = Variable([1.0], name="w")
    one, two = MomentumOptimizer(0.1, 0.9), MomentumOptimizer(0.1, 0.9)
    one.minimize(squares(w))
    two.minimize(squares(w))
    assert one.get_slot(w, "momentum") is not two.get_slot(w, "momentum")


def test_slots_stand_below_the_scope_in_which_training_is_built() -> None:
    """And not below that of their variable, so that optimisers in scopes of their own keep apart."""
    with variable_scope("net"):
        w = Variable([1.0], name="w")
    names = []
    for scope in ("first", "second"):
        optimizer = MomentumOptimizer(0.1, 0.9)
        with variable_scope(scope):
            optimizer.minimize(squares(w))
        slot = optimizer.get_slot(w, "momentum")
        assert slot is not None
        names.append(slot.op.name)
    assert names == ["first/net/w/Momentum", "second/net/w/Momentum"]


@EVERY
def test_slots_and_updates_are_placed_beside_their_variable(make: Any, graph: Graph) -> None:
    """With variables on parameter servers and the rest on a worker."""
    with graph.device("/job:ps/task:0"):
        a = Variable([1.0], name="a")
    with graph.device("/job:ps/task:1"):
        b = Variable([1.0], name="b")
    with graph.device("/job:worker/task:0"):
        optimizer = make()
        optimizer.minimize(squares(a, b))
    for variable, device in ((a, "/job:ps/task:0"), (b, "/job:ps/task:1")):
        group = (f"loc:@{variable.op.name}",)
        for slot in [optimizer.get_slot(variable, name) for name in optimizer.get_slot_names()]:
            assert slot is not None
            assert slot.device == slot.initial_value.device == device
            assert slot.op.groups() == group
        updates = [
            op for op in graph.get_operations() if "ResourceApply" in op.type and op.inputs[0] is variable.handle
        ]
        assert [(op.device, op.groups()) for op in updates] == [(device, group)]


def test_the_powers_of_adam_are_placed_beside_the_first_variable(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        b = Variable([1.0], name="b")
    with graph.device("/job:ps/task:0"):
        a = Variable([1.0], name="a")
    optimizer = AdamOptimizer()
    optimizer.minimize(squares(b, a))
    assert optimizer.variables()[-2].device == "/job:ps/task:0"
    powers = [v for v in optimizer.variables() if v.name.startswith("beta")]
    assert [v.device for v in powers] == ["/job:ps/task:0"] * 2


# -- rates and powers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make_rate", [lambda: 0.5, lambda: constant(0.5), lambda: Variable(0.5, trainable=False), lambda: lambda: 0.5]
)
@pytest.mark.parametrize("dtype", [float32, float64])
def test_a_rate_is_a_number_a_tensor_a_variable_or_a_function(make_rate: Any, dtype: Any) -> None:
    w = Variable([1.0, 2.0], dtype=dtype)
    train = GradientDescentOptimizer(make_rate()).apply_gradients([([4.0, -2.0], w)])
    state = started()
    evaluate([train], None, state)
    assert evaluate([w], None, state)[0].tolist() == [-1.0, 3.0]


def test_rows_are_subtracted_where_they_are(graph: Graph) -> None:
    """Without adding them up first, which would take as long as the whole."""
    w = Variable(np.zeros((1000, 2), np.float32))
    rows = IndexedSlices(constant([[1.0, 2.0], [3.0, 4.0]]), constant([7, 7]))
    GradientDescentOptimizer(0.5).apply_gradients([(rows, w)])
    assert not [op for op in graph.get_operations() if op.type == "UnsortedSegmentSum"]


def test_all_updates_of_a_step_use_the_same_powers_of_adam(graph: Graph) -> None:
    """They are read before any update, and multiplied after all of them."""
    a, b = Variable([1.0]), Variable([1.0])
    AdamOptimizer().apply_gradients([([1.0], a), ([1.0], b)])
    updates = [op for op in graph.get_operations() if op.type == "ResourceApplyAdam"]
    assert updates[0].inputs[3:5] == updates[1].inputs[3:5]
    last = [op for op in graph.get_operations() if op.type == "AssignVariableOp" and op.name.startswith("Adam/")]
    assert len(last) == 2
    for op in last:
        assert set(updates) <= set(op.control_inputs)


# -- what does not fit ---------------------------------------------------------------------------


def test_a_loss_may_be_built_by_a_function() -> None:
    w = Variable([1.0, 2.0], name="w")
    ((grad, var),) = GradientDescentOptimizer(0.1).compute_gradients(lambda: w * w)
    with Session() as session:
        session.run(w.initializer)
        assert session.run(grad).tolist() == [2.0, 4.0]
    assert var is w
    # What is no variable cannot be trained.
    loss = squares(Variable([1.0]))
    with pytest.raises(TypeError, match="var_list must contain variables, got str"):
        GradientDescentOptimizer(0.1).minimize(loss, var_list=["w"])
    with pytest.raises(TypeError, match="expected a variable, got str"):
        GradientDescentOptimizer(0.1).apply_gradients([(loss, "w")])  # type: ignore[list-item]
    with pytest.raises(NotImplementedError, match="a tensor cannot be updated"):
        GradientDescentOptimizer(0.1).minimize(loss, var_list=[loss])
    # Variables may come alone and in structures.
    a, b = Variable([1.0]), Variable([1.0])
    optimizer = GradientDescentOptimizer(0.1)
    assert [v for _, v in optimizer.compute_gradients(squares(a, b), a)] == [a]
    structure = {"second": [b], "first": (a,)}
    assert [v for _, v in optimizer.compute_gradients(squares(a, b), structure)] == [a, b]
    # Gradients of tensors can be had beside those of variables.
    w = Variable([3.0])
    doubled = w.value() * 2.0
    loss = reduce_sum(doubled * doubled)
    (slope, _), (none, _) = GradientDescentOptimizer(0.1).compute_gradients(loss, [doubled, w * 2.0])
    assert none is None
    assert evaluate([slope], None, started())[0].tolist() == [12.0]


def test_integer_variables_are_passed_over() -> None:
    v, count = Variable([1.0]), Variable(2)
    optimizer = GradientDescentOptimizer(0.5)
    loss = squares(v) * cast(count, float32)
    [(grad, _), none] = optimizer.compute_gradients(loss)
    assert (grad is not None, none) == (True, (None, count))
    train_op = optimizer.minimize(loss)
    with Session() as sess:
        sess.run(global_variables_initializer())
        sess.run(train_op)
        assert [sess.run(v).tolist(), sess.run(count)] == [[-1.0], 2]
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(loss, var_list=[count])


def test_a_variable_is_held_to_its_constraint_after_each_update() -> None:
    v = Variable([1.0, -1.0], constraint=lambda x: arithmetic.maximum(x, 0.0))
    train = GradientDescentOptimizer(0.25).minimize(reduce_sum(v))
    with Session() as session:
        session.run(v.initializer)
        session.run(train)
        assert session.run(v).tolist() == [0.75, 0.0]


def _minimize(loss: Any, **arguments: Any) -> Any:
    """Train a variable ``w``; the loss may be a function of it."""
    w = Variable([1.0], name="w")
    return GradientDescentOptimizer(0.1).minimize(loss(w) if callable(loss) else loss, **arguments)


test_what_cannot_be_trained_is_refused = refusing(
    (lambda: _minimize(constant(1.0)), r"between variables \['w:0'\]"),
    (lambda: _minimize(lambda w: cast(squares(w), int32)), "int32; it must have a floating-point type"),
    (lambda: GradientDescentOptimizer(0.1).minimize(constant(1.0)), "no variables to train"),
    (lambda: GradientDescentOptimizer(0.1).apply_gradients([]), "at least one pair"),
    (
        lambda: GradientDescentOptimizer(0.1).apply_gradients([(None, Variable([1.0]))]),
        "No gradients provided for any variable",
    ),
    (lambda: GradientDescentOptimizer(0.1).minimize(squares(Variable([1.0])), gate_gradients=7), "GATE_OP"),
    (lambda: GradientDescentOptimizer(0.1).apply_gradients([([1.0, 2.0], Variable([1.0]))]), "shape"),
    (lambda: GradientDescentOptimizer(0.1, name=""), "name"),
    (lambda: Optimizer(False, "Bare").minimize(squares(Variable([1.0]))), NotImplementedError, "_apply_dense"),
)


class Counting(Optimizer):
    """Gradient descent that counts its steps and keeps the last gradient."""

    def __init__(self, rate: Any) -> None:
        super().__init__(False, "Counting")
        self._rate = rate

    def _prepare(self) -> None:
        self._rate_now = ops.convert_to_tensor(self._call_if_callable(self._rate))

    def _create_slots(self, var_list: Any) -> None:
        self._create_non_slot_variable(0.0, "steps", min(var_list, key=lambda v: v.name))
        for var in var_list:
            self._get_or_make_slot(var, ops.fill([2], 7.0), "last", self._name)
            zeros = ops.zeros_initializer()
            self._get_or_make_slot_with_initializer(var, zeros, var.shape, var.dtype, "sum", "Counting/sum")

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        last = self.get_slot(handle, "last")
        assert last is not None
        return ops.group(ops.assign_sub(handle, self._rate_now * grad), ops.assign(last, grad))

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        steps = self._get_non_slot_variable("steps")
        assert steps is not None
        return ops.group(*update_ops, ops.assign_add(steps, 1.0), name=name_scope)


def test_slots_and_loose_variables_are_made_by_tensorflows_names(graph: Graph, session: Session) -> None:
    v = ops.Variable([1.0, 2.0], name="v")
    optimizer = Counting(lambda: 0.5)
    step = optimizer.minimize(ops.reduce_sum(v * v))
    last: Any = optimizer.get_slot(v, "last")
    (steps,) = optimizer._non_slot_variables()
    assert [x.name for x in optimizer.variables()] == ["steps:0", "v/Counting/sum:0", "v/Counting:0"]
    session.run(ops.global_variables_initializer())
    assert session.run(last).tolist() == [7.0, 7.0]
    session.run(step)
    assert [value.tolist() for value in session.run([v, last, steps])] == [[0.0, 0.0], [2.0, 4.0], 1.0]


class Rows(Optimizer):
    """Takes rows as ``_apply_sparse`` gives them."""

    def __init__(self) -> None:
        super().__init__(False, "Rows")
        self.seen: list[Any] = []

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return ops.assign_sub(var, grad).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        self.seen.append(grad)
        return ops.scatter_update(var, grad.indices, -grad.values).op


class RowsOfResources(Rows):
    """The same by the other name."""

    _apply_sparse = Optimizer._apply_sparse

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return ops.scatter_update(handle, indices, -grad)


def test_a_class_of_a_user_is_given_each_row_once(graph: Graph, session: Session) -> None:
    for kind in (Rows, RowsOfResources):
        table = ops.Variable(np.ones((3, 2), np.float32))
        step = kind().minimize(ops.reduce_sum(ops.gather(table, [2, 0, 2])), var_list=[table])
        session.run(table.initializer)
        session.run(step)
        np.testing.assert_array_equal(session.run(table), [[-1, -1], [1, 1], [-2, -2]])


class LazyAdam(AdamOptimizer):
    """Adam whose sparse update is the user's own."""

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return ops.scatter_add(var, grad.indices, grad.values).op


def test_a_subclass_of_ours_is_given_each_row_once_too(graph: Graph, session: Session) -> None:
    table = ops.Variable(np.zeros((3, 1), np.float32))
    step = LazyAdam(0.1).minimize(ops.reduce_sum(ops.gather(table, [1, 1])), var_list=[table])
    session.run(ops.global_variables_initializer())
    session.run(step)
    np.testing.assert_array_equal(session.run(table), [[0], [2], [0]])


RULES = pytest.mark.parametrize("name", OPTIMISERS)


# -- values --------------------------------------------------------------------------------------


def moved(name: str, *, inline: bool, sparse: bool = False) -> list[Any]:
    """The variable after each step, as a session or the evaluator of tests runs it."""
    with Graph().as_default() as graph:
        w = Variable(SPARSE_START if sparse else DENSE_START, dtype=float64)
        shape = [3, 2] if sparse else [3]
        fed = source(float64, shape) if inline else placeholder(float64, shape)
        grad = IndexedSlices(fed, constant(INDICES), constant([4, 2])) if sparse else fed
        move = OPTIMISERS[name](acts).apply_gradients([(grad, w)])
        feeds = [{fed: rows_of(slopes) if sparse else slopes} for slopes in SLOPES]
        if inline:
            state, found = started(), []
            for feed in feeds:
                evaluate([move], feed, state)
                found.append(evaluate([w], None, state)[0])
            return found
        with Session(graph=graph) as session:
            session.run(global_variables_initializer())
            return [session.run(w) for feed in feeds if session.run(move, feed) is None]


@RULES
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_sessions_give_the_numbers_of_steps_without_them(name: str, sparse: bool) -> None:
    """They update in place, and run an update as part of a plan."""
    inline = moved(name, inline=True, sparse=sparse)
    for found, wanted in zip(moved(name, inline=False, sparse=sparse), inline, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@RULES
def test_sparse_gradients_need_not_say_how_large_the_whole_is(name: str) -> None:
    w = Variable(SPARSE_START, dtype=float64)
    grad = IndexedSlices(constant([[1.0, 1.0]], float64), constant([1]))
    move = OPTIMISERS[name](acts).apply_gradients([(grad, w)])
    state = started()
    evaluate([move], None, state)
    found = evaluate([w], None, state)[0]
    assert found[0].tolist() == [1.0, -1.0]
    assert (found[1] != [2.0, 0.0]).all()


@RULES
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_smaller_floating_types_move_about_as_far(name: str, dtype: str) -> None:
    w = Variable(DENSE_START, dtype=dtype)
    make: Any = OPTIMISERS[name]
    if name == "adam" and dtype == "bfloat16":  # which has no 0.999
        make = lambda tf: tf.train.AdamOptimizer(0.1, beta2=0.99)  # noqa: E731
    move = make(acts).apply_gradients([(constant(SLOPES[0], dtype), w)])
    state = started()
    evaluate([move], None, state)
    found = evaluate([w], None, state)[0].astype(float)
    limit = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 6e-2}[dtype]
    # In float16 the epsilons of Adam and Adadelta are 0, which makes 0 / 0 of a slope of 0.
    wanted = moved(name, inline=True)[0]
    np.testing.assert_allclose(found[:2], wanted[:2], rtol=limit, atol=limit)


@RULES
def test_variables_of_open_shape_are_trained(name: str) -> None:
    w = Variable(np.array(DENSE_START), validate_shape=False)
    move = OPTIMISERS[name](acts).apply_gradients([(constant(SLOPES[0], float64), w)])
    state = started()
    evaluate([move], None, state)
    wanted = moved(name, inline=True)[0]
    np.testing.assert_allclose(evaluate([w], None, state)[0], wanted, rtol=1e-12, atol=1e-15)


def test_the_slots_of_ftrl_may_be_named_and_those_of_dual_averaging_have_names() -> None:
    w = Variable(DENSE_START, name="w")
    optimizer = train.FtrlOptimizer(0.1, accum_name="squares", linear_name="sum")
    optimizer.apply_gradients([(constant(SLOPES[0]), w)])
    assert [v.name for v in optimizer.variables()] == ["w/squares:0", "w/sum:0"]
    dual = train.AdagradDAOptimizer(0.1, constant(0, int64))
    dual.apply_gradients([(constant(SLOPES[0]), w)])
    assert [v.name for v in dual.variables()] == ["w/AdagradDA:0", "w/AdagradDA_1:0"]
    assert dual.get_slot_names() == ["gradient_accumulator", "gradient_squared_accumulator"]


def test_the_ops_are_those_of_tensorflow(graph: Graph) -> None:
    w = Variable(SPARSE_START, dtype=float64)
    dense = constant(np.ones([4, 2]))
    sparse = IndexedSlices(constant([[1.0, 1.0]], float64), constant([1]))
    for name in ("adagrad_da", "rmsprop", "rmsprop_centered", "ftrl", "ftrl_shrinkage"):
        for grad in (dense, sparse):
            OPTIMISERS[name](acts).apply_gradients([(grad, w)])
    kinds = ("AdagradDA", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2")
    wanted = [f"Resource{how}{kind}" for kind in kinds for how in ("Apply", "SparseApply")]
    assert [op.type for op in graph.get_operations() if "Apply" in op.type] == wanted


def _ftrl(**given: Any) -> Any:
    return lambda: train.FtrlOptimizer(0.1, **given)


STRENGTHS = [f"{name}_regularization_strength" for name in ("l1", "l2", "l2_shrinkage")]


test_numbers_out_of_range_are_refused = refusing(
    (lambda: train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive"),
    (lambda: train.ProximalAdagradOptimizer(0.1, -1.0), "initial_accumulator_value must be positive"),
    (lambda: train.AdagradDAOptimizer(0.1, 0, 0.0), "squared_accumulator_value must be positive"),
    (_ftrl(learning_rate_power=0.5), "learning_rate_power must be at most 0, got 0.5"),
    (_ftrl(initial_accumulator_value=-1.0), "at least 0"),
    *[(_ftrl(**{name: -1.0}), f"{name} must be at least 0") for name in STRENGTHS],
)
