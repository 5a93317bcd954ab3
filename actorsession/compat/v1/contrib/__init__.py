"""``tf.contrib`` in common use: layers, slim, framework, recurrent networks and their decoders.

What is missing here is missing in TensorFlow, too, since 2.0.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.distributions": "*=distributions",
    "actorsession.namespaces.lookup": "*=lookup",
    ".feature_column": "*=feature_column",
    ".framework": "*=framework",
    ".layers": "*=layers",
    ".legacy_seq2seq": "*=legacy_seq2seq",
    ".losses": "*=losses",
    ".metrics": "*=metrics",
    ".rnn": "*=rnn",
    ".seq2seq": "*=seq2seq",
    ".slim": "*=slim",
    ".training": "*=training",
    ".util": "*=util",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
