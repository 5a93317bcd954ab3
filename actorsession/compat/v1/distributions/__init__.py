"""``tf.distributions``: distributions whose parameters are tensors, built from operations.

There is one module per distribution. They use ``distribution`` (the base class), ``kullback_leibler``
(divergences) and ``checks``. Samples use the seeds of the graph and of the call, like all random operations.
"""

from __future__ import annotations

from actorsession.compat.v1.distributions.bernoulli import Bernoulli
from actorsession.compat.v1.distributions.beta import Beta
from actorsession.compat.v1.distributions.categorical import Categorical
from actorsession.compat.v1.distributions.dirichlet import Dirichlet
from actorsession.compat.v1.distributions.dirichlet_multinomial import DirichletMultinomial
from actorsession.compat.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from actorsession.compat.v1.distributions.gamma import Exponential, Gamma
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL, kl_divergence
from actorsession.compat.v1.distributions.laplace import Laplace
from actorsession.compat.v1.distributions.multinomial import Multinomial
from actorsession.compat.v1.distributions.normal import Normal
from actorsession.compat.v1.distributions.student_t import StudentT
from actorsession.compat.v1.distributions.uniform import Uniform

__all__ = [
    "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "Bernoulli", "Beta", "Categorical", "Dirichlet",
    "DirichletMultinomial", "Distribution", "Exponential", "Gamma", "Laplace", "Multinomial", "Normal",
    "RegisterKL", "ReparameterizationType", "StudentT", "Uniform", "kl_divergence",
]  # fmt: skip
