"""What runs, when and how often: control edges, branches, loops, functions, checks, and Python itself."""
