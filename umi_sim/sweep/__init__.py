"""Sweeps: many seeds of many scenarios in many processes, and one seed file for each different failure.

totals plain     what runs came to, in memory and as JSON
plan             which seeds, cut into chunks
child            one process that lives runs, and nothing else
gate             the same run in other ways, where nothing may differ
worker           starts such processes, ends those that break a limit
work             a chunk: all that an executor is asked to do
conductor        hands chunks to an executor and gathers what comes back
journal           finished chunks in a file: to go on later, to add up what several machines did
shrinking        what failed is made small, checked and kept
report junit     what is told at the end; progress: meanwhile; outside: time and chance
"""
