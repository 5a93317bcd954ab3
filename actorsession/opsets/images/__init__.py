"""Images: files, sizes, colours and crops."""
