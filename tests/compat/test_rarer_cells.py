# ruff: noqa: E501 - a table
"""The rarer cells of ``tf.contrib.rnn``, by numbers that TensorFlow 1.15 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

R: Any = tf.contrib.rnn
GRID: dict[str, Any] = {"feature_size": 2, "frequency_skip": 2, "num_frequency_blocks": [3]}
INPUTS = np.sin(np.arange(36)).reshape(3, 2, 6).astype(np.float32)


def first(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    """The initial values of weights."""
    count = int(np.prod(shape))
    return tf.constant(np.cos(np.arange(count) * 1.7 + count).reshape(shape) * 0.6, tf.float32)


def unrolled(cell: Any, inputs: Any) -> tuple[list[Any], Any]:
    outputs, state = [], cell.zero_state(2, tf.float32)
    with tf.variable_scope("rnn") as scope:
        for step in inputs:
            output, state = cell(step, state)
            outputs.append(output)
            scope.reuse_variables()
    return outputs, state


# A cell, its weights, the first row of the third output, and the sizes of the gradients of its weights.
CASES: dict[str, Any] = {
    'coupled': (lambda: R.CoupledInputForgetGateLSTMCell(4), ['W_0', 'B'], [-0.171, 0.142, -0.029, -0.29], [15.037, 4.079]),
    'coupled with peepholes': (lambda: R.CoupledInputForgetGateLSTMCell(4,True,num_proj=3,proj_clip=.3,num_unit_shards=2,num_proj_shards=2), ['W_0', 'W_1', 'B', 'W_F_diag', 'W_O_diag', 'W_P_0', 'W_P_1'], [-0.132, -0.009, 0.134], [5.582, 2.059, 2.157, 0.042, 0.291, 1.232, 2.56]),
    'coupled and normalised': (lambda: R.CoupledInputForgetGateLSTMCell(4,layer_norm=True,state_is_tuple=False), ['W_0', 'B', 'transform/gamma', 'transform/beta', 'forget/gamma', 'forget/beta', 'output/gamma', 'output/beta', 'state/gamma', 'state/beta'], [-0.263, 0.503, 0.025, -0.427], [61.571, 4.741, 5.328, 3.504, 4.141, 3.261, 6.234, 9.064, 14.599]),
    'searched': (lambda: R.NASCell(4), ['recurrent_kernel', 'kernel'], [0.0, 0.0, 0.022, 0.024], [0.006, 1.038]),
    'searched and projected': (lambda: R.NASCell(4,3,use_bias=True), ['recurrent_kernel', 'kernel', 'bias', 'projection_weights'], [-0.02, -0.006, 0.022], [0.006, 0.919, 0.262, 0.048]),
    'intersection': (lambda: R.IntersectionRNNCell(6), ['kernel', 'bias'], [-0.665, -0.099, 0.573, 0.691, 0.201, -0.49], [106.623, 29.943]),
    'intersection of projected': (lambda: R.IntersectionRNNCell(4,4), ['in_projection/kernel', 'in_projection/bias', 'kernel', 'bias'], [0.286, -0.209, -0.452, 0.459], [122.708, 36.552, 34.596, 12.142]),
    'simple': (lambda: R.SRUCell(4), ['kernel', 'bias'], [0.007, -0.03, 0.001, 0.03], [6.555, 0.02]),
    'independent': (lambda: R.IndRNNCell(4), ['kernel_w', 'kernel_u', 'bias'], [0.926, -0.192, -0.347, 0.175], [100.608, 12.126, 30.269]),
    'independent GRU': (lambda: R.IndyGRUCell(4), ['gates/kernel_w', 'gates/kernel_u', 'gates/bias', 'candidate/kernel', 'candidate/kernel_u', 'candidate/bias'], [0.166, -0.155, -0.53, -0.067], [9.522, 0.344, 2.372, 32.588, 1.634, 9.684]),
    'independent LSTM': (lambda: R.IndyLSTMCell(4), ['kernel_w', 'kernel_u', 'bias'], [-0.001, -0.019, 0.02, 0.019], [2.995, 0.006, 0.854]),
    'in groups': (lambda: R.GLSTMCell(4,number_of_groups=2), ['group0/kernel', 'group1/kernel', 'bias_i', 'bias_j', 'bias_f', 'bias_o'], [-0.028, -0.334, 0.094, 0.206], [5.227, 4.834, 1.208, 2.263, 0.302, 1.749]),
    'in groups and projected': (lambda: R.GLSTMCell(4,num_proj=2,number_of_groups=2), ['group0/kernel', 'group1/kernel', 'bias_i', 'bias_j', 'bias_f', 'bias_o', 'projection/kernel'], [0.143, 0.014], [0.28, 1.626, 0.09, 0.755, 0.027, 0.157, 1.584]),
    'over frequencies': (lambda: R.TimeFreqLSTMCell(4,True,.2,feature_size=6), ['W_0', 'B', 'W_F_diag', 'W_I_diag', 'W_O_diag'], [-0.001, 0.014, -0.002, -0.012], [1.729, 0.486, 0.0, 0.0, 0.0]),
    'grid': (lambda: R.GridLSTMCell(2,**GRID), ['W_f_0_0', 'B_f_0', 'W_t_0_0', 'B_t_0'], [-0.12, 0.063, -0.031, 0.111, 0.011, -0.267, -0.021, -0.118, 0.062, 0.168, 0.016, -0.09], [3.566, 3.579, 6.775, 3.75]),
    'grid with peepholes': (lambda: R.GridLSTMCell(2,use_peepholes=True,cell_clip=.3,**GRID), ['W_f_0_0', 'B_f_0', 'W_t_0_0', 'B_t_0', 'W_F_diag_freqf_0', 'W_F_diag_freqt_0', 'W_I_diag_freqf_0', 'W_I_diag_freqt_0', 'W_O_diag_freqf_0', 'W_O_diag_freqt_0', 'W_F_diag_timef_0', 'W_F_diag_timet_0', 'W_I_diag_timef_0', 'W_I_diag_timet_0', 'W_O_diag_timef_0', 'W_O_diag_timet_0'], [-0.125, 0.06, -0.031, 0.108, 0.006, -0.115, -0.026, -0.115, 0.068, 0.148, 0.01, -0.053], [1.516, 1.167, 3.324, 2.223, 0.011, 0.006, 0.015, 0.009, 0.087, 0.083, 0.007, 0.014, 0.046, 0.01, 0.108, 0.028]),
    'grid with shared weights': (lambda: R.GridLSTMCell(2,use_peepholes=True,share_time_frequency_weights=True,**GRID), ['W_f_0_0', 'B_f_0', 'W_F_diag_freqf_0', 'W_F_diag_freqt_0', 'W_I_diag_freqf_0', 'W_I_diag_freqt_0', 'W_O_diag_freqf_0', 'W_O_diag_freqt_0'], [-0.125, 0.06, -0.031, 0.108, 0.018, -0.471, -0.015, -0.229, 0.032, 0.189, 0.007, -0.105], [22.001, 16.927, 0.176, 0.018, 0.165, 0.621, 1.614, 2.976]),
    'grid with coupled gates': (lambda: R.GridLSTMCell(2,couple_input_forget_gates=True,use_peepholes=True,num_unit_shards=2,**GRID), ['W_f_0_0', 'W_f_0_1', 'B_f_0', 'W_t_0_0', 'W_t_0_1', 'B_t_0', 'W_I_diag_freqf_0', 'W_I_diag_freqt_0', 'W_O_diag_freqf_0', 'W_O_diag_freqt_0', 'W_I_diag_timef_0', 'W_I_diag_timet_0', 'W_O_diag_timef_0', 'W_O_diag_timet_0'], [0.109, 0.052, 0.051, 0.051, 0.03, -0.199, 0.086, -0.09, -0.207, 0.001, -0.098, -0.061], [3.328, 0.534, 4.312, 7.357, 0.982, 4.949, 0.06, 0.08, 0.036, 0.043, 0.025, 0.022, 0.065, 0.114]),
    'grid with a flat state': (lambda: R.GridLSTMCell(2,state_is_tuple=False,**GRID), ['W_f_0_0', 'B_f_0', 'W_t_0_0', 'B_t_0'], [-0.12, 0.063, -0.031, 0.111, 0.011, -0.267, -0.021, -0.118, 0.062, 0.168, 0.016, -0.09], [3.566, 3.579, 6.775, 3.75]),
    'grid of two blocks': (lambda: R.GridLSTMCell(2,feature_size=2,frequency_skip=1,num_frequency_blocks=[2,1],start_freqindex_list=[0,3],end_freqindex_list=[3,5]), ['W_f_0_0', 'B_f_0', 'W_t_0_0', 'B_t_0', 'W_f_1_0', 'B_f_1', 'W_t_1_0', 'B_t_1'], [-0.12, 0.063, -0.031, 0.111, -0.074, -0.322, -0.045, -0.048, 0.076, -0.137, 0.019, -0.13], [3.369, 3.185, 6.643, 5.302, 0.887, 0.907, 1.832, 1.891]),
    'both ways': (lambda: R.BidirectionalGridLSTMCell(2,**GRID), ['fwd/W_f_0_0', 'fwd/B_f_0', 'fwd/W_t_0_0', 'fwd/B_t_0', 'bwd/W_f_0_0', 'bwd/B_f_0', 'bwd/W_t_0_0', 'bwd/B_t_0'], [-0.12, 0.063, -0.031, 0.111, 0.011, -0.267, -0.021, -0.118, 0.062, 0.168, 0.016, -0.09, 0.104, 0.165, 0.051, 0.056, 0.029, -0.271, 0.017, -0.135, -0.152, 0.084, -0.036, -0.051], [3.566, 3.579, 6.775, 3.75, 3.725, 2.909, 7.658, 3.906]),
    'both ways, moved up': (lambda: R.BidirectionalGridLSTMCell(2,use_peepholes=True,backward_slice_offset=1,**GRID), ['fwd/W_f_0_0', 'fwd/B_f_0', 'fwd/W_t_0_0', 'fwd/B_t_0', 'fwd/W_F_diag_freqf_0', 'fwd/W_F_diag_freqt_0', 'fwd/W_I_diag_freqf_0', 'fwd/W_I_diag_freqt_0', 'fwd/W_O_diag_freqf_0', 'fwd/W_O_diag_freqt_0', 'fwd/W_F_diag_timef_0', 'fwd/W_F_diag_timet_0', 'fwd/W_I_diag_timef_0', 'fwd/W_I_diag_timet_0', 'fwd/W_O_diag_timef_0', 'fwd/W_O_diag_timet_0', 'bwd/W_f_0_0', 'bwd/B_f_0', 'bwd/W_t_0_0', 'bwd/B_t_0', 'bwd/W_F_diag_freqf_0', 'bwd/W_F_diag_freqt_0', 'bwd/W_I_diag_freqf_0', 'bwd/W_I_diag_freqt_0', 'bwd/W_O_diag_freqf_0', 'bwd/W_O_diag_freqt_0', 'bwd/W_F_diag_timef_0', 'bwd/W_F_diag_timet_0', 'bwd/W_I_diag_timef_0', 'bwd/W_I_diag_timet_0', 'bwd/W_O_diag_timef_0', 'bwd/W_O_diag_timet_0'], [-0.125, 0.06, -0.031, 0.108, 0.018, -0.471, -0.015, -0.229, 0.032, 0.189, 0.007, -0.105, -0.138, 0.175, -0.043, 0.084, 0.087, -0.181, -0.001, -0.111, -0.077, -0.527, -0.049, -0.333], [9.116, 9.18, 13.559, 7.747, 0.129, 0.081, 0.156, 0.409, 0.502, 0.834, 0.047, 0.084, 0.32, 0.212, 1.112, 2.142, 9.814, 12.426, 17.194, 12.919, 0.078, 0.071, 0.083, 0.367, 0.42, 0.727, 0.075, 0.223, 0.138, 0.269, 1.046, 1.817]),
    'both ways, moved down': (lambda: R.BidirectionalGridLSTMCell(2,backward_slice_offset=-1,**GRID), ['fwd/W_f_0_0', 'fwd/B_f_0', 'fwd/W_t_0_0', 'fwd/B_t_0', 'bwd/W_f_0_0', 'bwd/B_f_0', 'bwd/W_t_0_0', 'bwd/B_t_0'], [-0.12, 0.063, -0.031, 0.111, 0.011, -0.267, -0.021, -0.118, 0.062, 0.168, 0.016, -0.09, 0.076, -0.137, 0.019, -0.13, -0.087, -0.324, -0.041, -0.22, 0.046, 0.132, -0.002, -0.105], [3.566, 3.579, 6.775, 3.75, 5.09, 6.282, 7.641, 5.088]),
    'normalised weights': (lambda: R.WeightNormLSTMCell(4), ['wn_lstm_cell/kernel', 'wn_lstm_cell/norm_0', 'wn_lstm_cell/norm_1', 'wn_lstm_cell/bias'], [0.009, 0.0, 0.007, 0.004], [0.46, 0.011, 0.001, 0.314]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_tensorflow(case: str) -> None:
    make, weights, row, slopes = CASES[case]
    with tf.variable_scope("root", initializer=first):
        cell = make()
        outputs, state = unrolled(cell, [tf.constant(step) for step in INPUTS])
    names = [variable.op.name.removeprefix("root/rnn/").split("/", 1)[1] for variable in tf.trainable_variables()]
    assert names == weights
    assert outputs[-1].shape.as_list() == [2, cell.output_size]
    slope = tf.gradients(tf.reduce_sum(tf.add_n(outputs) ** 2), tf.trainable_variables())
    sizes = [tf.reduce_sum(tf.abs(each)) for each in slope if each is not None]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            if variable.op.name.endswith("_u"):
                values = np.cos(np.arange(variable.shape.num_elements()))
                variable.load(values.reshape(variable.shape.as_list()), session)
        found, last, gradients = session.run([outputs[-1], state, sizes])
    np.testing.assert_allclose(found[0], row, atol=1e-3)
    np.testing.assert_allclose(gradients, slopes, rtol=1e-3, atol=2e-3)
    assert tf.contrib.framework.nest.flatten(last)[0].shape[0] == 2


def test_wrong_sizes_are_refused() -> None:
    x = tf.constant(INPUTS[0])
    with pytest.raises(ValueError, match="num_units must be divisible"):
        R.GLSTMCell(5, number_of_groups=2)
    with pytest.raises(ValueError, match="Must specify num_frequency_blocks"):
        R.GridLSTMCell(2)
    for cell, match in (
        (R.IntersectionRNNCell(4), "Must have input size == output size"),
        (R.GridLSTMCell(2, **{**GRID, "num_frequency_blocks": [2]}), "requires 2 but gets 3"),
        (R.GLSTMCell(8, number_of_groups=4), "must be divisible by number_of_groups"),
        (R.CoupledInputForgetGateLSTMCell(1, num_unit_shards=9), "Too many shards"),
    ):
        with pytest.raises(ValueError, match=match):
            cell(x, cell.zero_state(2, tf.float32))


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_a_cell_as_a_function_of_sequences(loops: bool, listed: bool) -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    fused = R.FusedRNNCellAdaptor(cell, use_dynamic_rnn=loops)
    assert isinstance(fused, R.FusedRNNCell)
    inputs: Any = [tf.constant(step) for step in INPUTS] if listed else tf.constant(INPUTS)
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        outputs, state = fused(inputs, dtype=tf.float32)
    assert isinstance(outputs, list) is listed
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        plain, last = tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32, time_major=True)
        turned, _ = R.TimeReversedFusedRNN(fused)(inputs, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, wanted, ends, wanted_ends = session.run([outputs, plain, state, last])
        assert np.shape(session.run(turned)) == (3, 2, 4)
    np.testing.assert_allclose(np.array(found), wanted, rtol=1e-5)
    np.testing.assert_allclose(ends.h, wanted_ends.h, rtol=1e-5)
    assert R.best_effort_input_batch_size([tf.constant(INPUTS)]) == 2
