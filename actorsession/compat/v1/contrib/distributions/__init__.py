"""``tf.contrib.distributions``: those of ``tf.distributions``, and more of scalars, vectors and classes.

``scalars`` and ``counts`` have distributions of numbers, ``vectors`` normal ones of vectors, ``one_hot``
classes as vectors and their smooth kin, ``joint`` mixtures and independent ones, ``transformed`` what a
function makes of samples, and ``bijectors`` such functions.
"""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.distributions": (
        "Bernoulli Beta Categorical Dirichlet DirichletMultinomial Distribution Exponential "
        "FULLY_REPARAMETERIZED Gamma Laplace Multinomial NOT_REPARAMETERIZED Normal RegisterKL "
        "ReparameterizationType StudentT Uniform kl_divergence"
    ),
    ".bijectors": "*=bijectors softplus_inverse",
    ".counts": "Binomial Geometric NegativeBinomial Poisson",
    ".joint": "Independent Mixture MixtureSameFamily",
    ".one_hot": ("ExpRelaxedOneHotCategorical OneHotCategorical RelaxedBernoulli RelaxedOneHotCategorical"),
    ".scalars": (
        "BetaWithSoftplusConcentration Cauchy Chi2 Chi2WithAbsDf Deterministic "
        "ExponentialWithSoftplusRate GammaWithSoftplusConcentrationRate HalfNormal InverseGamma "
        "InverseGammaWithSoftplusConcentrationRate LaplaceWithSoftplusScale Logistic "
        "NormalWithSoftplusScale StudentTWithAbsDfSoftplusScale VectorDeterministic"
    ),
    ".transformed": "TransformedDistribution",
    ".vectors": (
        "MultivariateNormalDiag MultivariateNormalDiagWithSoftplusScale "
        "MultivariateNormalFullCovariance MultivariateNormalTriL"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

add_modules(__name__)
