"""The execution of a step in one process: rendezvous, executor actors, devices, resources, kernel pool.

The state of a step (``engine.step``, ``rendezvous``) is plain synchronous code: arrivals and finished
segments come in, segments to run go out. The executor actor of each device loads partitions and begins them
in the thread of their step. The same code runs without an event loop for the synchronous session.
"""
