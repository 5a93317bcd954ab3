"""The hooks that TensorFlow has: logging, NaN, final values, feeds, waits, counters and timelines."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

train = tf.train


def model(rate=0.1):
    step = train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=3.0)
    loss = tf.square(v - 1.0, name="loss")
    return step, v, loss, train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)


def attempt(title, function):
    with tf.Graph().as_default():
        try:
            print(title, function())
        except Exception as exc:
            print(title, type(exc).__name__)


def logged():
    step, v, loss, op = model()
    seen = []

    def form(values):
        seen.append({key: round(float(value), 4) for key, value in sorted(values.items())})
        return "-"

    hook = train.LoggingTensorHook({"loss": loss, "v": "v:0"}, every_n_iter=2, at_end=True, formatter=form)
    with train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(4):
            sess.run(op)
    return seen


def nan(fails):
    step, v, loss, op = model()
    bad = loss * np.nan
    with train.MonitoredSession(hooks=[train.NanTensorHook(bad, fail_on_nan_loss=fails)]) as sess:
        ran = 0
        while not sess.should_stop():
            sess.run(op)
            ran += 1
    return ran


def final():
    step, v, loss, op = model()
    hook = train.FinalOpsHook({"v": v, "step": step})
    with train.SingularMonitoredSession(hooks=[hook, train.StopAtStepHook(last_step=2)]) as sess:
        while not sess.should_stop():
            sess.run(op)
        raw = sess.raw_session()
    return type(raw).__name__, {k: "%.4f" % x for k, x in sorted(hook.final_ops_values.items())}


def fed(twice):
    p = tf.placeholder(tf.float32, [2], name="p")
    double = p * 2.0
    with train.MonitoredSession(hooks=[train.FeedFnHook(lambda: {p: [1.0, 2.0]})]) as sess:
        return sess.run(double, {p: [0.0, 0.0]} if twice else None).tolist()


def drawn():
    folder = tempfile.mkdtemp()
    step, v, loss, op = model()
    with train.MonitoredSession(hooks=[train.ProfilerHook(save_steps=2, output_dir=folder)]) as sess:
        for _ in range(5):
            sess.run(op)
    return sorted(name for name in os.listdir(folder) if name.startswith("timeline"))


def waited():
    step, v, loss, op = model()
    with train.MonitoredSession(hooks=[train.GlobalStepWaiterHook(0)]) as sess:
        sess.run(op)
        return int(sess.run(step))


def counted():
    folder = tempfile.mkdtemp()
    step, v, loss, op = model()

    class Counter(train.StepCounterHook):
        def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
            found.append((int(elapsed_steps), elapsed_time > 0, int(global_step)))

    found = []
    with train.MonitoredSession(hooks=[Counter(every_n_steps=2, output_dir=folder)]) as sess:
        for _ in range(6):
            sess.run(op)
    return found


def timed():
    timer = train.SecondOrStepTimer(every_steps=3)
    said = []
    for step in range(8):
        said.append(timer.should_trigger_for_step(step))
        if said[-1]:
            timer.update_last_triggered_step(step)
    timer.reset()
    return said, timer.last_triggered_step(), timer.should_trigger_for_step(1)


attempt("logged", logged)
attempt("nan fails", lambda: nan(True))
attempt("nan stops", lambda: nan(False))
attempt("final", final)
attempt("fed", lambda: fed(False))
attempt("fed twice", lambda: fed(True))
attempt("drawn", drawn)
attempt("waited", waited)
attempt("counted", counted)
attempt("timed", timed)
for title, wrong in (
    ("both steps", lambda: train.StopAtStepHook(1, 1)), ("no steps", lambda: train.StopAtStepHook()),
    ("no interval", lambda: train.LoggingTensorHook([])),
    ("zero", lambda: train.LoggingTensorHook([], every_n_iter=0)),
    ("nobody", lambda: train.LoggingTensorHook(["none:0"], every_n_iter=1).begin()),
    ("no summary", lambda: train.SummarySaverHook(save_steps=1)),
    ("no step", lambda: train.SummarySaverHook(save_steps=1, summary_op="s").begin()),
    ("two intervals", lambda: train.CheckpointSaverHook("d", 1, 1)),
    ("saver and scaffold", lambda: train.CheckpointSaverHook("d", 1, saver="s", scaffold="c")),
    ("neither", lambda: train.ProfilerHook()), ("neither", lambda: train.SecondOrStepTimer()),
):
    attempt(title, wrong)
