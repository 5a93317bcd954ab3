"""``actorsession run-tf1``: a program for TensorFlow 1 runs as it is."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import multiprocessing
import subprocess
import sys

import tensorflow as tf
from tensorflow.python.framework import function


def child(out):
    with tf.Session() as session:
        out.put(float(session.run(tf.constant(3.0))))


def main(words):
    print(words[1:], tf.flags.FLAGS.steps)
    code = "import tensorflow.contrib.rnn, tensorflow as tf; print(tf.Session.__name__)"
    print(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout)
    spawn = multiprocessing.get_context("spawn")
    out = spawn.Queue()
    process = spawn.Process(target=child, args=(out,))
    process.start()
    print(out.get(timeout=50))
    process.join()
    return 3


tf.flags.DEFINE_integer("steps", 1, "how many")
if __name__ == "__main__":
    tf.app.run()
"""


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "actorsession", "run-tf1", *words],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=folder,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.process
def test_a_program_and_the_processes_that_it_starts_find_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    said = "['rest'] 7\nb'Session\\n'\n3.0\n"
    assert run(tmp_path, "program.py", "--steps=7", "rest") == (3, said, "")


@pytest.mark.process
def test_a_module_runs_too(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys\nimport tensorflow.nn\nprint(__name__, sys.argv[1:])\n"
    )
    assert run(tmp_path, "-m", "package", "-x") == (0, "__main__ ['-x']\n", "")


@pytest.mark.process
def test_an_error_shows_the_lines_of_the_program_alone(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import tensorflow as tf\ntf.nn.reluu(1)\n")
    code, out, err = run(tmp_path, "program.py")
    assert (code, out) == (1, "")
    first, file, _, *_, last = err.splitlines()
    assert first == "Traceback (most recent call last):"
    assert file.endswith('program.py", line 2, in <module>')
    assert last.startswith("AttributeError: program.py:2: tensorflow has no nn.reluu here; did you")
    assert err.count("  File ") == 1


@pytest.mark.process
@pytest.mark.skipif(importlib.util.find_spec("keras") is not None, reason="Keras is installed")
def test_a_program_for_keras_says_what_to_type_where_it_is_missing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from keras.layers import Dense\n")
    code, _, err = run(tmp_path, "program.py")
    assert code == 1
    assert err.splitlines()[-2:] == [
        "ModuleNotFoundError: No module named 'keras'",
        "Keras is a library of its own: pip install 'actorsession[keras]'",
    ]


@pytest.mark.process
def test_a_file_that_is_not_there_is_a_wrong_call(tmp_path: Path) -> None:
    said = "actorsession run-tf1: SCRIPT: there is no file 'nothing.py'\n"
    assert run(tmp_path, "nothing.py") == (2, "", said)


@pytest.mark.process
def test_names_that_numpy_and_python_have_removed_are_there_again(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import collections, time\nimport numpy as np\n"
        "print(np.float(1), np.zeros(1, np.int).dtype.kind, np.product([2, 3]), np.asscalar(np.ones(1)))\n"
        "print(isinstance([], collections.Iterable), time.clock() > 0)\n"
    )
    assert run(tmp_path, "program.py") == (0, "1.0 i 6 1.0\nTrue True\n", "")


FORMER = """\
import base64
import numpy as np
import tensorflow as tf

a = np.arange(6, dtype=np.uint8).reshape(2, 3)
print(a.tostring(), a.ptp(), np.fromstring(a.tostring(), np.uint8), base64.encodestring(b"x"))
print(np.array([[1, 2], [3]]).dtype, np.asarray([[1], [2, 3]]).shape, np.asfarray([1]).dtype)
try:
    tf.constant([[1, 2], [3]])
except ValueError as error:
    print("no tensor")
import scipy.misc
from scipy import misc
scipy.misc.imsave("x.png", np.eye(4))
print(misc.imread("x.png").tolist()[0], misc.imresize(a, (4, 6)).shape, misc.logsumexp([0.0]))
from scipy.sparse.linalg.eigen.arpack import eigsh, ArpackNoConvergence
from scipy.misc.pilutil import imread
from scipy.signal import gaussian
from scipy.integrate import simps
from scipy.linalg import pinv2
print(eigsh(np.diag([1.0, 2.0, 5.0]), 1)[0].round(6), gaussian(3, 1).shape, simps([1, 2, 3]))
import xml.etree.cElementTree as ET
print([e.tag for e in ET.fromstring("<a><b/><c/></a>").getchildren()])
"""


@pytest.mark.process
def test_what_numpy_scipy_and_python_have_removed_is_there_again(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FORMER)
    code, out, err = run(tmp_path, "program.py")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "b'\\x00\\x01\\x02\\x03\\x04\\x05' 5 [0 1 2 3 4 5] b'eA==\\n'",
        "object (2,) float64",
        "no tensor",
        "[255, 0, 0, 0] (4, 6) 0.0",
        "[5.] (3,) 4.0",
        "['b', 'c']",
    ]


