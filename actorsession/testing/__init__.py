"""What tests of programs that use this library need: fixtures, comparisons, faults, and clusters in a simulation."""
