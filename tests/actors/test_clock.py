from __future__ import annotations

from actorsession.actors import SYSTEM_CLOCK


def test_the_system_clock_never_goes_back() -> None:
    moments = [SYSTEM_CLOCK.now() for _ in range(1000)]
    assert moments == sorted(moments)
