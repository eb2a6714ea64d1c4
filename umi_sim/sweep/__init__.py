"""Sweeps: many seeds of many scenarios in many processes, and one seed file for each different failure.

plan             which seeds, cut into chunks
child            the process that runs seeds
gate             repeats a run in other ways, which must have the same trace
worker_process   starts child processes, and ends those that break a limit
work             the work of an executor: one chunk
conductor        hands chunks to an executor and gathers the results
journal          a file of finished chunks, to continue a sweep or to merge sweeps of several machines
failure_files    seed files of failures: shrunk, checked and kept
totals           the results of runs, added up
reached          counts which of all possible events have happened
report junit     the report at the end; progress: during the sweep; outside: time and chance
verify           the command `verify`: the same seeds in two different processes
"""
