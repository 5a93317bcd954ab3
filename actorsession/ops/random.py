"""TensorFlow's ``tf.random`` namespace; other op files define its functions.

It also has the longer names of TensorFlow's top level, for op files that draw random numbers.
"""

from __future__ import annotations

from actorsession.ops.neural.candidate_sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from actorsession.ops.randomness.numbers import (
    get_seed,
    random_normal,
    random_uniform,
    set_random_seed,
    truncated_normal,
)
from actorsession.ops.randomness.samples import (
    categorical,
    multinomial,
    random_gamma,
    random_poisson,
    random_shuffle,
)
from actorsession.ops.randomness.stateless import (
    stateless_categorical,
    stateless_gamma,
    stateless_multinomial,
    stateless_normal,
    stateless_poisson,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "all_candidate_sampler", "categorical", "fixed_unigram_candidate_sampler", "gamma", "get_seed",
    "learned_unigram_candidate_sampler", "log_uniform_candidate_sampler", "multinomial", "normal",
    "poisson", "random_gamma", "random_normal", "random_poisson", "random_shuffle",
    "random_uniform", "set_random_seed", "shuffle", "stateless_categorical", "stateless_gamma",
    "stateless_multinomial", "stateless_normal", "stateless_poisson", "stateless_truncated_normal",
    "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]  # fmt: skip

gamma = random_gamma
normal = random_normal
poisson = random_poisson
shuffle = random_shuffle
uniform = random_uniform
