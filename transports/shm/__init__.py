"""The shared-memory lane: large segments that pass between processes of one host unsent.

`arena` is memory that others can map; `lane` puts segments there and takes them out. `stream.connection` uses
it where the peer is found to be on the same host.
"""
