# Written by scripts/generated.py.
"""Random numbers, with and without state, and samples of candidate classes."""

from actorsession.ops.randomness.keyed import (
stateless_binomial as stateless_binomial, stateless_parameterized_truncated_normal as
stateless_parameterized_truncated_normal
)
from actorsession.ops.randomness.numbers import (
get_seed as get_seed, random_normal as random_normal, random_normal as normal, random_uniform as
random_uniform, random_uniform as uniform, set_random_seed as set_random_seed, truncated_normal as
truncated_normal
)
from actorsession.ops.randomness.samples import (
categorical as categorical, multinomial as multinomial, random_gamma as random_gamma, random_gamma
as gamma, random_poisson as random_poisson, random_poisson as poisson, random_shuffle as
random_shuffle, random_shuffle as shuffle
)
from actorsession.ops.randomness.stateless import (
stateless_categorical as stateless_categorical, stateless_gamma as stateless_gamma,
stateless_multinomial as stateless_multinomial, stateless_normal as stateless_normal,
stateless_poisson as stateless_poisson, stateless_truncated_normal as stateless_truncated_normal,
stateless_uniform as stateless_uniform
)
from actorsession.opsets.sampling.candidates import (
all_candidate_sampler as all_candidate_sampler, fixed_unigram_candidate_sampler as
fixed_unigram_candidate_sampler, learned_unigram_candidate_sampler as
learned_unigram_candidate_sampler, log_uniform_candidate_sampler as log_uniform_candidate_sampler,
uniform_candidate_sampler as uniform_candidate_sampler
)


__all__ = [
"all_candidate_sampler", "categorical", "fixed_unigram_candidate_sampler", "gamma", "get_seed",
"learned_unigram_candidate_sampler", "log_uniform_candidate_sampler", "multinomial", "normal",
"poisson", "random_gamma", "random_normal", "random_poisson", "random_shuffle", "random_uniform",
"set_random_seed", "shuffle", "stateless_binomial", "stateless_categorical", "stateless_gamma",
"stateless_multinomial", "stateless_normal", "stateless_parameterized_truncated_normal",
"stateless_poisson", "stateless_truncated_normal", "stateless_uniform", "truncated_normal",
"uniform", "uniform_candidate_sampler"
]
