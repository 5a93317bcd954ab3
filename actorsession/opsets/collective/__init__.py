"""Collectives: operations in which a group of devices takes part, such as the sum of a value of each."""
