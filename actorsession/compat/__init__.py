"""Faces for programs that were written for something else."""
