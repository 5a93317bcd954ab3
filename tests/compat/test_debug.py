"""``tensorflow.python.debug``: sessions and hooks that keep the values of runs, or show them at a prompt."""

from __future__ import annotations

import gc
import importlib
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1 import debug
from tests.rows import for_each


@pytest.fixture
def step() -> Any:
    """A graph with y = log(x * v), and a session in which v is [1, 2]."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.log(x * tf.Variable([1.0, 2.0], name="v"), name="y")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            yield sess, x, y


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that has commands typed at the prompt."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def dumped(root: Path, run: int = 0) -> Any:
    """Return the values of one of the runs that were written below a directory."""
    return debug.DebugDumpDir(str(sorted(root.iterdir())[run]))


# -- values in directories -------------------------------------------------------------------------


def test_each_run_gets_a_directory_with_the_values_of_its_nodes(step: Any, tmp_path: Path) -> None:
    sess, x, y = step
    wrapped = debug.DumpingDebugWrapperSession(sess, str(tmp_path / "dumps"))
    np.testing.assert_array_equal(wrapped.run(y, {x: [1.0, -2.0]}), [0.0, np.nan])
    dump = dumped(tmp_path / "dumps")
    assert dump.nodes() == ["mul", "v/read", "x", "y"]
    np.testing.assert_array_equal(dump.get_tensors("mul", 0, "DebugIdentity"), [[1.0, -4.0]])
    assert [d.watch_key for d in dump.find(debug.has_inf_or_nan)] == ["y:0:DebugIdentity"]
    assert dump.debug_watch_keys("y") == ["y:0:DebugIdentity"]
    assert dump.node_op_type("y") == "Log"
    assert [dump.node_exists(name) for name in ("y", "q")] == [True, False]
    wrapped.make_callable(y, [x])([1.0, 1.0])
    assert len(list((tmp_path / "dumps").iterdir())) == wrapped.run_call_count == 2


def test_a_function_chooses_what_is_watched_in_a_run(step: Any, tmp_path: Path) -> None:
    sess, x, y = step
    seen = []

    def watched(fetches: Any, feeds: Any) -> Any:
        seen.append((fetches, feeds))
        return debug.WatchOptions(op_type_regex_whitelist="(Log|Mul)$")

    feeds = {x: [1.0, 1.0]}
    debug.DumpingDebugWrapperSession(sess, str(tmp_path / "a"), watched).run([y], feeds)
    assert seen == [([y], feeds)]
    assert dumped(tmp_path / "a").nodes() == ["mul", "y"]
    debug.DumpingDebugWrapperSession(sess, str(tmp_path / "b"), lambda *_: ("DebugNanCount", "y")).run(
        y, {x: [-1.0, 1.0]}
    )
    assert dumped(tmp_path / "b").get_tensors("y", 0, "DebugNanCount") == [1]


@for_each("passes_through", [False, True])
def test_the_error_of_a_run_is_returned_or_raised(step: Any, tmp_path: Path, passes_through: bool) -> None:
    sess, x, y = step
    checked = tf.check_numerics(y, "bad")
    wrapped = debug.DumpingDebugWrapperSession(
        sess, str(tmp_path / str(passes_through)), pass_through_operrors=passes_through
    )
    if passes_through:
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            wrapped.run(checked, {x: [-1.0, 1.0]})
    else:
        assert isinstance(wrapped.run(checked, {x: [-1.0, 1.0]}), tf.errors.InvalidArgumentError)
    dump = dumped(tmp_path / str(passes_through))
    assert [datum.node_name for datum in dump.find(debug.has_inf_or_nan)][:1] == ["y"]


def test_threads_with_other_names_are_not_watched(step: Any, tmp_path: Path) -> None:
    sess, x, y = step
    wrapped = debug.DumpingDebugWrapperSession(sess, str(tmp_path / "dumps"), thread_name_filter="Main")
    other = threading.Thread(target=wrapped.run, args=(y, {x: [1.0, 1.0]}), name="other")
    other.start()
    other.join(60)
    assert list((tmp_path / "dumps").iterdir()) == []


def test_a_wrapped_session_is_the_default_and_stays_open(step: Any, tmp_path: Path) -> None:
    sess, x, y = step
    wrapped = debug.DumpingDebugWrapperSession(sess, str(tmp_path / "dumps"))
    with wrapped:
        assert tf.get_default_session() is wrapped
        y.eval({x: [1.0, 1.0]})
    assert wrapped.run_call_count == 1
    assert tf.get_default_session() is sess
    assert wrapped.graph is sess.graph
    with pytest.raises(NotImplementedError, match="partial_run_setup is not implemented"):
        wrapped.partial_run_setup([y], [x])


def test_wrong_arguments_are_refused(step: Any, tmp_path: Path) -> None:
    sess = step[0]
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="points to a file"):
        debug.DumpingDebugWrapperSession(sess, str(tmp_path / "file"))
    with pytest.raises(ValueError, match="points to a non-empty directory"):
        debug.LocalCLIDebugWrapperSession(sess, str(tmp_path))
    with pytest.raises(TypeError, match=r"Expected type .* got type <class 'int'>"):
        debug.DumpingDebugWrapperSession(5, str(tmp_path / "dumps"))
    with pytest.raises(ValueError, match="'curses' or 'readline', got 'qt'"):
        debug.LocalCLIDebugWrapperSession(sess, ui_type="qt")
    prompt: Any = debug.LocalCLIDebugWrapperSession(sess, str(tmp_path / "prompt"))
    for name, check, error in ((1, len, TypeError), ("", len, ValueError), ("a", 3, TypeError)):
        with pytest.raises(error):
            prompt.add_tensor_filter(name, check)


def test_hooks_watch_the_steps_of_a_monitored_session(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        double = v.assign(v * 2.0)
        hook = debug.DumpingDebugHook(str(tmp_path / "dumps"), lambda *_: ("DebugIdentity", "mul"))
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            assert [float(sess.run(double)) for _ in range(2)] == [2.0, 4.0]
    assert [dumped(tmp_path / "dumps", run).get_tensors("mul") for run in range(2)] == [[2.0], [4.0]]


def test_watches_are_chosen_by_patterns_of_names_and_types(step: Any) -> None:
    graph = step[0].graph

    def nodes(**patterns: Any) -> set[str]:
        options = tf.RunOptions()
        watch: Any = debug.watch_graph
        if any("blacklist" in name for name in patterns):
            watch = debug.watch_graph_with_blacklists
        watch(options, graph, debug_urls="file:///dumps", **patterns)
        return {w.node_name for w in options.debug_options.debug_tensor_watch_opts}

    assert nodes() == {"*"}
    assert nodes(node_name_regex_whitelist="(y|v)") >= {"y", "v", "v/read"}
    assert nodes(node_name_regex_whitelist="(y|v)", op_type_regex_whitelist="Log") == {"y"}
    assert nodes(tensor_dtype_regex_whitelist="int") == set()
    kept = nodes(node_name_regex_blacklist="v", op_type_regex_blacklist="Placeholder")
    assert "y" in kept
    assert not kept & {"v", "v/read", "x"}


def test_a_watch_may_be_added_by_name(step: Any) -> None:
    sess, x, y = step
    options = tf.RunOptions()
    debug.add_debug_tensor_watch(options, "y", debug_ops=["DebugNanCount"], global_step=7)
    assert options.debug_options.global_step == 7
    sess.run(y, {x: [-1.0, 1.0]}, options)
    assert [(d.watch_key, d.value.tolist()) for d in sess.debug_dumps()] == [("y:0:DebugNanCount", [1])]


# -- the prompt ------------------------------------------------------------------------------------


def test_prompts_show_values(step: Any, types: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    sess, x, y = step
    wrapped = debug.LocalCLIDebugWrapperSession(sess, ui_type="readline")
    types("lt\nri\npf x:0\nrun\nlt -n y\nlt -f has_inf_or_nan\npt y:0\npt mul[1:]\nni y\npt q\noops\nrun -n\n")
    np.testing.assert_allclose(wrapped.run(y, {x: [1.0, 3.0]}), np.log([1.0, 6.0]), 1e-6)
    said = capsys.readouterr().out.replace("tfdbg> ", "").splitlines()
    assert said[0] == "run 1 is about to begin; its fetches: y:0"
    assert said[1] == "ERROR: the run has not begun; `run` runs it"
    assert said[2] == "run 1; fetches: y:0; feeds: x:0"
    assert said[3:5] == ["x:0:", "[1. 3.]"]
    assert said[5:7] == ["run 1 has ended; 4 values", "1 values"]
    assert said[7].endswith("float32[2] Log y:0")
    assert said[8:12] == ["0 values", "y:0 float32[2]", "[0.        1.7917595]", "mul:0 float32[1]"]
    assert said[12:16] == ["[6.]", "y: Log on no device of its own", "inputs: mul:0", "users: none"]
    assert said[16].startswith("ERROR: 'q:0:DebugIdentity' was not watched")
    assert said[17] == "ERROR: there is no command 'oops'; help lists them"
    wrapped.run(y, {x: [1.0, 1.0]})  # not watched, as `run -n` said
    assert capsys.readouterr().out == ""


def test_runs_go_on_to_a_filter(step: Any, types: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    sess, x, y = step
    wrapped = debug.LocalCLIDebugWrapperSession(sess)
    wrapped.add_tensor_filter("large", lambda datum, value: bool(np.max(value) > 100.0))
    types("run -t 2\nrun -f large\nexit\n")
    for value in (1.0, 1.0, 1.0, 1.0):
        wrapped.run(y, {x: [value, value]})
    assert capsys.readouterr().out.count("tfdbg>") == 2  # before runs 1 and 3
    with pytest.raises(SystemExit):
        wrapped.run(y, {x: [101.0, 1.0]})
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["run 5 has ended; 4 values", "a value passes the filter large: x:0"]


def test_a_hook_asks_at_the_prompt(types: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default():
        one = tf.constant(1.0, name="one")
        hook = debug.LocalCLIDebugHook()
        hook.add_tensor_filter("any", lambda datum, value: True)
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            types("run\npt one\nrun -n\n")
            assert sess.run(one) == 1.0
    assert "one:0 float32[]\n1.0\n" in capsys.readouterr().out


def test_programs_import_it_as_tensorflow_has_it() -> None:
    from actorsession.compat.v1.python.debug.wrappers import local_cli_wrapper

    assert local_cli_wrapper.LocalCLIDebugWrapperSession is debug.LocalCLIDebugWrapperSession
    tf_debug: Any = importlib.import_module("actorsession.compat.v1.python.debug")
    assert tf_debug.has_inf_or_nan is debug.has_inf_or_nan
    with pytest.raises(AttributeError, match="TensorBoardDebugWrapperSession"):
        _ = tf_debug.TensorBoardDebugWrapperSession


def test_the_filter_looks_at_the_value_alone() -> None:
    values = [np.array([1.0, np.inf]), np.array([np.nan], np.float16), np.array([1, 2]), np.array([b"a"], object)]
    assert [debug.has_inf_or_nan(None, value) for value in values] == [True, True, False, False]


def test_a_prompt_leaves_no_folder_behind(
    step: Any, types: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sess, x, y = step
    wrapped = debug.LocalCLIDebugWrapperSession(sess)
    assert len(list(tmp_path.iterdir())) == 1
    types("run\nrun -n\n")
    wrapped.run(y, {x: [1.0, 1.0]})
    del wrapped
    gc.collect()
    assert list(tmp_path.iterdir()) == []
