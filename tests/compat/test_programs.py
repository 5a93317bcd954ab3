"""Programs as they are written for TensorFlow 1, run as they stand."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
import actorsession.compat.v1 as tf
from tests.forks import in_a_child, refusals
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


def test_a_line_is_fitted() -> None:
    tf.set_random_seed(1)
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    w, b = tf.Variable(0.0), tf.Variable(0.0)
    loss = tf.reduce_mean(tf.square(w * x + b - y))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    xs = np.linspace(-1, 1, 20).astype(np.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(100):
            sess.run(train, feed_dict={x: xs, y: 3 * xs + 1})
        np.testing.assert_allclose(sess.run([w, b]), [3.0, 1.0], rtol=1e-4)


def test_settings_are_filled_in_after_they_were_made() -> None:
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    config.gpu_options.allow_growth = True
    config.gpu_options.per_process_gpu_memory_fraction = 0.4
    config.device_count["CPU"] = 2
    config.inter_op_parallelism_threads = 1
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(config=config) as sess:
        assert [d.device_type for d in sess.list_devices()] == ["CPU", "CPU"]
    other = tf.ConfigProto()
    other.CopyFrom(config)
    assert other.HasField("gpu_options")
    assert not other.HasField("rpc_options")
    assert "allow_soft_placement: true" in repr(other)
    with tf.InteractiveSession(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))):
        assert tf.constant(3.0).eval() == 3.0


@for_each(
    "make, error",
    [
        (lambda: tf.ConfigProto(no_such=1), ValueError),
        (lambda: tf.ConfigProto().HasField("no_such"), ValueError),
        (lambda: tf.ConfigProto().no_such, AttributeError),
        (lambda: setattr(tf.ConfigProto(), "no_such", 1), AttributeError),
    ],
    ids=["made", "asked for", "read", "set"],
)
def test_a_setting_that_does_not_exist_is_refused(make: Any, error: type[Exception]) -> None:
    """With the error classes of protobuf, so that programs may look for a setting by ``hasattr``."""
    with pytest.raises(error, match='has no "no_such" field; it has device_count'):
        make()
    assert not hasattr(tf.ConfigProto(), "no_such")


@pytest.mark.process
def test_the_settings_of_a_server_are_the_defaults_of_its_sessions() -> None:
    with tf.device("/cpu:7"):
        y = tf.constant(1.0) + 1.0
    server = tf.train.Server.create_local_server(tf.ConfigProto(allow_soft_placement=True))
    try:
        with tf.Session(server.target) as sess:
            assert sess.run(y) == 2.0
    finally:
        server.stop()


@pytest.mark.process
def test_a_worker_and_its_client_as_two_scripts_would_be() -> None:
    server = tf.train.Server.create_local_server()
    try:
        target = server.target.replace("tcp://", "grpc://")
        v = tf.Variable(1.0)
        add = v.assign_add(2.0)
        with tf.Session(target) as sess:
            sess.run(v.initializer)
            assert sess.run(add) == 3.0
            assert "/job:localhost/" in sess.list_devices()[0].name
        with tf.Session(target) as sess:
            assert sess.run(v) == 3.0
        tf.Session.reset(target)
    finally:
        server.stop()
    server.stop()
    server.join()
    with pytest.raises(tf.errors.FailedPreconditionError, match="was stopped"):
        server.start()


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_server_is_its_parents_in_a_forked_child_and_stopped_by_any_number_of_threads() -> None:
    server = tf.train.Server.create_local_server()
    found = in_a_child({"stop": server.stop, "start": server.start, "join": server.join})
    assert found.pop("stop") == "returned None"
    assert list(refusals(found)) == ["start", "join"]
    with tf.Session(server.target) as sess:
        assert sess.run(tf.constant(1.0) + 1.0) == 2.0
    threads = [threading.Thread(target=server.stop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_a_server_that_is_not_in_its_cluster_is_refused() -> None:
    cluster = tf.train.ClusterSpec({"worker": ["127.0.0.1:0"]})
    with pytest.raises(tf.errors.InternalError):
        tf.train.Server(cluster, job_name="ps", task_index=0)
    server = tf.train.Server(cluster, job_name="worker", task_index=0, start=False)
    server.start()
    server.start()  # twice is once
    server.stop()


def test_a_queue_is_filled_by_threads() -> None:
    queue = tf.RandomShuffleQueue(100, 10, tf.float32, shapes=[[]], seed=3)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(tf.random_uniform([]))] * 2))
    batch = queue.dequeue_many(8)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            for _ in range(5):
                assert sess.run(batch).shape == (8,)
        finally:
            coord.request_stop()
            coord.join(threads)


def test_names_of_scopes_have_defaults() -> None:
    with tf.name_scope(None, "made", [tf.constant(1.0)]):
        assert tf.constant(1.0).op.name == "made/Const"
    with tf.name_scope("given", "made"):
        assert tf.constant(1.0).op.name == "given/Const"
    with pytest.raises(TypeError, match="default_name"):
        tf.name_scope(None, None, [tf.constant(1.0)])
    # There is no eager execution.
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    assert not tf.executing_eagerly()
    with pytest.raises(tf.errors.UnimplementedError, match="no eager execution"):
        tf.enable_eager_execution()
    # Strings become text and bytes.
    assert tf.compat.as_bytes("é") == "é".encode()
    assert tf.compat.as_str(b"abc") == tf.as_text("abc") == "abc"
    assert tf.compat.as_str_any(5) == "5"
    with pytest.raises(TypeError, match="Expected binary or unicode string"):
        tf.as_bytes(5)  # type: ignore[arg-type]


PROGRAM = """
import actorsession.compat.v1 as tf
flags = tf.app.flags
flags.DEFINE_string("name", "x", "a name")
flags.DEFINE_integer("steps", 10, "how many")
flags.DEFINE_float("rate", 0.5, "how fast")
flags.DEFINE_boolean("sync", False, "whether")
flags.DEFINE_boolean("log", True, "whether")
flags.DEFINE_enum("mode", "a", ["a", "b"], "which")
flags.DEFINE_list("words", "p,q", "some")
FLAGS = flags.FLAGS

