"""Operation types that others have replaced: what old graphs hold, and few programs still build.

``forms`` shows an older type to its successor; the other files are rows, by subject. A type whose rule is
nowhere else any more stands here as a row of its own.
"""
