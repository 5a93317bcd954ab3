"""Prints the names of the files in a folder; some programs write figures into names alone."""

from __future__ import annotations

import os
import sys

print("\n".join(sorted(os.listdir(sys.argv[1]))))
