"""Sweeps: many seeds of many scenarios in many processes, and one seed file for each different failure.

plan             which seeds, cut into chunks
child            a process that runs seeds, and nothing else
gate             the same run in other ways, where nothing may differ
worker_process   starts such processes, ends those that break a limit
work             the work of an executor: one chunk
conductor        hands chunks to an executor and gathers the results
journal          finished chunks in a file: to go on later, to add up the work of several machines
failure_files    seed files of failures: shrunk, checked and kept
totals           the results of runs, added up
reached          which of all possible events have happened
report junit     the report at the end; progress: meanwhile; outside: time and chance
verify           the command `verify`: the same seeds in two different processes
"""
