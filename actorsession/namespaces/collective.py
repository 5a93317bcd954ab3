"""Collectives: sums, gathers and broadcasts over a group of devices."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.collective.groups": ("Group all_gather all_reduce all_to_all barrier broadcast reduce_scatter")
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
