"""The description of a cluster is made from flags, written as text, and read again."""

from google.protobuf import text_format
import tensorflow as tf
from tensorflow.core.protobuf import cluster_pb2
from tensorflow.core.protobuf import tensorflow_server_pb2

HOSTS = {"ps": "ps0:2222,ps1:2222", "worker": "w0:2222,w1:2222,w2:2222"}


def cluster_def(hosts):
    made = cluster_pb2.ClusterDef()
    for name in sorted(hosts):
        job = made.job.add()
        job.name = name
        for number, address in enumerate(hosts[name].split(",")):
            job.tasks[number] = address
    return made


cluster = cluster_def(HOSTS)
spec = tf.train.ClusterSpec(cluster)
print(spec.jobs, spec.num_tasks("worker"), spec.task_indices("ps"), spec.task_address("worker", 1))
print("same", spec.as_cluster_def() == cluster, tf.train.ClusterSpec(spec.as_dict()) == spec)

server = tensorflow_server_pb2.ServerDef(cluster=cluster, job_name="worker", protocol="grpc")
server.task_index = 2
server.default_session_config.device_filters.extend(["/job:ps", "/job:worker/task:2"])
server.default_session_config.gpu_options.allow_growth = True
server.default_session_config.experimental.collective_group_leader = "/job:worker/task:0"
text = text_format.MessageToString(server.default_session_config)
print(text)
print("from text", text_format.Parse(text, tf.ConfigProto()) == server.default_session_config)

edited = tensorflow_server_pb2.ServerDef()
edited.CopyFrom(server)
del edited.cluster.job[0]
edited.cluster.job[0].tasks.pop(1)
print(len(server.cluster.job), len(edited.cluster.job), sorted(edited.cluster.job[0].tasks.items()))
edited.cluster.job.extend([cluster_pb2.JobDef(name="chief", tasks={0: "c:1"})])
edited.cluster.job.sort(key=lambda job: job.name)
print([job.name for job in edited.cluster.job])
print(edited.cluster.job[0])

bad = ["job { name: 'a' tasks { key: 'x' } }", "job { nme: 'a' }", "job { name: 'a'"]
for each in bad:
    try:
        text_format.Merge(each, cluster_pb2.ClusterDef())
    except text_format.ParseError:
        print("no cluster")
try:
    cluster.job[0].tasks["zero"] = "a:1"
except TypeError:
    print("a task has a number")
try:
    cluster_pb2.ClusterDef.FromString(b"\xff\xff")
except Exception as error:
    print(type(error).__name__)
