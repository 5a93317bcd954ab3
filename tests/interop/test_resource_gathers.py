"""``ResourceGather`` in graphs of TensorFlow: a read of the variable, and a look-up in what was read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.interop import import_graph_def
from actorsession.interop.resource_gathers import with_reads
from tests.interop.kit import PAIR, graph_def

LOOKED_UP = """
node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }
       attr { key: 'shape' value { shape { dim { size: 3 } dim { size: 2 } } } } }
node { name: 'ids' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'new' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'set' op: 'AssignVariableOp' input: 'v' input: 'new'
       attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'rows' op: 'ResourceGather' input: 'v' input: 'ids' input: '^set'
       attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'Tindices' value { type: DT_INT32 } } }
"""


def test_rows_are_those_of_the_value_when_the_look_up_runs() -> None:
    table = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    with acts.Graph().as_default() as graph:
        import_graph_def(graph_def(LOOKED_UP), name="")
        with acts.Session(graph=graph) as session:
            found = session.run("rows:0", {"ids:0": [2, 0, 2], "new:0": table})
    np.testing.assert_array_equal(found, table[[2, 0, 2]])


def test_it_keeps_its_name_and_what_is_said_of_it_and_the_file_stays_as_it_is() -> None:
    message = graph_def(LOOKED_UP)
    gather = message.node[-1]
    gather.device = "/device:CPU:0"
    gather.attr["batch_dims"].i = 1
    before = message.SerializeToString()
    made = with_reads(message)
    assert message.SerializeToString() == before
    read, _, rows = made.node[-3:]
    assert [(n.op, n.device) for n in (read, rows)] == [
        ("ReadVariableOp", "/device:CPU:0"), ("GatherV2", "/device:CPU:0"),
    ]  # fmt: skip
    assert (rows.name, rows.attr["batch_dims"].i) == ("rows", 1)
    assert list(rows.input) == ["rows/_read", "ids", "rows/_axis", "^set"]
    assert list(read.input) == ["v", "^set"]


def test_a_graph_without_any_is_left_alone() -> None:
    message = graph_def(PAIR)
    assert with_reads(message) is message


def test_a_look_up_without_a_type_is_refused() -> None:
    message: Any = graph_def(LOOKED_UP)
    del message.node[-1].attr["Tindices"]
    with pytest.raises(ValueError, match=r"'rows' .ResourceGather. has no attribute 'Tindices'"):
        import_graph_def(message)
