"""Plain readers: texts, requests and replies of models as the judge reads them, simpler than the memory does.

Law 1. Nothing here is imported from where the memory decides: a mistake there must show as a difference.
Law 2. Pure: values in, values out. Slower is fine, longer is not.
"""
