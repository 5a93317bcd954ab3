"""Summaries: values of a step, encoded as TensorFlow's ``Summary`` messages for event files."""
