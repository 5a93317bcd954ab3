"""``Supervisor`` and ``SessionManager``: training programs that are looked after, alone and in a cluster."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from tests.ports import HoldPorts

pytestmark = pytest.mark.usefixtures("graph")


def training() -> Any:
    """A step that halves ``w``, and counts."""
    step, w = tf.Variable(0, name="global_step", trainable=False), tf.Variable(4.0, name="w")
    return tf.train.GradientDescentOptimizer(0.25).minimize(w * w, global_step=step)


def test_training_begins_and_goes_on_where_the_last_checkpoint_is(tmp_path: Path) -> None:
    for begins in (0, 3):
        with tf.Graph().as_default():
            train_op = training()
            sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
            assert sv.save_path == str(tmp_path / "model.ckpt")
            with sv.managed_session() as sess:
                assert sess.run(sv.global_step) == begins
                while not sv.should_stop():
                    sess.run(train_op)
                    if sess.run(sv.global_step) == begins + 3:
                        sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
                        sv.request_stop()
            assert sv.coord.joined
    assert tf.train.load_variable(str(tmp_path), "w") == 4.0 * 0.5**6
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-6")
    assert (tmp_path / "graph.pbtxt").exists()


def test_what_a_program_needs_is_found_in_its_graph_or_made() -> None:
    training()
    local = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    init_op = tf.global_variables_initializer()
    tf.add_to_collection(tf.GraphKeys.INIT_OP, init_op)
    sv = tf.train.Supervisor()
    assert sv.init_op is init_op
    assert sv.is_chief
    assert sv.global_step is tf.train.get_global_step()
    assert tf.get_collection(tf.GraphKeys.SAVERS) == [sv.saver]
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [sv.global_step]
    assert (sv.ready_for_local_init_op, sv.summary_op, sv.summary_writer) == (None, None, None)
    assert (sv.save_path, sv.save_model_secs, sv.save_summaries_secs) == (None, 600, 120)
    assert isinstance(sv.session_manager, tf.train.SessionManager)
    assert tf.get_default_graph().finalized
    with sv.managed_session() as sess:
        assert sess.run(local) == 1.0
        assert len(sess.run(sv.ready_op)) == 0
    again = tf.train.Supervisor()
    assert (again.ready_op, again.saver, again.init_op) == (sv.ready_op, sv.saver, sv.init_op)


def test_nothing_is_made_in_place_of_what_there_is_not_to_be() -> None:
    sv = tf.train.Supervisor(
        ready_op=None,
        init_op=None,
        local_init_op=None,
        saver=None,
        global_step=None,
        summary_op=None,
        init_fn=lambda sess: found.append(sess.run("c:0")),
    )
    assert (sv.ready_op, sv.init_op, sv.local_init_op, sv.saver, sv.global_step) == (None,) * 5
    assert tf.get_default_graph().get_operations() == []
    with tf.Graph().as_default() as other:
        found: list[Any] = []
        tf.constant(3, name="c")
        sv = tf.train.Supervisor(other, init_fn=lambda sess: found.append(sess.run("c:0")))
        with sv.managed_session():
            pass
        assert (found, sv.saver) == ([3], None)


def events_of(folder: Path) -> list[Any]:
    return [e for file in sorted(folder.glob("events*")) for e in tf.train.summary_iterator(file)]


def kinds(events: Any) -> str:
    return " ".join(event.WhichOneof("what") for event in events)


def test_the_chief_writes_summaries_and_what_happened(tmp_path: Path) -> None:
    train_op = training()
    tf.summary.scalar("loss", tf.constant(2.0))
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0, save_model_secs=0)
    with sv.managed_session() as sess:
        sess.run(train_op)
        sv.summary_computed(sess, sess.run(sv.summary_op))
        sv.summary_computed(sess, sess.run(sv.summary_op), 7)
    found = events_of(tmp_path)
    assert kinds(found) == "file_version graph_def meta_graph_def session_log summary summary session_log"
    assert [event.step for event in found] == [0, 0, 0, 0, 1, 7, 0]
    assert [found[3].session_log.status, found[6].session_log.status] == [tf.SessionLog.START, tf.SessionLog.STOP]
    assert found[4].summary.value[0].simple_value == 2.0


def test_summaries_are_written_beside_the_program(tmp_path: Path) -> None:
    training()
    tf.summary.scalar("loss", tf.constant(2.0))
    written = threading.Event()

    class Writer(tf.summary.FileWriter):
        def add_summary(self, summary: Any, global_step: Any = None) -> None:
            super().add_summary(summary, global_step)
            written.set()

    writer = Writer(tmp_path)
    sv = tf.train.Supervisor(logdir=str(tmp_path), summary_writer=writer, save_model_secs=0)
    assert sv.summary_writer is writer
    with sv.managed_session():
        assert written.wait(30)
    assert "loss" in [e.summary.value[0].tag for e in events_of(tmp_path) if e.HasField("summary")]


def test_each_session_has_its_own_file_if_the_writer_is_closed(tmp_path: Path) -> None:
    tf.summary.scalar("c", tf.constant(1))
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    for _ in range(2):
        with sv.managed_session(start_standard_services=False) as sess:
            sv.summary_computed(sess, sess.run(sv.summary_op))
    files = sorted(tmp_path.glob("events*"))
    assert len(files) == 2
    for file in files:
        events = tf.train.summary_iterator(file)
        assert kinds(events) == "file_version graph_def meta_graph_def summary session_log"


def test_one_writer_may_serve_several_sessions(tmp_path: Path) -> None:
    tf.summary.scalar("c", tf.constant(1))
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    for _ in range(2):
        with sv.managed_session(close_summary_writer=False, start_standard_services=False) as sess:
            sv.summary_computed(sess, sess.run(sv.summary_op))
    sv.summary_writer.close()
    assert kinds(events_of(tmp_path)) == "file_version graph_def meta_graph_def summary summary"


def test_without_a_writer_no_summary_is_written() -> None:
    sv = tf.train.Supervisor()
    with tf.Session() as sess, pytest.raises(RuntimeError, match="requires a summary writer"):
        sv.summary_computed(sess, b"")


def test_an_error_while_the_session_is_made_is_raised() -> None:
    sv = tf.train.Supervisor(init_op=tf.no_op(), global_step=tf.Variable(0, name="v"))
    with pytest.raises(RuntimeError, match="not initialized: v"), sv.managed_session():
        raise AssertionError


def test_the_variables_of_replicas_are_placed() -> None:
    training()
    with pytest.raises(ValueError, match="all Variables must have their device set"):
        tf.train.Supervisor(is_chief=False)


def test_a_vector_of_one_number_counts_steps(tmp_path: Path) -> None:
    step, other = tf.Variable([123], name="global_step"), tf.constant([7])
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
    assert sv.global_step is step
    with sv.managed_session() as sess:
        assert sv.saver.save(sess, sv.save_path, sv.global_step) == f"{sv.save_path}-123"
        assert tf.train.global_step(sess, other) == 7


def test_checkpoints_are_saved_beside_the_program(tmp_path: Path) -> None:
    training()
    saver = tf.train.Saver()
    saved = threading.Event()

    class Saver:
        def save(self, sess: Any, path: str, global_step: Any) -> None:
            saver.save(sess, path, global_step=global_step)
            saved.set()

        def __getattr__(self, name: str) -> Any:
            return getattr(saver, name)

    sv = tf.train.Supervisor(logdir=str(tmp_path), saver=Saver(), save_model_secs=600, checkpoint_basename="m")
    with sv.managed_session():
        assert saved.wait(30)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-0")


def test_services_are_the_chiefs_and_need_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tf.device("/cpu:0"):
        training()
    with tf.Session() as sess:
        worker = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path))
        assert (worker.save_path, worker.save_model_secs) == (None, None)
        with pytest.raises(RuntimeError, match="Only chief supervisor"):
            worker.start_standard_services(sess)
        assert tf.train.Supervisor().start_standard_services(sess) is None
        sess.run(tf.train.Supervisor().init_op)
        quiet = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
        assert quiet.start_standard_services(sess) == []
    assert [r.getMessage() for r in caplog.records] == ["standard services need a logdir; no checkpoint is saved"]


def test_steps_per_second_go_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    logged = threading.Event()

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("global_step/sec: "):
                logged.set()

    log, heard = logging.getLogger("tensorflow"), Heard()
    train_op = training()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0.01)
    log.addHandler(heard)
    try:
        with sv.managed_session() as sess:
            sess.run(train_op)
            assert logged.wait(30)
    finally:
        log.removeHandler(heard)


def test_an_error_of_the_block_or_a_thread_ends_everything_and_is_raised() -> None:
    training()
    sv = tf.train.Supervisor()
    with pytest.raises(ZeroDivisionError), sv.managed_session() as sess:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(sv.global_step)

    def fails(divisor: int, *, dividend: int) -> None:
        dividend / divisor

    def looks_after_a_thread() -> None:
        with sv.managed_session():
            threads.append(sv.loop(600, fails, [0], {"dividend": 1}))
            sv.wait_for_stop()
            assert sv.should_stop()

    threads: list[threading.Thread] = []
    with pytest.raises(ZeroDivisionError):
        looks_after_a_thread()
    assert not threads[0].is_alive()


def test_the_end_of_input_is_the_end() -> None:
    row = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    sv = tf.train.Supervisor()
    seen = []
    with sv.managed_session() as sess:
        while not sv.should_stop():
            seen.append(int(sess.run(row)))
    assert seen == [0, 1, 2]


def test_the_program_may_start_services_and_queues_itself(tmp_path: Path) -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(7)])
    element = queue.dequeue()
    training()
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    sess = sv.PrepareSession("", start_standard_services=False)
    try:
        threads = sv.StartQueueRunners(sess, [runner])
        assert sess.run(element) == 7
        with sv.stop_on_exception():
            int("seven")
        assert sv.ShouldStop()
        with pytest.raises(ValueError, match="seven"):
            sv.Stop(threads)
        assert not any(thread.is_alive() for thread in threads)
    finally:
        sess.close()


def test_a_basic_loop_trains_until_it_is_told_to_stop_through_lost_sessions() -> None:
    train_op = training()
    sv = tf.train.Supervisor()
    lost = [tf.errors.AbortedError("a task was started again")]

    def step(sess: Any, last: int, *, loses: int) -> None:
        sess.run(train_op)
        made = sess.run(sv.global_step)
        if made == loses and lost:
            raise lost.pop()
        if made == last:
            sv.request_stop()

    tf.train.basic_train_loop(sv, step, [4], {"loses": 2})
    assert lost == []


def test_synchronous_training_begins_as_programs_write_it() -> None:
    """The chief puts the first tokens in, and starts what applies the gradients, which waits for more of them
    until the session is closed.
    """
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(4.0, name="w")
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.25), 1, 1)
    train_op = opt.minimize(w * w, global_step=step)
    runner, tokens = opt.get_chief_queue_runner(), opt.get_init_tokens_op()
    sv = tf.train.Supervisor(
        init_op=tf.global_variables_initializer(),
        local_init_op=opt.chief_init_op,
        ready_for_local_init_op=opt.ready_for_local_init_op,
        global_step=step,
    )
    with sv.prepare_or_wait_for_session("") as sess:
        sess.run(tokens)
        threads = sv.start_queue_runners(sess, [runner])
        for _ in range(3):
            sess.run(train_op)
        assert sess.run(step) >= 2
        sv.request_stop()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


PROGRAM = """
import sys
import actorsession.compat.v1 as tf
job, index, ps, chief, worker, logdir = sys.argv[1:]
hosts = {"ps": [ps], "worker": [chief, worker]}
server = tf.train.Server(tf.train.ClusterSpec(hosts), job_name=job, task_index=int(index))
if job == "ps":
    sys.stdin.read()
    server.stop()
    sys.exit()
