"""Plain readers: texts, requests and replies of models as the judge reads them, simpler than the memory does.

Law 1. Nothing here is imported from where the memory decides: a mistake there must show as a difference.
Words that both read come from umi_core/language/tables.py, which decides nothing.
Law 2. Pure: values in, values out. Slower is fine, longer is not.
Law 3. Written from docs/spec. Where that leaves something to the code, as it does with the references of
German, Spanish and Chinese, it stands here once more, and a test says where the two differ.

text        characters, words, sentences, languages and dates
queries     references in a query, its rewrites and variants
replies     the JSON in a reply of a model, and decisions in it
extraction  mentions, links and facts
hierarchy   parts of texts, groups of members, descents
blocks      renderings of core, read back
rows        fields of rows and saved states, ids
requests    errors of malformed requests, and the values that requests reply with
scores      promotion, relevance, fusion; attempts and waits
"""
