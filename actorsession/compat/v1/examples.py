"""``tensorflow.examples``: the modules that programs import from it; ``module_paths`` has their names."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules

__path__: list[str] = []  # the modules are made from the table

add_modules(__name__)
