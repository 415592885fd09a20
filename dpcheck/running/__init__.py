"""Who does the work: one interface, and one file for each way to serve it.

:class:`.base.Executor` says what all of them do; :func:`.choice.executor` opens one by name.
"""
