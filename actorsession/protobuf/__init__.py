"""The wire format of protobuf, which all readers and writers of messages share.

``wire`` implements varints, tags, lengths and fields, and ``scalars`` the scalar types as Python values. The
package defines no message: ``checkpoints``, ``interop`` and the ops that parse examples define their own.
"""
