"""``tf.contrib``: the parts of it that many programs use.

What is absent is an error that says why, as far as there is a reason.
"""

from __future__ import annotations

from actorsession.compat.absent import saying_why as _saying_why
from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.autograph": "*=autograph",
    "actorsession.namespaces.signal": "*=signal",
    ".checkpoint": "*=checkpoint",
    ".cluster_resolver": "*=cluster_resolver",
    ".crf": "*=crf",
    ".cudnn_rnn": "*=cudnn_rnn",
    ".data": "*=data",
    ".distributions": "*=distributions",
    ".eager": "*=eager",
    ".estimator": "*=estimator",
    ".factorization": "*=factorization",
    ".feature_column": "*=feature_column",
    ".framework": "*=framework",
    ".graph_editor": "*=graph_editor",
    ".image": "*=image",
    ".layers": "*=layers",
    ".learn": "*=learn",
    ".legacy_seq2seq": "*=legacy_seq2seq",
    ".lookup": "*=lookup",
    ".losses": "*=losses",
    ".metrics": "*=metrics",
    ".opt": "*=opt",
    ".predictor": "*=predictor",
    ".rnn": "*=rnn",
    ".saved_model": "*=saved_model",
    ".seq2seq": "*=seq2seq",
    ".slim": "*=slim",
    ".staging": "*=staging",
    ".stateless": "*=stateless",
    ".summary": "*=summary",
    ".tensorboard": "*=tensorboard",
    ".testing": "*=testing",
    ".tpu": "*=tpu",
    ".training": "*=training",
    ".util": "*=util",
}

__all__, _load, __dir__ = lazy_names(__name__, _NAMES)
__getattr__ = _saying_why(_load, "contrib")
