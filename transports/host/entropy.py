"""The random numbers of a host: ids, incarnations, tokens, nonces and jitter."""

from __future__ import annotations

import random
import secrets

__all__ = ["Entropy"]


class Entropy:
    """The random numbers of the operating system; a derived class draws them from a seed."""

    token_bytes = staticmethod(secrets.token_bytes)
    token_hex = staticmethod(secrets.token_hex)
    randbits = staticmethod(secrets.randbits)
    random = staticmethod(random.SystemRandom().random)
