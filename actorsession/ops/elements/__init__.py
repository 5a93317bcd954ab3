"""Functions of single elements, with broadcasting: arithmetic, comparison, conversion, special functions."""
