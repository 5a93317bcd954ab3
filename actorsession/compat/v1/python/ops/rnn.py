"""``tensorflow.python.ops.rnn``: the loops over recurrent cells."""

from __future__ import annotations

from actorsession.compat.v1.nn import (
    bidirectional_dynamic_rnn,
    bidirectional_rnn,
    dynamic_rnn,
    raw_rnn,
    rnn,
    state_saving_rnn,
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
)

__all__ = [
    "bidirectional_dynamic_rnn", "bidirectional_rnn", "dynamic_rnn", "raw_rnn", "rnn",
    "state_saving_rnn", "static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn",
]  # fmt: skip
