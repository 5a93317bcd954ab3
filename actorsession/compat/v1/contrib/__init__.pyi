# Written by scripts/generated.py.
"""``tf.contrib`` in common use: layers, slim, framework, recurrent networks and their decoders.

What is missing here is missing in TensorFlow, too, since 2.0.
"""

from actorsession.compat.v1.contrib import feature_column as feature_column
from actorsession.compat.v1.contrib import framework as framework
from actorsession.compat.v1.contrib import layers as layers
from actorsession.compat.v1.contrib import legacy_seq2seq as legacy_seq2seq
from actorsession.compat.v1.contrib import losses as losses
from actorsession.compat.v1.contrib import metrics as metrics
from actorsession.compat.v1.contrib import rnn as rnn
from actorsession.compat.v1.contrib import seq2seq as seq2seq
from actorsession.compat.v1.contrib import slim as slim
from actorsession.compat.v1.contrib import training as training
from actorsession.compat.v1.contrib import util as util
from actorsession.compat.v1 import distributions as distributions
from actorsession.namespaces import lookup as lookup

__all__ = [
"distributions", "feature_column", "framework", "layers", "legacy_seq2seq", "lookup", "losses",
"metrics", "rnn", "seq2seq", "slim", "training", "util"
]
