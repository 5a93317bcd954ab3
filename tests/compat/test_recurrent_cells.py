"""``tf.nn.rnn_cell``: devices and dtypes of cells, how their variables are shared, what is refused.

What each cell computes and how its variables are called is compared with TensorFlow in the family ``cells``
of the differential programs.
"""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from tests.compat.recurrent import names, reals
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

cells = tf.nn.rnn_cell
X, H, C = reals(2, 3), reals(2, 4, seed=1), reals(2, 4, seed=2)


def test_a_cell_can_have_its_device() -> None:
    cell = cells.DeviceWrapper(cells.BasicRNNCell(4), "/cpu:0")
    state = cell.zero_state(2, tf.float32)
    output, _ = cell(tf.constant(X), state)
    assert [t.device for t in (state, output)] == ["/device:CPU:0"] * 2


def test_the_dtype_is_that_of_the_first_inputs() -> None:
    cell = cells.GRUCell(2)
    assert cell.dtype is None
    cell(tf.zeros([1, 3], tf.float64), cell.zero_state(1, tf.float64))
    assert cell.dtype == tf.float64
    assert {v.dtype.base_dtype for v in cell.variables} == {tf.float64}


# -- names -----------------------------------------------------------------------------------------


def test_a_cell_has_the_same_variables_wherever_it_is_called() -> None:
    cell = cells.BasicRNNCell(2)
    for scope in ("a", "b"):
        with tf.variable_scope(scope):
            cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert names() == ["a/basic_rnn_cell/kernel", "a/basic_rnn_cell/bias"]


@pytest.mark.parametrize("how", ["scope", "argument", "auto"])
def test_another_cell_can_share_them(how: str) -> None:
    made = []
    for number in range(2):
        again: Any = {"scope": bool(number), "argument": False, "auto": tf.AUTO_REUSE}[how]
        with tf.variable_scope("net", reuse=again):
            cell = cells.GRUCell(2, reuse=bool(number) if how == "argument" else None)
            cell(tf.constant(X), cell.zero_state(2, tf.float32))
        made.append(cell.variables)
    assert all(a is b for a, b in zip(*made, strict=True))
    assert len(names()) == 4


def test_a_cell_need_not_be_trained() -> None:
    cell = cells.BasicRNNCell(2, trainable=False)
    cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert (tf.trainable_variables(), cell.trainable_weights) == ([], [])
    assert cell.non_trainable_weights == cell.variables == tf.global_variables()


def test_a_copy_of_a_cell_that_was_not_called_has_its_own_variables() -> None:
    keep = tf.placeholder_with_default(1.0, [])
    cell = cells.DropoutWrapper(cells.BasicRNNCell(2), output_keep_prob=keep)
    for each in (cell, copy.deepcopy(cell)):
        each(tf.constant(X), each.zero_state(2, tf.float32))
    assert names()[::2] == ["basic_rnn_cell/kernel", "basic_rnn_cell_1/kernel"]


def test_one_cell_in_two_layers_shares_its_weights_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        cell = cells.MultiRNNCell([cells.GRUCell(3)] * 2)
    assert "share weights" in caplog.text
    cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert len(names()) == len(cell.weights) == 4
    assert cell.weights[0].op.name == "multi_rnn_cell/cell_0/gru_cell/gates/kernel"


# -- cells of programs -----------------------------------------------------------------------------


class Decaying(cells.RNNCell):
    """Its variables are made by ``build``."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._units = units

    @property
    def state_size(self) -> int:
        return self._units

    @property
    def output_size(self) -> int:
        return self._units

    def build(self, inputs_shape: Any) -> None:
        self._kernel = self.add_weight("kernel", [int(inputs_shape[1]), self._units])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        state = 0.5 * state + tf.matmul(inputs, self._kernel)
        return tf.sigmoid(state), state


class Asking(Decaying):
    """Its variables are made by ``get_variable`` in ``call``."""

    def build(self, inputs_shape: Any) -> None:
        pass

    def call(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        assert scope.name.endswith("asking")
        self._kernel = tf.get_variable("kernel", [3, self._units])
        self._rate = tf.get_variable("rate", [], trainable=False)
        self._more = self.add_variable("more", [])
        return super().call(inputs, state)


def test_cells_of_a_program_know_and_share_their_variables() -> None:
    cell = Asking(4)
    for _ in range(2):
        cell(tf.constant(X), tf.constant(H))
    assert names() == ["asking/kernel", "asking/rate", "asking/more"]
    assert [v.op.name for v in cell.trainable_variables] == ["asking/kernel", "asking/more"]
    assert [v.op.name for v in cell.non_trainable_variables] == ["asking/rate"]
    # They share by a scope.
    for reuse in (None, True):
        with tf.variable_scope("net", reuse=reuse):
            Decaying(4)(tf.constant(X), tf.constant(H))
    assert names() == ["net/decaying/kernel"]

    # They say what they lack.
    class Nothing(cells.RNNCell):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no state_size"):
        _ = Nothing().state_size
    with pytest.raises(NotImplementedError, match="Nothing has no method call"):
        Nothing()(tf.constant(X), None)
    with pytest.raises(ValueError, match="no scope before it is called"):
        _ = Nothing().scope_name


def test_a_first_state_can_come_from_inputs() -> None:
    cell = Decaying(4)
    state = cell.get_initial_state(inputs=tf.zeros([5, 3], tf.float64))
    assert (state.shape.as_list(), state.dtype) == ([5, 4], tf.float64)
    with pytest.raises(ValueError, match="inputs have batch size 5, but batch_size is 2"):
        cell.get_initial_state(inputs=tf.zeros([5, 3]), batch_size=2)
    with pytest.raises(ValueError, match="inputs have dtype float32"):
        cell.get_initial_state(inputs=tf.zeros([5, 3]), dtype=tf.float64)
    with pytest.raises(ValueError, match="batch_size and dtype cannot be None"):
        cell.get_initial_state(batch_size=2)


# -- refusals --------------------------------------------------------------------------------------


@for_each(
    "make, kind, words",
    [
        (lambda: cells.GRUCell(2, units=2), TypeError, "GRUCell has no argument 'units'"),
        (lambda: cells.GRUCell(2, dtype=tf.int32), ValueError, "only supports floating point"),
        (lambda: cells.GRUCell(2, activation="loud"), ValueError, "loud. Known names are elu, "),
        (lambda: cells.GRUCell(2, activation=3), TypeError, "a function or the name of one, got 3"),
        (lambda: cells.MultiRNNCell([]), ValueError, "at least one cell"),
        (lambda: cells.MultiRNNCell(cells.GRUCell(2)), TypeError, "must be a list or tuple"),
        (
            lambda: cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False),
            ValueError,
            "the flag state_is_tuple is not set",
        ),
        (lambda: cells.DropoutWrapper(3), TypeError, "'cell' .3. is not an RNNCell: 'output_size'"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(make: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize(
    ("shape", "words"), [([2], "expected ndim=2, found ndim=1"), ([2, None], r"inputs.shape\[-1\] to be known")]
)
def test_inputs_that_fit_no_cell_are_refused(shape: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cells.GRUCell(2)(tf.placeholder(tf.float32, shape), tf.zeros([2, 2]))


def test_memory_and_output_have_one_dtype() -> None:
    assert cells.LSTMStateTuple(tf.constant(1.0), tf.constant(1.0)).dtype == tf.float32
    with pytest.raises(TypeError, match="float32 vs float64"):
        _ = cells.LSTMStateTuple(tf.constant(1.0), tf.constant(1.0, tf.float64)).dtype
