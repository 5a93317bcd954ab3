"""The vocabulary as the master, the workers and the clients agreed on it."""

from __future__ import annotations

import re
from dataclasses import fields

from actorsession.messages import VOCABULARY, Spec
from actorsession.messages import inspection as _inspection_messages  # noqa: F401 - registers its messages
from actorsession.messages import session as session_messages
from actorsession.messages import worker as worker_messages
from actorsession.messages.checks import describe
from tests.rows import for_each

SPECS = list(VOCABULARY.specs.values())

# tag: fields, reply
PROTOCOL = {
    "create_session": (
        "graph: list[Any], config: dict[str, Any], target: str, request_id: str, client: str",
        "session_created",
    ),
    "session_created": ("session_handle: str, graph_version: int, restart_wait: float", None),
    "extend_session": (
        "session_handle: str, graph: list[Any], current_graph_version: int, request_id: str",
        "session_extended",
    ),
    "session_extended": ("graph_version: int", None),
    "wait_for_tasks": ("session_handle: str, tasks: str, count: int, timeout_in_ms: int", "tasks_present"),
    "tasks_present": ("tasks: list[str]", None),
    "list_devices": ("session_handle: str", "device_list"),
    "device_list": ("devices: list[Any]", None),
    "find_placement": ("session_handle: str", "placement_found"),
    "placement_found": ("devices: dict[str, str], reasons: dict[str, str]", None),
    "prepare_step": (
        "session_handle: str, feeds: list[str], fetches: list[str], targets: list[str], "
        "partial: bool, wiring: list[Any], options: dict[str, Any]",
        "done",
    ),
    "partial_run_drop": ("session_handle: str, partial_run_handle: str, error: list[Any]", "done"),
    "close_session": ("session_handle: str", "done"),
    "reset_containers": ("containers: list[str]", "done"),
    "done": ("", None),
    "get_cluster": ("", "cluster_view"),
    "cluster_view": ("cluster_id: str, task: str, tasks: dict[str, str]", None),
    "keep_server": ("seconds: float", "done"),
    "stop_server": ("reason: str", "done"),
    "read_steps": ("count: int, slower_than: float, session: str, running: bool, steps: list[int]", "steps_read"),
    "steps_read": ("task: str, kept: int, steps: list[Any]", None),
    "read_errors": ("", "errors_read"),
    "errors_read": (
        "task: str, errors: list[Any], counts: dict[str, int], restarts: int, predecessor: str, since: float",
        None,
    ),
    "note_restart": ("restarts: int, predecessor: str", "done"),
    "read_log": ("lines: int, after: int", "log_read"),
    "log_read": ("task: str, lines: list[str], last: int, level: str", None),
    "list_variables": ("", "variables_listed"),
    "variables_listed": ("task: str, variables: list[Any]", None),
    "ask_session_steps": ("session_handle: str, count: int, slower_than: float, timeout_in_ms: int", "last_steps"),
    "last_steps": ("steps: list[Any]", None),
    "get_status": ("", "worker_status"),
    "worker_status": (
        "task: str, incarnation: int, devices: list[Any], statistics: dict[str, Any], restored: dict[str, Any] | None",
        None,
    ),
    "create_worker_session": (
        "session_handle: str, master_task: str, master_incarnation: int, "
        "isolate_session_state: bool, peers: dict[str, str], task: str",
        "done",
    ),
    "update_worker_session": (
        "session_handle: str, peers: dict[str, str], removed: list[str], cluster_device_attributes: list[Any]",
        "done",
    ),
    "read_clock": ("", "clock_read"),
    "clock_read": ("now: float", None),
    "update_cluster": ("cluster: dict[str, str], given_up: list[str]", "done"),
    "logging_request": ("enable: bool | None, clear: bool, fetch: bool, steps: list[int]", "logging_reply"),
    "logging_reply": ("enabled: bool, events: list[Any]", None),
    "reattach_session": ("session_handle: str, anew: bool, request_id: str", "session_reattached"),
    "session_reattached": (
        "added: list[str], removed: list[str], restarted: list[str], lost: list[str], restored: list[str]",
        None,
    ),
    "delete_worker_session": ("session_handle: str", "done"),
    "ask_variables": ("session_handle: str, variables: list[list[str]]", "variables_found"),
    "variables_found": ("valued: list[bool]", None),
    "register_graph": (
        "session_handle: str, partitions: list[Any], costs: dict[str, float], "
        "group_scope: str, group_leader: str, collective_graph_key: int, debug_options: list[Any]",
        "graph_registered",
    ),
    "complete_group": (
        "scope: str, group: int, size: int, device: str, incarnation: int, host: str, retired: int",
        "group_completed",
    ),
    "group_completed": ("devices: list[str], incarnations: list[int], hosts: list[str], number: int", None),
    "end_group": ("scope: str, group: int, step_id: int, error: list[Any], left: list[Any]", None),
    "graph_registered": ("graph_handle: str, program: int", None),
    "deregister_graph": ("session_handle: str, graph_handle: str", "done"),
    "take_watched_values": ("session_handle: str, step_id: int, most: int, last: bool", "watched_values"),
    "watched_values": ("graphs: list[Any], values: list[Any], counts: list[int], last_failure: str, more: bool", None),
    "take_step_values": ("session_handle: str, run: str, last: bool", "step_values"),
    "step_values": (
        "tasks: dict[str, list[Any]], lost: dict[str, str], not_run: list[str], refused: list[str], over: bool",
        None,
    ),
    "ask_why": ("session_handle: str, most: int, steps: list[int], keys: list[str]", "worker_why"),
    "worker_why": ("waits: dict[str, Any]", None),
    "explain_step": (
        "session_handle: str, feeds: list[str], types: list[Any], fetches: list[str], targets: list[str]",
        "step_explained",
    ),
    "step_explained": ("explanation: str", None),
    "read_graph": ("session_handle: str, first: int, most: int", "graph_piece"),
    "graph_piece": ("nodes: list[Any], total: int", None),
    "read_variable": ("device: str, container: str, name: str, session: str, bins: int", "variable_summarised"),
    "variable_summarised": ("summary: dict[str, Any]", None),
    "list_queues": ("most: int", "queues_found"),
    "queues_found": ("queues: list[Any]", None),
    "ask_session_why": ("session_handle: str, timeout_in_ms: int", "session_why"),
    "session_why": ("waits: list[Any], silent: dict[str, str]", None),
    "ask_owed": ("steps: list[int], keys: list[str], reply_to: str, session_handle: str", "done"),
    "values_lost": ("step_id: int, task: str, key: str", None),
    "cleanup_graph": ("step_id: int, error: list[Any] | None, settles: bool, ran: bool, handed_out: list[int]", "done"),
    "cleanup_all": ("containers: list[str]", "done"),
}


