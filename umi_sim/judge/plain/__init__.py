"""Plain readers: texts, requests and replies of models as the judge reads them, simpler than the memory does.

Law 1. Nothing here is imported from where the memory decides: a mistake there must show as a difference.
Law 2. Pure: values in, values out. Slower is fine, longer is not.
Law 3. Written from docs/spec. Where that leaves something to the code, as it does with the references of
German, Spanish and Chinese, it stands here once more, and a test says where the two differ.

text        sizes, cuts, folding, words             requests    what a request is refused for
ids         of rows                                 replies     the JSON in whatever a model said
extraction  mentions and links                      routes      blocks of entities
verdicts    what a new statement does to an old one
references  what a query refers to                  rewrites    its rewrites and variants
scores      promotion, relevance, fusion            blocks      what renderings of core show
typed       what a field of a reply may hold        reply_types what each request replies with
"""
