"""``tf.contrib.stateless``: the numbers of ``tf.random.stateless_...`` under their first names."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.namespaces.random": (
        "stateless_categorical=stateless_multinomial stateless_normal=stateless_random_normal "
        "stateless_truncated_normal stateless_uniform=stateless_random_uniform"
    )
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
