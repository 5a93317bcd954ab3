"""The folder that ``run-tf1`` puts into ``PYTHONPATH``: what a program starts finds the alias too."""
