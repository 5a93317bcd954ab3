"""Where a step happens inside one process: rendezvous, executor actors, devices, resources, kernel pool.

The bookkeeping of a step (``step``, ``rendezvous``) is plain synchronous code: arrivals and finished
segments in, segments to run out. The executor actor of each device is the thin shell that awaits. The same
code runs without an event loop for the synchronous session.
"""
