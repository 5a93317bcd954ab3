# Written by scripts/generated.py.
"""``tf.contrib``: the parts of it that many programs use.

What is absent is an error that says why, as far as there is a reason.
"""

from actorsession.compat.v1 import autograph as autograph
from actorsession.compat.v1.contrib import checkpoint as checkpoint
from actorsession.compat.v1.contrib import cluster_resolver as cluster_resolver
from actorsession.compat.v1.contrib import crf as crf
from actorsession.compat.v1.contrib import cudnn_rnn as cudnn_rnn
from actorsession.compat.v1.contrib import data as data
from actorsession.compat.v1.contrib import distributions as distributions
from actorsession.compat.v1.contrib import eager as eager
from actorsession.compat.v1.contrib import estimator as estimator
from actorsession.compat.v1.contrib import factorization as factorization
from actorsession.compat.v1.contrib import feature_column as feature_column
from actorsession.compat.v1.contrib import framework as framework
from actorsession.compat.v1.contrib import graph_editor as graph_editor
from actorsession.compat.v1.contrib import image as image
from actorsession.compat.v1.contrib import layers as layers
from actorsession.compat.v1.contrib import learn as learn
from actorsession.compat.v1.contrib import legacy_seq2seq as legacy_seq2seq
from actorsession.compat.v1.contrib import lookup as lookup
from actorsession.compat.v1.contrib import losses as losses
from actorsession.compat.v1.contrib import metrics as metrics
from actorsession.compat.v1.contrib import opt as opt
from actorsession.compat.v1.contrib import predictor as predictor
from actorsession.compat.v1.contrib import rnn as rnn
from actorsession.compat.v1.contrib import saved_model as saved_model
from actorsession.compat.v1.contrib import seq2seq as seq2seq
from actorsession.compat.v1.contrib import slim as slim
from actorsession.compat.v1.contrib import staging as staging
from actorsession.compat.v1.contrib import stateless as stateless
from actorsession.compat.v1.contrib import summary as summary
from actorsession.compat.v1.contrib import tensorboard as tensorboard
from actorsession.compat.v1.contrib import testing as testing
from actorsession.compat.v1.contrib import tpu as tpu
from actorsession.compat.v1.contrib import training as training
from actorsession.compat.v1.contrib import util as util
from actorsession.namespaces import signal as signal

__all__ = [
"autograph", "checkpoint", "cluster_resolver", "crf", "cudnn_rnn", "data", "distributions", "eager",
"estimator", "factorization", "feature_column", "framework", "graph_editor", "image", "layers",
"learn", "legacy_seq2seq", "lookup", "losses", "metrics", "opt", "predictor", "rnn", "saved_model",
"seq2seq", "signal", "slim", "staging", "stateless", "summary", "tensorboard", "testing", "tpu",
"training", "util"
]
