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
    # Code is generated without resources and state.
    with pytest.raises(InternalError, match="'n' requests resources while code is generated"):
        BARE.resources  # noqa: B018
    with pytest.raises(InternalError, match="'n' requests its state while code is generated"):
        BARE.state(list)
    # Bound to a device it has both.
    host, states = ResourceManager(), {"other": 1}
    bound = BARE.bound(host, states)
    assert bound.resources is host
    assert (bound.node, bound.inputs, bound.device) == (NODE, BARE.inputs, CPU[0])
    assert bound.constant(1) == 2
    # State is made once for all plans of a session.
    states = {}
    one, two = (BARE.bound(ResourceManager(), states) for _ in range(2))
    made = one.state(list)
    assert two.state(dict) is made
    assert states == {"n": made}
