"""Clusters in a simulation: hosts, network, disks and time are drawn from a seed, and a run can be replayed."""
