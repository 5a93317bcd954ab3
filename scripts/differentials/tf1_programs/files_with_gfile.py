"""A little tool keeps data sets in folders, with gfile alone."""

import os
import tempfile

import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("name", "letters", "Name of the data set.")
flags.DEFINE_integer("shards", 3, "Number of files.")
FLAGS = flags.FLAGS


class Store(object):
    def __init__(self, root):
        self.root = root
        if not tf.gfile.Exists(root):
            tf.gfile.MakeDirs(root)

    def add(self, name, lines, shards):
        folder = os.path.join(self.root, name)
        tf.gfile.MakeDirs(folder)
        for number in range(shards):
            path = os.path.join(folder, "part-%05d-of-%05d.txt" % (number, shards))
            with tf.gfile.Open(path, "w") as out:
                for line in lines[number::shards]:
                    out.write(line + "\n")
        with tf.gfile.GFile(os.path.join(folder, "DONE"), "wb") as out:
            out.write(b"%d" % len(lines))

    def lines(self, name):
        found = []
        for path in sorted(tf.gfile.Glob(os.path.join(self.root, name, "part-*"))):
            with tf.gfile.GFile(path) as f:
                found.extend(line.strip() for line in f)
        return found


def main(_):
    top = tempfile.mkdtemp()
    store = Store(os.path.join(top, "a", "b"))
    store.add(FLAGS.name, [chr(ord("a") + n) for n in range(7)], FLAGS.shards)
    print(store.lines(FLAGS.name))
    folder = os.path.join(store.root, FLAGS.name)
    print(sorted(tf.gfile.ListDirectory(folder)))
    stat = tf.gfile.Stat(os.path.join(folder, "DONE"))
    print(stat.length, tf.gfile.IsDirectory(folder), stat.is_directory)

    first = os.path.join(folder, "part-00000-of-00003.txt")
    with tf.gfile.FastGFile(first, "rb") as f:
        print(f.read(2), f.tell(), f.size())
        f.seek(4)
        print(f.readline(), f.readlines())
    with tf.gfile.GFile(first, "a") as f:
        f.write("z\n")
    with tf.gfile.GFile(first, "r") as f:
        print(f.read().split())

    copy = os.path.join(top, "copy.txt")
    tf.gfile.Copy(first, copy)
    tf.gfile.Copy(first, copy, overwrite=True)
    tf.gfile.Rename(copy, copy + ".old")
    print(tf.gfile.Exists(copy), tf.gfile.Exists(copy + ".old"))
    for folder_name, folders, files in tf.gfile.Walk(top):
        print(os.path.relpath(folder_name, top), folders, len(files))

    attempts = {
        "read": lambda: tf.gfile.GFile(copy).read(),
        "copy": lambda: tf.gfile.Copy(first, copy + ".old"),
        "remove": lambda: tf.gfile.Remove(copy),
        "remove folder": lambda: tf.gfile.Remove(folder),
        "stat": lambda: tf.gfile.Stat(copy),
        "list": lambda: tf.gfile.ListDirectory(copy),
        "write": lambda: tf.gfile.GFile(first, "r").write("a"),
        "mode": lambda: tf.gfile.GFile(first, "x"),
        "deep": lambda: tf.gfile.MkDir(os.path.join(top, "p", "q")),
        "delete": lambda: tf.gfile.DeleteRecursively(copy),
    }
    for name in sorted(attempts):
        try:
            attempts[name]()
            print(name, "done")
        except tf.errors.OpError as error:
            print(name, type(error).__name__, error.error_code)
    tf.gfile.DeleteRecursively(store.root)
    print(tf.io.gfile.exists(store.root), sorted(tf.io.gfile.listdir(top)))


if __name__ == "__main__":
    tf.app.run()
