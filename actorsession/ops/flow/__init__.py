"""Ops that control execution: control edges, branches, loops, functions, checks, Python functions."""
