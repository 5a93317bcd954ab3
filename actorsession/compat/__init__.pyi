# Written by scripts/generated.py.
"""Compatibility APIs for programs that were written for other libraries."""

from actorsession.compat.alias import install_alias as install_alias, remove_alias as remove_alias


__all__ = [
"install_alias", "remove_alias"
]
