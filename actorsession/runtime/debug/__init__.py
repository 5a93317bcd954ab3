"""The debugger of a local session: watched tensors, numeric checks, and where what was seen goes.

``SessionDebugger`` runs decorated graphs; ``sinks`` and ``state`` are the registries that users extend.
"""
