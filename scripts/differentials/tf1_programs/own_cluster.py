"""A session that brings its own cluster along, and servers that are asked for their addresses first."""

import tensorflow.compat.v1 as tf

first = tf.train.Server.create_local_server()
second = tf.train.Server.create_local_server()
addresses = [s.target[len("grpc://"):] for s in (first, second)]
print([s.target.startswith("grpc://localhost:") for s in (first, second)])

cluster = tf.train.ClusterSpec({"work": addresses})
config = tf.ConfigProto(cluster_def=cluster.as_cluster_def())

with tf.device("/job:work/task:0"):
    a = tf.Variable([1.0, 2.0], name="a")
with tf.device("/job:work/task:1"):
    b = tf.Variable([10.0, 20.0], name="b")
    total = a + b
with tf.device("/job:work/task:0"):
    scaled = total * 2.0
    update = tf.assign_add(a, scaled)

with tf.Session(first.target, config=config) as sess:
    print(sorted(d.name for d in sess.list_devices() if d.device_type == "CPU"))
    sess.run(tf.global_variables_initializer())
    print(sess.run(scaled), sess.run(update), sess.run(a))
    print(sess.sess_str == first.target.encode())
    metadata = tf.RunMetadata()
    sess.run(scaled, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    ops = [node.op for part in metadata.partition_graphs for node in part.node]
    print("_Send" in ops, "_Recv" in ops, len(metadata.partition_graphs) >= 2)

try:
    with tf.Session(first.target) as sess:
        sess.run(a)
except tf.errors.InvalidArgumentError as e:
    print("without the cluster:", type(e).__name__)

definition = tf.train.ServerDef(cluster=tf.train.ClusterSpec({"local": ["localhost:0"]}).as_cluster_def(),
                                job_name="local", task_index=0, protocol="grpc")
definition.default_session_config.device_count["CPU"] = 2
third = tf.train.Server(definition)
with tf.Graph().as_default(), tf.Session(third.target) as sess:
    print(sorted(d.name for d in sess.list_devices() if d.device_type == "CPU"))
    print(sess.run(tf.constant(3) + 4))
try:
    tf.Session.reset("grpc://localhost:1", config=tf.ConfigProto(operation_timeout_in_ms=300))
except (tf.errors.DeadlineExceededError, tf.errors.UnavailableError):
    print("nobody answers")
