"""Sessions behind TensorFlow's signatures, and the messages that they take and return.

``session`` has the classes, ``settings`` reads the messages of ``messages`` as settings of this library,
``runs`` makes the reports of runs, and ``error_texts`` the texts of errors that leave a session.
"""
