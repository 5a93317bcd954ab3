"""``tf.nn``: the library's ``nn`` and recurrent networks, also under their names before TensorFlow 1.0."""

from __future__ import annotations

from actorsession.compat.v1.ops.arguments import older_names
from actorsession.namespaces import nn

_NAMES = {
    **{where if where[0] != "." else f"{nn.__package__}{where}": names for where, names in nn._NAMES.items()},
    ".rnn_cell": "*=rnn_cell",
    "actorsession.compat.v1.contrib.legacy_seq2seq": "*=seq2seq",
    "actorsession.train.layers.recurrent.dynamic": "bidirectional_dynamic_rnn dynamic_rnn",
    "actorsession.train.layers.recurrent.raw": "raw_rnn",
    "actorsession.train.layers.recurrent.static": (
        "static_bidirectional_rnn static_bidirectional_rnn=bidirectional_rnn static_rnn static_rnn=rnn "
        "static_state_saving_rnn static_state_saving_rnn=state_saving_rnn"
    ),
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
