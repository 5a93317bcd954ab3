"""Connectionist temporal classification: the loss and the decoders."""
