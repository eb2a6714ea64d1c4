"""The engine: workflows as tables, their revisions, and what runs their rows. Each file uses those above it.

    facts          what an operation knows, each under a key that knows its type
    workflow       what tables are made of: steps, what their functions return, what a failure means
    questions      which answer a step gets to which effect
    validation     what is wrong with a table, all findings together
    calls          the record of each attempt of a model or an embedder
    interceptors   what added code may see and change of steps and effects
    permissions    what a hook may do with an effect and its answer
    onion          hooks called one inside the other
    registry       every revision of every table, every set of interceptors
    engine         one call of `Memory.step`: the state it works on, the effects and marks that it gives
    around         interceptors around steps
    paging         rows of a read, compared with what was asked, page by page
    steps          what a step makes of an answer: facts, tiers, the next step; the end of its policy
    attempts       one question until it is answered or given up
    lifecycle      operations from begin to end

Planned (docs/spec/engine.md): a `turn`, which only one operation of a kind holds, from a certain step to the
answer of its next commit. It would be taken in `lifecycle.run_step`, between `when` and the interceptors.
"""