@pytest.mark.process
def test_libraries_that_tensorflow_brought_along_need_not_be_installed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import six, tensorflow as tf\nfrom six.moves import xrange, urllib\n"
        "from google.protobuf import json_format, text_format\n"
        "assert json_format.MessageToDict(tf.ConfigProto(device_count={'CPU': 2})) == "
        "{'deviceCount': {'CPU': 2}}\n"
        'graph = text_format.Parse(\'node { name: "a" op: "NoOp" }\', tf.GraphDef())\n'
        "print(list(xrange(2)), six.PY3, urllib.parse.quote('a b'), graph.node[0].name)\n"
    )
    assert run(tmp_path, "program.py") == (0, "[0, 1] True a%20b a\n", "")


@pytest.mark.process
def test_flags_of_absl_and_of_tf_are_read_from_one_command_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from absl import flags\nimport tensorflow as tf\n"
        "flags.DEFINE_integer('steps', 1, '')\ntf.app.flags.DEFINE_integer('size', 1, '')\n"
        "def main(rest):\n    print(flags.FLAGS.steps, tf.app.flags.FLAGS.size, rest[1:])\n"
        "tf.app.run(main)\n"
    )
    said = "3 4 ['rest']\n"
    assert run(tmp_path, "program.py", "--steps=3", "rest", "--size", "4") == (0, said, "")


@pytest.mark.process
def test_shapes_consist_of_dimensions_as_in_tensorflow_1(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\nx = tf.zeros([2, 3])\n"
        "print(x.shape[1].value, x.get_shape().as_list(), int(x.shape[0]) * 2, tf.ones(x.shape[1:]).shape)\n"
    )
    assert run(tmp_path, "program.py") == (0, "3 [2, 3] 4 (3,)\n", "")


@pytest.mark.process
def test_what_a_program_logs_is_its_own_matter(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import logging\nimport tensorflow as tf\ntf.logging.set_verbosity(tf.logging.INFO)\n"
        "tf.logging.info('step %d', 3)\nlogging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "logging.getLogger('program').info('own')\n"
    )
    assert run(tmp_path, "program.py") == (0, "", "INFO:tensorflow:step 3\nown\n")


@pytest.mark.process
def test_arrays_are_converted_as_numpy_did_when_the_program_was_written(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import numpy as np\n\ndef pick(x): return int(x)\n")
    (tmp_path / "program.py").write_text(
        "import numpy as np\nimport own\nfrom scipy.sparse.linalg.eigen.arpack import eigsh\n"
        "print(own.pick(np.array([3])), 'loss %.1f' % np.array([0.5]), float(np.ones((1, 1))))\n"
        "print(np.array([[1, 2], [3]]).dtype, __name__, __file__, eigsh.__name__)\n"
    )
    said = "3 loss 0.5 1.0\nobject __main__ program.py eigsh\n"
    assert run(tmp_path, "program.py") == (0, said, "")


@pytest.mark.process
def test_what_asks_for_no_device_runs_on_the_one_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\nx = tf.placeholder(tf.float32, [2])\ny = x * 2.0\n"
        "with tf.device('/cpu:0'):\n    z = y + 1.0\n"
        "with tf.Session() as session:\n"
        "    print(*session.run([y, z], {x: [1, 2]}))\n"
        "    print(*[session.placement()[t.op.name].device.rpartition(':')[0].rpartition(':')[2] for t in (y, z)])\n"
    )
    assert run(tmp_path, "program.py") == (0, "[2. 4.] [3. 5.]\nCPU CPU\n", "")
    code, out, err = run(tmp_path, "--device", "torch-cpu", "program.py")
    if importlib.util.find_spec("torch"):
        assert (code, out, err) == (0, "[2. 4.] [3. 5.]\nTORCH_CPU CPU\n", "")
        code, out, err = run(tmp_path, "--device", "gpu", "program.py")
        assert (code, out) in ((0, "[2. 4.] [3. 5.]\nGPU CPU\n"), (2, ""))
        assert "there is no GPU here" in err or not code
    else:
        assert (code, out) == (2, "")
        assert "pip install 'actorsession[torch]'" in err


@pytest.mark.process
def test_processes_that_a_program_starts_prefer_the_device_that_it_has(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "child.py").write_text(
        "import tensorflow as tf\nx = tf.constant([1.0, 2.0]) * 3.0\n"
        "with tf.Session() as session:\n"
        "    print(session.run(x), session.placement()[x.op.name].device.rpartition('device:')[2])\n"
    )
    (tmp_path / "program.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\n")
    assert run(tmp_path, "--device", "torch-cpu", "program.py") == (0, "[3. 6.] TORCH_CPU:0\n", "")


@pytest.mark.process
def test_what_asks_for_a_gpu_runs_where_soft_placement_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\nwith tf.device('/gpu:0'):\n    x = tf.constant(2.0) * 3.0\n"
        "for make in (tf.Session, tf.InteractiveSession, tf.train.MonitoredSession):\n"
        "    with make() as session: print(session.run(x))\n"
    )
    code, _, err = run(tmp_path, "program.py")
    assert code == 1
    assert "Cannot assign a device for operation" in err
    assert run(tmp_path, "--soft-placement", "program.py") == (0, "6.0\n6.0\n6.0\n", "")
