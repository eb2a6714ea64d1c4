"""Sweeps: many seeds of many scenarios in many processes, and one seed file for each different failure.

plan             which seeds, cut into chunks
child            a process that runs seeds, and nothing else
gate             the same run in other ways, where nothing may differ
worker_process   starts such processes, ends those that break a limit
work             a chunk: all that an executor is asked to do
conductor        hands chunks to an executor and gathers what comes back
journal          finished chunks in a file: to go on later, to add up what several machines did
failure_files    what failed is made small, checked and kept
totals           what runs came to, added up
reached          what was met of all that can be met
report junit     what is told at the end; progress: meanwhile; outside: time and chance
verify           the command `verify`: the same seeds in two unlike processes
"""
