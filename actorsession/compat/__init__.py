"""Compatibility APIs for programs that were written for other libraries."""
