"""The settings of a session are filled in from flags, as training scripts do."""

import argparse

import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2


def build_config(args):
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=args.log_placement)
    config.gpu_options.allow_growth = args.growth
    config.gpu_options.per_process_gpu_memory_fraction = args.fraction
    config.intra_op_parallelism_threads = args.threads
    config.inter_op_parallelism_threads = args.threads
    config.device_count["CPU"] = 1
    optimizer = config.graph_options.optimizer_options
    optimizer.opt_level = tf.OptimizerOptions.L1
    if args.xla:
        optimizer.global_jit_level = tf.OptimizerOptions.ON_1
    off = rewriter_config_pb2.RewriterConfig.OFF
    config.graph_options.rewrite_options.memory_optimization = 1
    config.graph_options.rewrite_options.arithmetic_optimization = off
    return config


def describe(name, config):
    print(name, "bytes", config.ByteSize(), "fields", [d.name for d, _ in config.ListFields()])


parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--fraction", type=float, default=0.5)
parser.add_argument("--growth", action="store_true", default=True)
parser.add_argument("--xla", action="store_true", default=True)
parser.add_argument("--log_placement", action="store_true")
config = build_config(parser.parse_args([]))
describe("config", config)
print(config)
print("jit", config.graph_options.optimizer_options.global_jit_level)
print("level", tf.OptimizerOptions.Level.Name(config.graph_options.optimizer_options.opt_level))

per_worker = tf.ConfigProto()
per_worker.CopyFrom(config)
per_worker.gpu_options.visible_device_list = "0,1"
per_worker.ClearField("device_count")
describe("worker", per_worker)
print("same", per_worker == config, "visible", repr(config.gpu_options.visible_device_list))

merged = tf.ConfigProto(intra_op_parallelism_threads=8, device_filters=["/job:ps"])
merged.MergeFrom(tf.ConfigProto(device_filters=["/job:worker/task:0"], inter_op_parallelism_threads=4))
print(sorted(str(merged).splitlines()))
print("gpu options set", merged.HasField("gpu_options"), config.HasField("gpu_options"))

sent = config.SerializeToString()
print("back", tf.ConfigProto.FromString(sent) == config)

for attempt in (
    lambda: tf.ConfigProto(allow_soft_placment=True),
    lambda: setattr(config, "gpu_options", tf.GPUOptions()),
    lambda: setattr(config, "intra_op_parallelism_threads", "2"),
    lambda: setattr(config, "no_such_field", 1),
    lambda: config.HasField("allow_soft_placement"),
    lambda: config.gpu_options.MergeFrom(config),
):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__)

with tf.Session(config=config) as sess:
    print("%.1f" % sess.run(tf.reduce_sum(tf.constant([1.0, 2.0, 3.5]))))
