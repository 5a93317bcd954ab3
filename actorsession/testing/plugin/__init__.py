"""The folder of the plug-in for pytest, which an installation has beside the packages."""
