"""``tensorflow.python``: the modules that programs import from it; ``module_paths`` has their names."""

from __future__ import annotations

from actorsession.compat.v1.module_paths import add_modules

add_modules(__name__)
