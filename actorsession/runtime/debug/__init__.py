"""The debugger of sessions: watched tensors, numeric checks, and the destinations of watched values.

``SessionDebugger`` begins debugged runs for a session. Their graphs are decorated by ``graph``, in this
process or, over a master, by each worker (``task_debugger``). ``graph``, ``sinks`` and ``state`` have the
registries that users extend.
"""
