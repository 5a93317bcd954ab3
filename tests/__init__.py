"""The test suite; its folders mirror the source, one file per module."""
