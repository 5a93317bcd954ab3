"""Collections, and lookup of nodes by name."""

from __future__ import annotations

from typing import Any

from scripts.differentials.program import Family, Plan, words

__all__ = ["FAMILIES"]

collections = Family("collections")
FAMILIES = [collections]


_KEYS = words(
    """
    GLOBAL_VARIABLES TRAINABLE_VARIABLES LOCAL_VARIABLES MODEL_VARIABLES UPDATE_OPS LOSSES
    MOVING_AVERAGE_VARIABLES REGULARIZATION_LOSSES GLOBAL_STEP SUMMARIES QUEUE_RUNNERS
    TABLE_INITIALIZERS INIT_OP LOCAL_INIT_OP READY_OP ACTIVATIONS WEIGHTS BIASES
    CONCATENATED_VARIABLES SAVERS COND_CONTEXT WHILE_CONTEXT
    """
)
collections.add("keys", lambda tf, np: Plan(facts=[getattr(tf.GraphKeys, key) for key in _KEYS]))


@collections("of-variables")
def _of_variables(tf: Any, np: Any) -> Plan:
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", trainable=False)
    tf.Variable(1.0, name="c", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.get_local_variable("d", [1])
    tf.Variable(1.0, name="e", collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    lists = [tf.global_variables(), tf.trainable_variables(), tf.local_variables(), tf.get_collection("mine")]
    return Plan(facts=[[v.name for v in found] for found in lists])


@collections("own")
def _own(tf: Any, np: Any) -> Plan:
    tf.add_to_collection("a", 1)
    tf.add_to_collections(["a", "b"], 2)
    kept = tf.get_collection("a")
    kept.append(9)
    tf.get_collection_ref("b").append(3)
    graph = tf.get_default_graph()
    facts = [
        tf.get_collection("a"),
        tf.get_collection("b"),
        tf.get_collection("none"),
        sorted(graph.get_all_collection_keys()),
    ]
    graph.clear_collection("a")
    return Plan(facts=[*facts, tf.get_collection("a")])


@collections("by-scope")
def _by_scope(tf: Any, np: Any) -> Plan:
    for scope in ("one", "two", "one_more"):
        with tf.variable_scope(scope):
            tf.get_variable("v", [1])
    asked = ["one", "one/", "t", ".*more", "v"]
    return Plan(facts=[[v.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope)] for scope in asked])


@collections("trainable-by-scope")
def _trainable(tf: Any, np: Any) -> Plan:
    for scope in ("g", "d"):
        with tf.variable_scope(scope):
            tf.get_variable("w", [1])
            tf.get_variable("frozen", [1], trainable=False)
    return Plan(facts=[[v.name for v in tf.trainable_variables(scope)] for scope in ("g", "d", "x", None)])


@collections("finalized")
def _finalized(tf: Any, np: Any) -> Any:
    tf.get_default_graph().finalize()
    return tf.constant(1)


@collections("lookups")
def _lookups(tf: Any, np: Any) -> Plan:
    a = tf.constant([1, 2], name="a")
    graph = tf.get_default_graph()
    return Plan(
        facts=[
            graph.get_tensor_by_name("a:0") is a,
            graph.get_operation_by_name("a") is a.op,
            graph.as_graph_element("a").name,
            graph.as_graph_element("a:0").name,
            a.op.type,
            a.value_index,
            [each.name for each in (a + 1).op.inputs],
            a.op.get_attr("dtype").name,
            len(a.consumers()),
        ]
    )


for _asked in ("b:0", "a", "a:1", "a:x", ":0", "a:0:0"):
    collections.add(
        f"tensor-by-name-{_asked}",
        lambda tf, np, asked=_asked: (
            tf.constant(1, name="a"),
            Plan(facts=tf.get_default_graph().get_tensor_by_name(asked).name),
        )[1],
    )
    collections.add(
        f"operation-by-name-{_asked}",
        lambda tf, np, asked=_asked: (
            tf.constant(1, name="a"),
            Plan(facts=tf.get_default_graph().get_operation_by_name(asked).name),
        )[1],
    )
