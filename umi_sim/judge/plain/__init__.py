"""Plain readers: rules of the memory as the judge has them, written a second time from docs/spec.

Law 1. Nothing is imported here from where the memory decides, but pure functions: tests/properties compares
each of these with a second account of it. Law 2. Pure: values in, values out. Slower is fine, longer is not.

levels      hits of a level, and contexts
blocks      renderings of core, read back
requests    filters, and the values that requests reply with
scores      fusion; attempts, waits, and times at which work is scheduled
"""
