"""What programs and tests use of TensorFlow's own modules beyond ``tf``; ``module_paths`` has the paths."""
