"""Connections over byte streams: tcp, unix and tls, with the bulk lane for large frames.

`connection` carries frames over an asyncio stream once `handshake` has made peers of its ends; `transport`
and `tls_transport` register the schemes, `listener` accepts.
"""
