"""Operation types that are no function from arrays to arrays, and the file whose tests are about each.

State, control flow, what a session puts in by itself, and sources of values.
"""

from __future__ import annotations

__all__ = ["ELSEWHERE"]

ELSEWHERE: dict[str, str] = {
    "AssignAddVariableOp": "tests/ops/test_assignment.py",
    "AssignSubVariableOp": "tests/ops/test_assignment.py",
    "AssignVariableOp": "tests/ops/test_assignment.py",
}
