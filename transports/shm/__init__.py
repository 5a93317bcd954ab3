"""The shared-memory lane: large segments that pass between processes of one host without being sent.

``arena`` is memory that other processes can map; ``lane`` writes segments to it and reads them, and
``loans`` keeps what is lent beside them.
``stream.connection`` uses the lane where the peer is found to be on the same host.
"""
