"""Ops that control execution: control edges, branches, loops, functions, checks, and calls of Python
functions.
"""
