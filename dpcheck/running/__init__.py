"""Who does the work: executors in threads, in processes and on clusters; what they leave, kept; processes, supervised.

:class:`.executor.Executor` says what all of them do; :func:`.process_pool.executor` opens one by name.
"""
