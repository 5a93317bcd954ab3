"""Digests of what seeds have done: ``python -m tests.testing.digests MODULE=COUNT ...`` prints a line for each."""

from __future__ import annotations

import hashlib
import logging
import sys
from importlib import import_module

if __name__ == "__main__":
    logging.disable()
    for word in sys.argv[1:]:
        module, _, count = word.partition("=")
        trace_of = import_module(f"tests.testing.{module}").trace_of
        for seed in range(int(count)):
            digest = hashlib.sha256("\n".join(trace_of(seed)).encode()).hexdigest()
            sys.stdout.write(f"{word} {seed} {digest}\n")
