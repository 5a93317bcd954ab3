"""Values of layers: run after the initialisers, and set to numbers of the test."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts

__all__ = ["filled", "reals", "value"]


def reals(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def filled(session: acts.Session, *variables: Any) -> list[Any]:
    """Give variables random values, other than those of their initialisers, and return these."""
    session.run(acts.global_variables_initializer())
    values = [reals(*variable.shape.as_list(), seed=n) for n, variable in enumerate(variables)]
    for variable, given in zip(variables, values, strict=True):
        variable.load(given, session)
    return values


def value(tensor: Any, feeds: Any = None) -> Any:
    """The value of a tensor, once all variables have those of their initialisers."""
    with acts.Session() as session:
        session.run(acts.global_variables_initializer())
        return session.run(tensor, feeds)
