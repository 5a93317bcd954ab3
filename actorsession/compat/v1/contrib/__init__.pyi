# Written by scripts/generated.py.
"""``tf.contrib``: the parts of it that many programs use.

What is absent is an error that says why, as far as there is a reason.
"""

from actorsession.compat.v1 import autograph as autograph
from actorsession.compat.v1.contrib import (
checkpoint as checkpoint, cluster_resolver as cluster_resolver, crf as crf, cudnn_rnn as cudnn_rnn,
data as data, distributions as distributions, eager as eager, estimator as estimator, factorization
as factorization, feature_column as feature_column, framework as framework, graph_editor as
graph_editor, image as image, layers as layers, learn as learn, legacy_seq2seq as legacy_seq2seq,
lookup as lookup, losses as losses, metrics as metrics, opt as opt, predictor as predictor, rnn as
rnn, saved_model as saved_model, seq2seq as seq2seq, slim as slim, staging as staging, stateless as
stateless, summary as summary, tensorboard as tensorboard, testing as testing, tpu as tpu, training
as training, util as util
)
from actorsession.namespaces import signal as signal


__all__ = [
"autograph", "checkpoint", "cluster_resolver", "crf", "cudnn_rnn", "data", "distributions", "eager",
"estimator", "factorization", "feature_column", "framework", "graph_editor", "image", "layers",
"learn", "legacy_seq2seq", "lookup", "losses", "metrics", "opt", "predictor", "rnn", "saved_model",
"seq2seq", "signal", "slim", "staging", "stateless", "summary", "tensorboard", "testing", "tpu",
"training", "util"
]