def main(argv):
    FLAGS.rate *= 2
    print(FLAGS.name, FLAGS.steps, FLAGS.rate, FLAGS.sync, FLAGS.log, FLAGS.mode, FLAGS.words, argv[1:])
    return 3

if __name__ == "__main__":
    tf.app.run()
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "x 10 1.0 False True a ['p', 'q'] []\n"),
        (
            ["--name=n", "--steps", "5", "--sync", "--nolog", "--mode=b", "--words=u,v", "left"],
            "n 5 1.0 True False b ['u', 'v'] ['left']\n",
        ),
        (["--sync=true", "--log=0"], "x 10 1.0 True False a ['p', 'q'] []\n"),
    ],
    ids=["defaults", "given", "truth"],
)
def test_a_program_reads_its_flags(tmp_path: Path, words: list[str], said: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    root = Path(actorsession.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, script, *words],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, said, "")


@pytest.fixture
def flags() -> Any:
    found = tf.flags.FlagValues()
    tf.flags.DEFINE_integer("steps", 3, "how many", lower_bound=1, flag_values=found)
    tf.flags.DEFINE_multi_string("word", ["a"], "some", flag_values=found)
    tf.flags.DEFINE_boolean("log", True, "whether", flag_values=found)
    tf.flags.DEFINE_spaceseplist("names", "a b", "some", flag_values=found)
    return found


@for_each(
    "words, rest, steps, word, log",
    [
        ([], [], 3, ["a"], True),
        (["--steps", "4", "x", "--steps=5", "--word=q", "--word", "r", "--nolog"], ["x"], 5, ["q", "r"], False),
        (["-steps=7", "--log", "false"], ["false"], 7, ["a"], True),
        (["--", "--steps=9"], ["--steps=9"], 3, ["a"], True),
    ],
)
def test_flags_are_read(flags: Any, words: list[str], rest: list[str], steps: int, word: list[str], log: bool) -> None:
    flags.unparse_flags()
    assert flags(["program", *words]) == ["program", *rest]
    assert (flags.steps, flags.word, flags.log, flags.names) == (steps, word, log, ["a", "b"])
    assert flags["steps"].present == sum("steps" in one for one in words if one not in rest)


