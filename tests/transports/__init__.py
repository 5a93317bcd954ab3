"""The tests of `transports`, a file per module and one conformance suite for all transports."""

from __future__ import annotations
