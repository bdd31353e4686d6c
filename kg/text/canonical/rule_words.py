"""English word lists for the synonym rules."""

from __future__ import annotations

from kg.base.plain_text import list_words

CONTRASTS: tuple[frozenset[str], ...] = tuple(
    frozenset(list_words(line))
    for line in """
    read write
    insert delete update
    insertion deletion modification
    input output
    undo redo
    commit abort
    commit rollback
    shared exclusive intention
    strict rigorous conservative basic
    sparse dense
    clustered unclustered nonclustered
    clustering nonclustering
    primary secondary foreign candidate super alternate
    logical physical conceptual
    static dynamic
    internal external
    inner outer left right full natural
    left right
    hash merge sort nested
    row column
    horizontal vertical
    local global
    client server
    sequential random
    ascending descending
    minimum maximum average
    min max average
    upper lower
    first last
    high low
    hot cold warm
    top bottom
    up down
    forward backward
    before after
    prior next
    parent child
    ancestor descendant
    leaf root internal
    source target
    source destination
    sender receiver
    producer consumer
    open closed
    online offline
    centralized distributed centralised
    homogeneous heterogeneous
    optimistic pessimistic
    synchronous asynchronous
    eager lazy
    active passive
    lossless lossy
    linear bilinear quadratic
    fixed variable
    fine coarse
    strong weak
    total partial
    single multiple multi double
    unary binary ternary quaternary
    implicit explicit
    direct indirect
    absolute relative
    soft hard
    public private
    positive negative
    true false
    volatile stable
    temporary permanent persistent transient
    ordered unordered
    stateful stateless
    universal existential
    union intersection difference
    conjunction disjunction
    conjunctive disjunctive
    precision recall
    generalization specialization generalisation specialisation
    encode decode
    encoding decoding
    encryption decryption
    compression decompression
    push pull
    supervised unsupervised
    precondition postcondition
    big little
    large small
    long short
    fast slow
    early late
    old new
    black white red blue green
    north south east west
    northern southern eastern western
    hardware software
    host guest
    master slave replica
    syntax semantics
    syntactic semantic
    domain range
    numerator denominator
    data instruction
    frequency duration
    consistency availability durability atomicity isolation
    consistent inconsistent
    lock latch
    page block record field
    relation tuple attribute
    table view
    entity relationship
    schema instance
    query update
    magnetic optical
    user system
    referencing referenced
    blocking blocked
    preemptive nonpreemptive
    serial parallel concurrent
    serializable recoverable cascadeless
    conflict view
    """.strip().splitlines()
)
"""Each line lists words that can replace each other in a phrase but change its meaning."""

NEGATIONS = frozenset(list_words("not no non without never neither un anti counter lacking"))
"""Words that negate what follows."""

PREFIXES = frozenset(
    list_words(
        """un non in im il ir dis anti de mis re pre post sub super inter intra meta multi semi
        bi uni co over under hyper hypo auto pseudo counter trans tri macro micro mini mono poly
        quasi ultra proto out up down fore cross"""
    )
)
"""Prefixes that change the meaning of a word: "metadata" is not "data"."""

NUMBER_WORDS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10",
    "ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9",
}  # fmt: skip

ARTICLES = frozenset(list_words("a an the"))

IRREGULAR_LEMMAS = {
    "indice": "index", "vertice": "vertex", "matrice": "matrix", "appendice": "appendix",
    "schemata": "schema", "criteria": "criterion", "phenomena": "phenomenon", "datum": "data",
    "media": "medium", "children": "child", "people": "person", "men": "man", "women": "woman",
    "mice": "mouse", "corpora": "corpus", "formulae": "formula", "automata": "automaton",
    "maxima": "maximum", "minima": "minimum", "optima": "optimum", "strata": "stratum",
    "analyse": "analysi", "hypothese": "hypothesi", "parenthese": "parenthesi", "aliase": "alia",
    "these": "thesi", "synopse": "synopsi", "statuse": "status", "buse": "bu", "biase": "bia",
    "disc": "disk", "programme": "program", "licence": "license", "defence": "defense",
    "grey": "gray", "artefact": "artifact", "judgement": "judgment", "ageing": "aging",
    "acknowledgement": "acknowledgment", "fulfil": "fulfill", "cheque": "check",
    "halve": "half", "leave": "leaf", "shelve": "shelf",
}  # fmt: skip
"""Stem (of ``kg.words.normaliser.stem_word``) → lemma, for irregular plurals and spellings.

Some lemmas are not words, as they must equal the stem of the singular: "analyses" has the stem
"analyse", and "analysis" the stem "analysi".
"""
