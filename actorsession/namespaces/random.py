"""Random numbers, with and without state, and samples of candidate classes."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.randomness.numbers": (
        "get_seed random_normal random_normal=normal random_uniform random_uniform=uniform "
        "set_random_seed truncated_normal"
    ),
    "actorsession.ops.randomness.samples": (
        "categorical multinomial random_gamma random_gamma=gamma random_poisson "
        "random_poisson=poisson random_shuffle random_shuffle=shuffle"
    ),
    "actorsession.ops.randomness.keyed": ("stateless_binomial stateless_parameterized_truncated_normal"),
    "actorsession.ops.randomness.stateless": (
        "stateless_categorical stateless_gamma stateless_multinomial stateless_normal "
        "stateless_poisson stateless_truncated_normal stateless_uniform"
    ),
    "actorsession.opsets.sampling.candidates": (
        "all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler "
        "log_uniform_candidate_sampler uniform_candidate_sampler"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
