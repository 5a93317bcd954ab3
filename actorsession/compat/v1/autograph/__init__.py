"""``tf.autograph``: functions are run as they are written, so that nothing of it changes one.

``tf.cond`` and ``tf.while_loop`` are called by name. Decorators that keep a function from being rewritten
return it.
"""

from __future__ import annotations

from actorsession.compat.absent import saying_why as _saying_why
from actorsession.lazy_names import lazy_names

_NAMES = {".experimental": "*=experimental do_not_convert"}

__all__, _load, __dir__ = lazy_names(__name__, _NAMES)
__getattr__ = _saying_why(_load, "autograph")
