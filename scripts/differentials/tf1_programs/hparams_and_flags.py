# peer: 1.15: contrib
"""A training script's settings: flags on the command line, hyperparameters as one string."""

import sys

import tensorflow as tf
from tensorflow.contrib.training import HParams

flags = tf.app.flags
flags.DEFINE_string("hparams", "", "Comma separated list of name=value pairs.")
flags.DEFINE_integer("steps", 3, "Number of steps.", lower_bound=1)
flags.DEFINE_float("learning_rate", 0.1, "Learning rate.")
flags.DEFINE_bool("verbose", False, "Whether to talk.")
flags.DEFINE_list("layers", "4,2", "Sizes.")
flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.")
flags.DEFINE_multi_string("tag", None, "Tags.")
FLAGS = flags.FLAGS


def default_hparams():
    return HParams(hidden=16, rate=0.5, act="relu", layers=[8, 4], bias=True)


def main(unused_argv):
    print(
        FLAGS.steps,
        FLAGS.learning_rate,
        FLAGS.verbose,
        FLAGS.layers,
        FLAGS.mode,
        FLAGS.tag,
        unused_argv[1:],
    )
    hparams = default_hparams().parse(FLAGS.hparams)
    print(hparams.hidden, hparams.rate, hparams.act, hparams.layers, hparams.bias)
    print(hparams.to_json(sort_keys=True))
    print("rate" in hparams, hparams.get("nothing", 3), sorted(hparams.values()))
    for text in ("hidden=1.5", "nothing=1", "hidden=1,hidden=2", "bias=maybe"):
        try:
            hparams.parse(text)
        except ValueError as e:
            print("ValueError", text)
    try:
        hparams.set_hparam("hidden", "many")
    except ValueError as e:
        print(e)
    x = tf.Variable(2.0)
    train = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(tf.square(x))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.steps):
            sess.run(train)
        print("%.4f" % sess.run(x))


if __name__ == "__main__":
    sys.argv += [
        "--steps=5",
        "--learning_rate",
        "0.25",
        "--verbose",
        "--layers=3,3,1",
        "--tag=a",
        "--tag=b",
        "--hparams=hidden=32,rate=1,act=tanh,layers=[2,1],bias=false",
    ]
    tf.app.run()
