"""``tf.contrib.graph_editor``: views of parts of a graph, and what selects, copies and reconnects such parts.

A part is a set of operations with the tensors that enter and leave it. Its functions change the graph that is
there: a session that has run the operations before keeps what it knows of them, and warns.
"""

from __future__ import annotations

from actorsession.compat.absent import saying_why as _saying_why
from actorsession.lazy_names import lazy_names

_NAMES = {
    ".edit": ("*=edit bypass connect detach detach_control_inputs detach_control_outputs detach_inputs detach_outputs"),
    ".elements": (
        "*=util ControlOutputs check_graphs find_corresponding find_corresponding_elem get_consuming_ops "
        "get_generating_ops get_tensors get_unique_graph make_list_of_op make_list_of_t "
        "make_placeholder_from_dtype_and_shape make_placeholder_from_dtype_and_shape=ph "
        "make_placeholder_from_tensor placeholder_name"
    ),
    ".reroute": (
        "*=reroute add_control_inputs remove_control_inputs reroute_inputs reroute_ios reroute_outputs "
        "reroute_ts swap_inputs swap_ios swap_outputs swap_ts"
    ),
    ".select": (
        "*=select can_be_regex check_cios compute_boundary_ts filter_ops filter_ops_from_regex filter_ts "
        "filter_ts_from_regex get_backward_walk_ops get_forward_walk_ops get_name_scope_ops get_ops_ios "
        "get_walks_intersection_ops get_walks_union_ops get_within_boundary_ops make_regex select_ops "
        "select_ops_and_ts select_ts"
    ),
    ".subgraph": (
        "*=subgraph SubGraphView make_view make_view=sgv make_view_from_scope make_view_from_scope=sgv_scope"
    ),
    ".transform": (
        "*=transform Transformer TransformerInfo assign_renamed_collections_handler copy copy_op_handler "
        "copy_with_input_replacements graph_replace keep_t_if_possible_handler "
        "replace_t_with_placeholder_handler transform_op_if_inside_handler"
    ),
}

__all__, _load, __dir__ = lazy_names(__name__, _NAMES)
__getattr__ = _saying_why(_load, "contrib.graph_editor")
