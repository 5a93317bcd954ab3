"""Connections over byte streams: tcp, unix and tls, with the bulk lane for large frames.

``connection`` carries frames over a byte stream once ``handshake`` has completed; ``transport`` and
``tls_transport`` implement the schemes, and ``listener`` accepts.
"""
