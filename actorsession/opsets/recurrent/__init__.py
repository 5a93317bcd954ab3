"""Steps of recurrent networks, and whole networks, as single operations: what graphs of fused cells hold."""
