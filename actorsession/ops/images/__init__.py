"""Images: files, sizes, colours, crops."""
