"""Serialised examples, parsed by what feature columns ask for, and a wide model with crosses trained by FTRL."""

import numpy as np
import tensorflow.compat.v1 as tf

fc = tf.feature_column
ROWS = [
    (25.0, ["cook"], "oslo", 0), (31.0, ["smith", "cook"], "rome", 1), (47.0, [], "oslo", 1),
    (52.0, ["clerk"], "rome", 0), (19.0, ["smith"], "paris", 0), (38.0, ["clerk", "smith"], "oslo", 1),
]


def serialised(age, jobs, city, label):
    example = tf.train.Example()
    feature = example.features.feature
    feature["age"].float_list.value.append(age)
    feature["jobs"].bytes_list.value.extend([job.encode() for job in jobs])
    feature["city"].bytes_list.value.append(city.encode())
    feature["label"].float_list.value.append(label)
    return example.SerializeToString()


def columns():
    age = fc.numeric_column("age", normalizer_fn=lambda x: (x - 30.0) / 10.0)
    decade = fc.bucketized_column(fc.numeric_column("age"), [20.0, 30.0, 40.0, 50.0])
    jobs = fc.categorical_column_with_vocabulary_list("jobs", ["cook", "smith", "clerk"])
    city = fc.categorical_column_with_hash_bucket("city", 8)
    both = fc.crossed_column([decade, "city"], hash_bucket_size=16)
    return age, [decade, jobs, city, both]


def main(_):
    age, wide = columns()
    spec = fc.make_parse_example_spec([age] + wide[1:])
    spec["label"] = tf.FixedLenFeature([1], tf.float32)
    print([(key, type(spec[key]).__name__) for key in sorted(spec)])
    records = tf.placeholder(tf.string, [None])
    features = tf.parse_example(records, spec)
    labels = features.pop("label")
    parts = {}
    logits = fc.linear_model(features, [age] + wide, sparse_combiner="sqrtn", cols_to_vars=parts)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    train = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.001).minimize(loss, step)
    accuracy, update = tf.metrics.accuracy(labels, tf.cast(logits > 0, tf.float32))
    for column, variables in sorted(parts.items(), key=lambda item: getattr(item[0], "name", "")):
        print(getattr(column, "name", column), [(v.op.name, v.shape.as_list()) for v in variables])
    batch = [serialised(*row) for row in ROWS]
    with tf.Session() as sess:
        sess.run([
            tf.global_variables_initializer(), tf.local_variables_initializer(),
            tf.tables_initializer(),
        ])
        for _ in range(8):
            value, _, count = sess.run([loss, train, step], {records: batch})
            print("step %d loss %.4f" % (count, value))
        sess.run(update, {records: batch})
        print("accuracy %.4f" % sess.run(accuracy))
        print("scores", " ".join("%.3f" % each for each in sess.run(logits, {records: batch})[:, 0]))
        print("zeros", int((np.abs(sess.run(parts[wide[3]][0])) < 1e-8).sum()))
        try:
            sess.run(logits, {records: [b"no example"]})
        except tf.errors.InvalidArgumentError as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
