"""Random numbers of datasets, which are those of TensorFlow for the same seeds.

The generator is Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): four numbers
of 32 bits are a function of a key, the first seed, and of a counter that begins with the second seed.
"""

from __future__ import annotations

__all__ = ["Draws"]

_WORD, _LONG = 2**32, 2**64
_FACTORS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


class Draws:
    """A sequence of random numbers of 32 bits.

    Args:
        seed: the first seed.
        seed2: the second one.
        at: how many numbers were drawn before.

    Attributes:
        seeds: the two seeds.
    """

    __slots__ = ("_four", "_number", "at", "seeds")

    def __init__(self, seed: int, seed2: int, at: int = 0) -> None:
        self.seeds = seed % _LONG, seed2 % _LONG
        self.at = at
        # The last four numbers that were made, and their place in the sequence.
        self._four: tuple[int, int, int, int] = (0, 0, 0, 0)
        self._number = -1

    def next(self) -> int:
        """Return the next number."""
        number, place = divmod(self.at, 4)
        if number != self._number:
            self._four, self._number = self._block(number), number
        self.at += 1
        return self._four[place]

    def _block(self, number: int) -> tuple[int, int, int, int]:
        seed, seed2 = self.seeds
        counter = (seed2 << 64) + number
        a, b, c, d = [counter >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
        first, second = seed % _WORD, seed >> 32
        for _ in range(_ROUNDS):
            one, other = a * _FACTORS[0], c * _FACTORS[1]
            a, b, c, d = ((other >> 32) ^ b ^ first, other % _WORD, (one >> 32) ^ d ^ second, one % _WORD)
            first, second = (first + _STEPS[0]) % _WORD, (second + _STEPS[1]) % _WORD
        return a, b, c, d