is_chief = index == "0"
with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(hosts))):
    global_step = tf.train.get_or_create_global_step()
    w = tf.Variable(0, name="w", dtype=tf.int64)
    with tf.control_dependencies([w.assign_add(2)]):
        train_op = global_step.assign_add(1)
sv = tf.train.Supervisor(
    is_chief=is_chief, logdir=logdir, global_step=global_step, recovery_wait_secs=0.1, save_model_secs=0
)
with sv.managed_session(server.target) as sess:
    print("begins", flush=True)
    while not sv.should_stop():
        sys.stdin.readline()
        step = sess.run(train_op)
        if step >= 4:
            if is_chief:
                sv.saver.save(sess, sv.save_path, global_step=global_step)
            sv.request_stop()
        print(step, flush=True)
server.stop()
"""


@pytest.mark.process
def test_workers_wait_for_their_chief_and_share_its_model(tmp_path: Path, hold_ports: HoldPorts) -> None:
    """Three processes: a parameter server, a chief, and a worker that is there before the chief.

    1. The worker begins, and waits: nobody has given the variables their values.
    2. The chief begins, initialises, and makes steps 1 and 2.
    3. The worker makes step 3 on the same variables, the chief step 4, the worker step 5.
    """
    addresses = [f"127.0.0.1:{port}" for port in hold_ports(3)]

    def start(job: str, index: int) -> Any:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROGRAM, job, str(index), *addresses, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def makes_step(process: Any) -> int:
        process.stdin.write("\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    processes = [start("ps", 0), start("worker", 1), start("worker", 0)]
    try:
        ps, worker, chief = processes
        assert chief.stdout.readline() == "begins\n"
        assert worker.stdout.readline() == "begins\n"
        order = (chief, chief, worker, chief, worker)
        assert [makes_step(process) for process in order] == [1, 2, 3, 4, 5]
        assert [process.wait(30) for process in (chief, worker)] == [0, 0]
        ps.stdin.close()
        assert ps.wait(30) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
    assert tf.train.load_variable(str(tmp_path), "w") == 8


def manager(**parts: Any) -> Any:
    """One that looks often, and tests whether variables have values."""
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01, **parts)


def saved(folder: Path, value: float) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.Variable(value, name="v").initializer)
        path = tf.train.Saver().save(sess, str(folder / "model"), global_step=1)
        assert path is not None
        return path


def test_a_model_is_initialised_and_then_handed_to_a_function() -> None:
    x = tf.placeholder(tf.float32, [])
    v, w = tf.Variable(x, name="v"), tf.Variable(1.0, name="w")
    with manager().prepare_session(
        "", init_op=v.initializer, init_feed_dict={x: 3.0}, init_fn=lambda sess: sess.run(w.initializer)
    ) as sess:
        assert sess.run([v, w]) == [3.0, 1.0]


def test_a_model_is_restored_where_there_is_a_checkpoint(tmp_path: Path) -> None:
    path = saved(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with manager().prepare_session("", v.initializer, saver, str(tmp_path)) as sess:
        assert sess.run(v) == 7.0
        assert saver.last_checkpoints == [path]
    with manager().prepare_session("", saver=saver, checkpoint_filename_with_path=path) as sess:
        assert sess.run(v) == 7.0
    with manager().prepare_session("", v.initializer, None, str(tmp_path)) as sess:
        assert sess.run(v) == 1.0
    with pytest.raises(ValueError, match="Can not provide both"):
        manager().prepare_session("", None, saver, str(tmp_path), path)


def test_a_checkpoint_may_be_waited_for(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    prepared: list[Any] = []

    def prepare() -> None:
        with made.prepare_session("", v.initializer, saver, str(tmp_path), wait_for_checkpoint=True) as sess:
            prepared.append(sess.run(v))

    made = manager()
    waiting = threading.Thread(target=prepare)
    waiting.start()
    saved(tmp_path, 7.0)
    waiting.join(30)
    assert prepared == [7.0]
    nothing = str(tmp_path / "nothing")
    with made.prepare_session("", v.initializer, saver, nothing, wait_for_checkpoint=True, max_wait_secs=0) as sess:
        assert sess.run(v) == 1.0


def test_a_model_that_is_not_ready_is_refused_with_what_it_lacks() -> None:
    tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="w")
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager().prepare_session("")
    with pytest.raises(
        RuntimeError, match=r"Init op: nothing, init fn: None, .*error: Variables not initialized: v, w"
    ):
        manager().prepare_session("", tf.no_op(name="nothing"))
    before_local = manager(local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match=r"ready for local_init\. .*not initialized: v, w"):
        before_local.prepare_session("", tf.no_op())


def test_whoever_reads_a_variable_without_value_in_the_test_is_not_ready() -> None:
    v = tf.Variable(1.0, name="v")
    asserted = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
    with pytest.raises(RuntimeError, match="did not make model ready"):
        asserted.prepare_session("", tf.no_op())
    with asserted.prepare_session("", v.initializer) as sess:
        assert sess.run(v) == 1.0


def test_recovering_says_whether_the_model_is_ready(tmp_path: Path) -> None:
    saved(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    for folder, is_there in ((tmp_path, True), (tmp_path / "nothing", False)):
        session, is_ready = manager().recover_session("", saver, str(folder))
        with session:
            assert is_ready is is_there
            assert session.run(tf.is_variable_initialized(v)) == is_there
    tf.Variable(1.0, name="w")
    session, is_ready = manager().recover_session("", saver, str(tmp_path))
    with session:
        assert not is_ready
        assert session.run(v) == 7.0


def test_a_test_for_local_initialisation_needs_something_to_test_for() -> None:
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=tf.constant(["v"]))
    # A wait for nobody ends with what the model lacks.
    tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.05 secs\. .*initialized: v"):
        manager().wait_for_session("", max_wait_secs=0.05)
    # A wait for tasks that nobody starts ends with the limit. The tasks are a reason to wait, as the model is;
    # without limit their error is not waited away.
    made = manager()
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.1 secs\."):
        made.wait_for_session("grpc://127.0.0.1:1", config, max_wait_secs=0.1)
    with pytest.raises(tf.errors.OpError) as told:
        made.wait_for_session("grpc://127.0.0.1:1", config, max_wait_secs=None)
    assert "after waiting" not in str(told.value)


@pytest.mark.process
def test_a_session_is_there_when_another_task_has_made_the_model_ready() -> None:
    """Local variables are initialised in each session, and only when the shared ones have values.

    1. The worker looks: ``v`` has no value, so ``doubled`` cannot be made of it.
    2. The chief initialises ``v``.
    3. The worker looks again, makes ``doubled``, and has its session.
    """
    server = tf.train.Server.create_local_server()
    v = tf.Variable(2.0, name="v")
    doubled = tf.Variable(v.initialized_value() * 2, name="d", collections=["local_variables"])
    made = manager(
        local_init_op=tf.local_variables_initializer(), ready_for_local_init_op=tf.report_uninitialized_variables([v])
    )
    found: list[Any] = []

    def wait() -> None:
        with made.wait_for_session(server.target, max_wait_secs=60) as sess:
            found.append(sess.run([v, doubled]))

    try:
        waiting = threading.Thread(target=wait)
        waiting.start()
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
        waiting.join(60)
        assert found == [[2.0, 4.0]]
    finally:
        server.stop()
