"""What a kernel factory sees of its node, before there is a device and on one."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession.errors import InternalError
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.runtime.resources import ResourceManager
from tests.plan.kit import CPU, node, scalar

NODE = node("n", "a", "b", op="AddV2", axis=3)
CONSTANT = np.float32(2)
BARE = NodeContext(NODE, (scalar, scalar), (None, np.asarray(CONSTANT)), CPU[0])


def test_a_context_shows_the_node() -> None:
    assert (BARE.name, BARE.op, BARE.device) == ("n", "AddV2", CPU[0])
    assert BARE.attrs == {"axis": 3}
    assert BARE.inputs == (scalar, scalar)
    assert BARE.outputs == (scalar,)
    assert BARE.constant(0) is None
    assert BARE.constant(1) == 2


def test_code_is_generated_without_resources_and_state() -> None:
    with pytest.raises(InternalError, match="'n' requests resources while code is generated"):
        BARE.resources  # noqa: B018
    with pytest.raises(InternalError, match="'n' requests its state while code is generated"):
        BARE.state(list)


def test_bound_to_a_device_it_has_both() -> None:
    host, states = ResourceManager(), {"other": 1}
    bound = BARE.bound(host, states)
    assert bound.resources is host
    assert (bound.node, bound.inputs, bound.device) == (NODE, BARE.inputs, CPU[0])
    assert bound.constant(1) == 2


def test_state_is_made_once_for_all_plans_of_a_session() -> None:
    states: dict[str, object] = {}
    one, two = (BARE.bound(ResourceManager(), states) for _ in range(2))
    made = one.state(list)
    assert two.state(dict) is made
    assert states == {"n": made}
