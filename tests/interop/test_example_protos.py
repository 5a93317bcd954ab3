"""Examples as messages: TensorFlow's bytes, and the faces that programs use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import DataLossError
from actorsession.interop.example_protos import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

# ``SerializeToString(deterministic=True)`` of TensorFlow 2.21, for the messages of ``whole`` and ``steps``.
WHOLE = bytes.fromhex(
    "0a4a0a110a0161120c120a0a080000c03f000000400a160a016212111a0f0a0d01feffffffffffffffff01ac020a0d0a0163"
    "12080a060a0278ff0a000a050a016412000a070a016512021a00"
)
STEPS = bytes.fromhex("0a0c0a0a0a016b12051a030a0107121d0a140a016c120f0a051a030a01010a061a040a0202030a050a016d1200")
FILLED = bytes.fromhex("0a0e0a0c0a017112071a050a03050607")


def whole() -> Example:
    return Example(
        features=Features(
            feature={
                "b": Feature(int64_list=Int64List(value=[1, -2, 300])),
                "a": Feature(float_list=FloatList(value=[1.5, 2])),
                "c": Feature(bytes_list=BytesList(value=[b"x\xff", b""])),
                "d": Feature(),
                "e": Feature(int64_list=Int64List()),
            }
        )
    )


def steps() -> SequenceExample:
    return SequenceExample(
        context=Features(feature={"k": Feature(int64_list=Int64List(value=[7]))}),
        feature_lists=FeatureLists(
            feature_list={
                "l": FeatureList(
                    feature=[Feature(int64_list=Int64List(value=[1])), Feature(int64_list=Int64List(value=[2, 3]))]
                ),
                "m": FeatureList(),
            }
        ),
    )


@pytest.mark.parametrize(("message", "data"), [(whole(), WHOLE), (steps(), STEPS)])
def test_bytes_are_tensorflows_and_are_read_again(message: Any, data: bytes) -> None:
    assert message.SerializeToString() == data
    back = type(message).FromString(data)
    assert back == message
    assert back.SerializeToString() == data
    again = type(message)()
    assert again.ParseFromString(data) == len(data)
    assert again == message


def test_a_feature_says_which_list_it_is() -> None:
    features = whole().features.feature
    assert features["a"].WhichOneof("kind") == "float_list"
    assert features["e"].WhichOneof("kind") == "int64_list"
    assert features["d"].WhichOneof("kind") is None
    features["a"].bytes_list.value.append(b"x")
    assert features["a"].WhichOneof("kind") == "bytes_list"
    # Features are filled in by key.
    made = Example()
    made.features.feature["q"].int64_list.value.append(5)
    made.features.feature["q"].int64_list.value.extend([6, 7])
    assert made.SerializeToString() == FILLED
    assert list(made.features.feature["q"].int64_list.value) == [5, 6, 7]
    assert "q" in made.features.feature
    assert made != whole()
    made.CopyFrom(whole())
    assert made == whole()
    # Arrays are taken as values.
    assert list(Int64List(value=np.arange(3)).value) == [0, 1, 2]
    assert list(FloatList(value=np.array([0.5], np.float32)).value) == [0.5]


def test_a_message_is_shown_as_text() -> None:
    assert repr(Feature(int64_list=Int64List(value=[1, 2]))).split() == [
        "int64_list",
        "{",
        "value:",
        "1",
        "value:",
        "2",
        "}",
    ]
    assert 'key: "c"' in str(whole())


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: Int64List(value=[1.5]), TypeError),
        (lambda: Int64List(value=3), TypeError),
        (lambda: Int64List(value=[2**70]), ValueError),
        (lambda: BytesList(value=["text"]), TypeError),
        (lambda: FloatList(value=["x"]), TypeError),
        (lambda: Feature(int64_list=[1]), TypeError),
        (lambda: Features(feature={"a": 3}), TypeError),
        (lambda: Example(foo=1), ValueError),
        (lambda: Example.FromString(b"garbage"), DataLossError),
    ],
)
def test_what_a_message_cannot_hold_is_refused(build: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        build()
