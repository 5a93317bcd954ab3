"""What programs import from below ``tensorflow.python.client``."""
