"""The clock of a host. Its methods have the names that they have in ``time``."""

from __future__ import annotations

from time import monotonic, perf_counter, perf_counter_ns, process_time, sleep, time, time_ns

__all__ = ["Clock"]


class Clock:
    """The clock of this machine; a derived class is that of another one.

    Waiting uses the timers of the event loop, which are of the same host. What reads the time often keeps the
    method (``self._now = current_host().clock.monotonic``), which is then as fast as the function of ``time``.
    """

    monotonic = staticmethod(monotonic)
    perf_counter = staticmethod(perf_counter)
    perf_counter_ns = staticmethod(perf_counter_ns)
    process_time = staticmethod(process_time)
    sleep = staticmethod(sleep)
    time_ns = staticmethod(time_ns)
    time = staticmethod(time)
