"""Plain readers: rules of the memory, written a second time for the judge from docs/spec.

Law 1. Of the code that decides in the memory only pure functions are imported, each of which tests/properties
compares with a second implementation. Law 2. Pure: values in, values out. They may be slower, but not longer.

levels      hits of a level, and contexts
blocks      renderings of core, read back
pairs       the order of facts in a text, and the pairs that a model is asked about
requests    filters, and the values that requests reply with
scores      fusion; attempts, waits, and times at which work is scheduled
"""
