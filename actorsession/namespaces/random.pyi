# Written by scripts/generated.py.
"""Random numbers, with and without state, and samples of candidate classes."""

from actorsession.ops.randomness.keyed import stateless_binomial as stateless_binomial
from actorsession.ops.randomness.keyed import stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal
from actorsession.ops.randomness.numbers import get_seed as get_seed
from actorsession.ops.randomness.numbers import random_normal as random_normal
from actorsession.ops.randomness.numbers import random_normal as normal
from actorsession.ops.randomness.numbers import random_uniform as random_uniform
from actorsession.ops.randomness.numbers import random_uniform as uniform
from actorsession.ops.randomness.numbers import set_random_seed as set_random_seed
from actorsession.ops.randomness.numbers import truncated_normal as truncated_normal
from actorsession.ops.randomness.samples import categorical as categorical
from actorsession.ops.randomness.samples import multinomial as multinomial
from actorsession.ops.randomness.samples import random_gamma as random_gamma
from actorsession.ops.randomness.samples import random_gamma as gamma
from actorsession.ops.randomness.samples import random_poisson as random_poisson
from actorsession.ops.randomness.samples import random_poisson as poisson
from actorsession.ops.randomness.samples import random_shuffle as random_shuffle
from actorsession.ops.randomness.samples import random_shuffle as shuffle
from actorsession.ops.randomness.stateless import stateless_categorical as stateless_categorical
from actorsession.ops.randomness.stateless import stateless_gamma as stateless_gamma
from actorsession.ops.randomness.stateless import stateless_multinomial as stateless_multinomial
from actorsession.ops.randomness.stateless import stateless_normal as stateless_normal
from actorsession.ops.randomness.stateless import stateless_poisson as stateless_poisson
from actorsession.ops.randomness.stateless import stateless_truncated_normal as stateless_truncated_normal
from actorsession.ops.randomness.stateless import stateless_uniform as stateless_uniform
from actorsession.opsets.sampling.candidates import all_candidate_sampler as all_candidate_sampler
from actorsession.opsets.sampling.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from actorsession.opsets.sampling.candidates import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from actorsession.opsets.sampling.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from actorsession.opsets.sampling.candidates import uniform_candidate_sampler as uniform_candidate_sampler

__all__ = [
"all_candidate_sampler", "categorical", "fixed_unigram_candidate_sampler", "gamma", "get_seed",
"learned_unigram_candidate_sampler", "log_uniform_candidate_sampler", "multinomial", "normal",
"poisson", "random_gamma", "random_normal", "random_poisson", "random_shuffle", "random_uniform",
"set_random_seed", "shuffle", "stateless_binomial", "stateless_categorical", "stateless_gamma",
"stateless_multinomial", "stateless_normal", "stateless_parameterized_truncated_normal",
"stateless_poisson", "stateless_truncated_normal", "stateless_uniform", "truncated_normal",
"uniform", "uniform_candidate_sampler"
]