@for_each(
    "words, error, said",
    [
        (["--steps=x"], tf.flags.IllegalFlagValueError, "flag --steps=x: invalid literal"),
        (["--steps=0"], tf.flags.IllegalFlagValueError, "flag --steps=0: 0 is not a positive integer"),
        (["--log=maybe"], tf.flags.IllegalFlagValueError, "Non-boolean argument"),
        (["--steps"], tf.flags.Error, "Missing value for flag --steps"),
        (["--step=1"], tf.flags.UnrecognizedFlagError, "'step'. Did you mean: steps"),
        (["--nosteps"], tf.flags.UnrecognizedFlagError, "Unknown command line flag 'nosteps'"),
    ],
)
def test_a_wrong_command_line_is_an_error(flags: Any, words: list[str], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        flags(["program", *words])


def test_flags_are_checked_when_they_are_parsed_and_assigned(flags: Any) -> None:
    tf.flags.DEFINE_string("data", None, "where", flag_values=flags)
    tf.flags.mark_flag_as_required("data", flag_values=flags)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="--data must have a value"):
        flags(["program"])
    flags(["program", "--data=x"])
    tf.flags.register_validator("steps", lambda n: n % 2 == 1, "odd", flag_values=flags)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="flag --steps=4: odd"):
        flags.steps = 4
    assert flags.steps == 3
    with pytest.raises(AttributeError):
        _ = flags.other
    # What is assigned stays as it is: programs put lists into flags of strings.
    flags.data = [1, 2]
    assert flags.data == [1, 2]
    assert not flags["data"].using_default_value


def test_a_line_logs_every_few_times(caplog: pytest.LogCaptureFixture) -> None:
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.INFO)
    try:
        for step in range(4):
            tf.logging.log_every_n(tf.logging.INFO, "step %d", 3, step)
            tf.logging.log_first_n(tf.logging.WARN, "first %d", 2, step)
            tf.logging.log_if(tf.logging.ERROR, "odd %d", step % 2, step)
            tf.logging.debug("not seen")
    finally:
        tf.logging.set_verbosity(before)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "step 0"),
        ("WARNING", "first 0"),
        ("WARNING", "first 1"),
        ("ERROR", "odd 1"),
        ("INFO", "step 3"),
        ("ERROR", "odd 3"),
    ]
    assert {r.name for r in caplog.records} == {tf.get_logger().name} == {"tensorflow"}


@pytest.mark.process
def test_messages_go_to_standard_error_in_tensorflows_form() -> None:
    code = """
import actorsession.compat.v1 as tf
tf.logging.info("quiet")
tf.logging.warn("loud %d", 1)
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("seen")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert done.stderr == "WARNING:tensorflow:loud 1\nINFO:tensorflow:seen\n"


def test_files_have_the_names_and_errors_of_tensorflow(tmp_path: Path) -> None:
    folder, file = str(tmp_path / "a" / "b"), str(tmp_path / "a" / "b" / "f.txt")
    assert not tf.gfile.Exists(folder)
    tf.gfile.MakeDirs(folder)
    tf.gfile.MakeDirs(folder)
    tf.gfile.MkDir(folder)
    assert tf.gfile.IsDirectory(folder)
    with tf.gfile.GFile(file, "w") as out:
        out.write("words")
    with tf.gfile.FastGFile(file, "rb") as data:
        assert data.read() == b"words"
    tf.gfile.Copy(file, file + "2")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(file, file + "2")
    tf.gfile.Rename(file + "2", file, overwrite=True)
    assert tf.gfile.ListDirectory(folder) == ["f.txt"]
    assert tf.gfile.Glob(str(tmp_path / "a" / "*" / "*.txt")) == [file]
    assert [w[2] for w in tf.gfile.Walk(folder)] == [["f.txt"]]
    said = tf.gfile.Stat(file)
    assert (said.length, said.is_directory) == (5, False)
    assert said.mtime_nsec == Path(file).stat().st_mtime_ns
    assert tf.gfile.Stat(str(tmp_path)).is_directory
    tf.gfile.Remove(file)
    for missing in (tf.gfile.Remove, tf.gfile.Stat, lambda name: tf.gfile.GFile(name).read()):
        with pytest.raises(tf.errors.NotFoundError, match=r"f\.txt; No such file"):
            missing(file)
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not tf.gfile.Exists(folder)


def test_the_log_has_tensorflows_levels(caplog: pytest.LogCaptureFixture) -> None:
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.ERROR)
        tf.logging.info("quiet")
        tf.logging.error("loud")
    finally:
        tf.logging.set_verbosity(before)
    assert [r.getMessage() for r in caplog.records] == ["loud"]


def test_flags_are_read_and_listed_as_programs_before_1_5_did(flags: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["program.py", "--steps=5"])
    flags._parse_flags()
    assert {name: flag.value for name, flag in getattr(flags, "__flags").items()} == {
        "steps": 5,
        "word": ["a"],
        "log": True,
        "names": ["a", "b"],
    }
    flags._parse_flags(["--steps=4"])
    assert flags.steps == 4
