"""What can go wrong, place by place. A kind of fault is one class, and all else is derived from it.

declaration.py   how a kind is declared, and what is derived
kinds.py         all of them
model.py embedder.py storage.py network.py agent.py clock.py    the kinds, by place
service.py       what model, embedder and storage have in common
edits.py         families of changes of a model's reply
words.py         the words of these changes
arguments.py     the arguments of a fault: which values they may have, how they are drawn
window.py        faults that last
draws.py         the draws of a fault to be injected
"""