def signature(spec: Spec) -> str:
    return ", ".join(f"{name}: {describe(hint)}" for name, hint in spec.hints.items())


@for_each("tag", PROTOCOL)
def test_a_message_has_the_agreed_fields_and_reply(tag: str) -> None:
    spec = VOCABULARY.specs[tag]
    assert (signature(spec), spec.reply) == PROTOCOL[tag]


def test_the_services_define_no_message_beyond_the_agreed_ones() -> None:
    ours = {spec.tag for spec in SPECS if spec.cls.__module__.startswith("actorsession.messages.")}
    assert ours == set(PROTOCOL)


@for_each("spec", SPECS, ids=lambda spec: spec.tag)
def test_each_reply_is_a_registered_message(spec: Spec) -> None:
    reply = VOCABULARY.reply_of(spec.cls)
    assert (reply is None) == (spec.reply is None)
    assert reply is None or VOCABULARY.specs[str(spec.reply)].cls is reply


@for_each("tag", PROTOCOL)
def test_each_field_is_explained(tag: str) -> None:
    cls = VOCABULARY.specs[tag].cls
    for field in fields(cls):
        assert re.search(rf"^ +{field.name}: \S", cls.__doc__ or "", re.MULTILINE)


def test_the_two_targets_have_different_names() -> None:
    assert (session_messages.MASTER, worker_messages.WORKER) == ("master", "worker")
