"""The debugger of a local session: watched tensors, numeric checks, and the destinations of watched values.

``SessionDebugger`` runs decorated graphs. ``sinks`` and ``state`` have the registries that users extend.
"""
