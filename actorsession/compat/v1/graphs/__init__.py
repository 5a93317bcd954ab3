"""Graphs behind TensorFlow's signatures, and what their nodes consist of: devices, tensors, types.

``graph`` has the class and the default graphs, ``forms`` functions of the default graph whose arguments
differ from this library's, and ``behavior`` what programs switch on and off.
"""
