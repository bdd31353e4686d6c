"""Checks a derivation step by step against the W3C rule tables, written out as patterns.

It shares no code with the closure: a rule is its premises and its conclusion, matched by
unification. Variables start with ``?``.
"""

from __future__ import annotations

from kg.terms import OWL, RDF, RDFS, XSD, parse_literal

PREFIXES = {"rdf:": RDF, "rdfs:": RDFS, "owl:": OWL}

TABLE = """
eq-sym: ?x owl:sameAs ?y => ?y owl:sameAs ?x
eq-trans: ?x owl:sameAs ?y, ?y owl:sameAs ?z => ?x owl:sameAs ?z
eq-rep-s: ?s owl:sameAs ?t, ?s ?p ?o => ?t ?p ?o
eq-rep-p: ?p owl:sameAs ?q, ?s ?p ?o => ?s ?q ?o
eq-rep-o: ?o owl:sameAs ?q, ?s ?p ?o => ?s ?p ?q
prp-dom: ?p rdfs:domain ?c, ?x ?p ?y => ?x rdf:type ?c
prp-rng: ?p rdfs:range ?c, ?x ?p ?y => ?y rdf:type ?c
prp-fp: ?p rdf:type owl:FunctionalProperty, ?x ?p ?y, ?x ?p ?z => ?y owl:sameAs ?z
prp-ifp: ?p rdf:type owl:InverseFunctionalProperty, ?x ?p ?y, ?z ?p ?y => ?x owl:sameAs ?z
prp-symp: ?p rdf:type owl:SymmetricProperty, ?x ?p ?y => ?y ?p ?x
prp-trp: ?p rdf:type owl:TransitiveProperty, ?x ?p ?y, ?y ?p ?z => ?x ?p ?z
prp-spo1: ?p rdfs:subPropertyOf ?q, ?x ?p ?y => ?x ?q ?y
prp-eqp1: ?p owl:equivalentProperty ?q, ?x ?p ?y => ?x ?q ?y
prp-eqp2: ?p owl:equivalentProperty ?q, ?x ?q ?y => ?x ?p ?y
prp-inv1: ?p owl:inverseOf ?q, ?x ?p ?y => ?y ?q ?x
prp-inv2: ?p owl:inverseOf ?q, ?x ?q ?y => ?y ?p ?x
cls-svf1: ?r owl:someValuesFrom ?y, ?r owl:onProperty ?p, ?u ?p ?v, ?v rdf:type ?y => ?u rdf:type ?r
cls-svf2: ?r owl:someValuesFrom owl:Thing, ?r owl:onProperty ?p, ?u ?p ?v => ?u rdf:type ?r
cls-avf: ?r owl:allValuesFrom ?y, ?r owl:onProperty ?p, ?u rdf:type ?r, ?u ?p ?v => ?v rdf:type ?y
cls-hv1: ?r owl:hasValue ?y, ?r owl:onProperty ?p, ?u rdf:type ?r => ?u ?p ?y
cls-hv2: ?r owl:hasValue ?y, ?r owl:onProperty ?p, ?u ?p ?y => ?u rdf:type ?r
cls-maxc2: ?r owl:maxCardinality ?n, ?r owl:onProperty ?p, ?u rdf:type ?r, ?u ?p ?y, ?u ?p ?z => ?y owl:sameAs ?z
cls-maxqc3: ?r owl:maxQualifiedCardinality ?n, ?r owl:onProperty ?p, ?r owl:onClass ?c, ?u rdf:type ?r, ?u ?p ?y, ?y rdf:type ?c, ?u ?p ?z, ?z rdf:type ?c => ?y owl:sameAs ?z
cls-maxqc4: ?r owl:maxQualifiedCardinality ?n, ?r owl:onProperty ?p, ?r owl:onClass owl:Thing, ?u rdf:type ?r, ?u ?p ?y, ?u ?p ?z => ?y owl:sameAs ?z
cax-sco: ?c rdfs:subClassOf ?d, ?x rdf:type ?c => ?x rdf:type ?d
cax-eqc1: ?c owl:equivalentClass ?d, ?x rdf:type ?c => ?x rdf:type ?d
cax-eqc2: ?c owl:equivalentClass ?d, ?x rdf:type ?d => ?x rdf:type ?c
scm-sco: ?c rdfs:subClassOf ?d, ?d rdfs:subClassOf ?e => ?c rdfs:subClassOf ?e
scm-spo: ?c rdfs:subPropertyOf ?d, ?d rdfs:subPropertyOf ?e => ?c rdfs:subPropertyOf ?e
scm-eqc2: ?c rdfs:subClassOf ?d, ?d rdfs:subClassOf ?c => ?c owl:equivalentClass ?d
scm-eqp2: ?c rdfs:subPropertyOf ?d, ?d rdfs:subPropertyOf ?c => ?c owl:equivalentProperty ?d
scm-dom1: ?p rdfs:domain ?c, ?c rdfs:subClassOf ?d => ?p rdfs:domain ?d
scm-dom2: ?q rdfs:domain ?c, ?p rdfs:subPropertyOf ?q => ?p rdfs:domain ?c
scm-rng1: ?p rdfs:range ?c, ?c rdfs:subClassOf ?d => ?p rdfs:range ?d
scm-rng2: ?q rdfs:range ?c, ?p rdfs:subPropertyOf ?q => ?p rdfs:range ?c
scm-hv: ?c owl:hasValue ?i, ?c owl:onProperty ?p, ?d owl:hasValue ?i, ?d owl:onProperty ?q, ?p rdfs:subPropertyOf ?q => ?c rdfs:subClassOf ?d
scm-svf1: ?c owl:someValuesFrom ?y, ?c owl:onProperty ?p, ?d owl:someValuesFrom ?z, ?d owl:onProperty ?p, ?y rdfs:subClassOf ?z => ?c rdfs:subClassOf ?d
scm-svf2: ?c owl:someValuesFrom ?y, ?c owl:onProperty ?p, ?d owl:someValuesFrom ?y, ?d owl:onProperty ?q, ?p rdfs:subPropertyOf ?q => ?c rdfs:subClassOf ?d
scm-avf1: ?c owl:allValuesFrom ?y, ?c owl:onProperty ?p, ?d owl:allValuesFrom ?z, ?d owl:onProperty ?p, ?y rdfs:subClassOf ?z => ?c rdfs:subClassOf ?d
scm-avf2: ?c owl:allValuesFrom ?y, ?c owl:onProperty ?p, ?d owl:allValuesFrom ?y, ?d owl:onProperty ?q, ?p rdfs:subPropertyOf ?q => ?d rdfs:subClassOf ?c
scm-eqc1: ?c owl:equivalentClass ?d => ?c rdfs:subClassOf ?d
scm-eqc1: ?c owl:equivalentClass ?d => ?d rdfs:subClassOf ?c
scm-eqp1: ?c owl:equivalentProperty ?d => ?c rdfs:subPropertyOf ?d
scm-eqp1: ?c owl:equivalentProperty ?d => ?d rdfs:subPropertyOf ?c
scm-cls: ?c rdf:type owl:Class => ?c rdfs:subClassOf ?c
scm-cls: ?c rdf:type owl:Class => ?c owl:equivalentClass ?c
scm-op: ?p rdf:type owl:ObjectProperty => ?p rdfs:subPropertyOf ?p
scm-op: ?p rdf:type owl:ObjectProperty => ?p owl:equivalentProperty ?p
rdfs2: ?p rdfs:domain ?c, ?x ?p ?y => ?x rdf:type ?c
rdfs3: ?p rdfs:range ?c, ?x ?p ?y => ?y rdf:type ?c
rdfs5: ?c rdfs:subPropertyOf ?d, ?d rdfs:subPropertyOf ?e => ?c rdfs:subPropertyOf ?e
rdfs7: ?p rdfs:subPropertyOf ?q, ?x ?p ?y => ?x ?q ?y
rdfs9: ?c rdfs:subClassOf ?d, ?x rdf:type ?c => ?x rdf:type ?d
rdfs11: ?c rdfs:subClassOf ?d, ?d rdfs:subClassOf ?e => ?c rdfs:subClassOf ?e
cls-int2: ?c owl:intersectionOf LIST, ?x rdf:type ?c => ?x rdf:type ITEM
cls-uni: ?c owl:unionOf LIST, ?x rdf:type ITEM => ?x rdf:type ?c
cls-oo: ?c owl:oneOf LIST => ITEM rdf:type ?c
scm-int: ?c owl:intersectionOf LIST => ?c rdfs:subClassOf ITEM
scm-uni: ?c owl:unionOf LIST => ITEM rdfs:subClassOf ?c
cls-int1: ?c owl:intersectionOf LIST, EACH ?x rdf:type ITEM => ?x rdf:type ?c
prp-spo2: ?p owl:propertyChainAxiom LIST, EACH ?v# ITEM ?v#+1 => ?v0 ?p ?v#
prp-key: ?c owl:hasKey LIST, ?x rdf:type ?c, ?y rdf:type ?c, EACH ?x ITEM ?z#, EACH ?y ITEM ?z# => ?x owl:sameAs ?y
"""  # noqa: E501 - a table reads by its lines


def instances():
    """(rule name, premises, conclusion) as triples: each table line with fresh names."""
    for line in TABLE.strip().splitlines():
        name, rule = line.split(": ", 1)
        left, right = rule.split(" => ")
        items = ["?item0", "?item1"]
        premises, lists = [], []
        for part in (part.strip() for part in left.split(",")):
            if part.startswith("EACH"):
                for n, item in enumerate(items):
                    text = part[5:].replace("#+1", str(n + 1)).replace("#", str(n))
                    premises.append(_triple(text.replace("ITEM", item)))
            else:
                premises.append(_triple(part.replace("ITEM", items[0]).replace("LIST", "?list")))
            if "LIST" in part:
                lists = [
                    ("?list", RDF + "first", items[0]),
                    ("?list", RDF + "rest", "?list1"),
                    ("?list1", RDF + "first", items[1]),
                    ("?list1", RDF + "rest", RDF + "nil"),
                ]
        conclusion = _triple(right.replace("#", "2").replace("ITEM", items[0]))
        names = {"?n": f'"1"^^<{XSD}nonNegativeInteger>'}
        yield (
            name,
            [
                tuple(names.get(t) or t.replace("?", "http://e/") for t in triple)
                for triple in premises + lists
            ],
            tuple(t.replace("?", "http://e/") for t in conclusion),
        )


def _term(text):
    for prefix, namespace in PREFIXES.items():
        if text.startswith(prefix):
            return namespace + text[len(prefix) :]
    return text


def _triple(text):
    return tuple(map(_term, text.split()))


def _list(premises, head):
    """(items, list triples) of the list at ``head``, read from the premises alone."""
    items, triples, node = [], [], head
    while node != RDF + "nil":
        (first,) = [p for p in premises if p.subj == node and p.pred == RDF + "first"]
        (rest,) = [p for p in premises if p.subj == node and p.pred == RDF + "rest"]
        items.append(first.obj)
        triples += [first, rest]
        node = rest.obj
    return items, triples


def _unify(pattern, triple, binding):
    bound = dict(binding)
    for want, have in zip(pattern, triple, strict=True):
        if want.startswith("?"):
            if bound.setdefault(want, have) != have:
                return None
        elif want != have:
            return None
    return bound


def _match(patterns, triples, binding):
    """Matches patterns with triples one to one; returns the binding, or None."""
    if not patterns:
        return binding if not triples else None
    for at, triple in enumerate(triples):
        bound = _unify(patterns[0], triple, binding)
        if bound is not None:
            rest = triples[:at] + triples[at + 1 :]
            found = _match(patterns[1:], rest, bound)
            if found is not None:
                return found
    return None


def _variants(left, right, premises):
    """(patterns, conclusion, remaining premises) with lists and their items written out."""
    parts = [part.strip() for part in left.split(",")]
    if "LIST" not in left:
        yield [_triple(part) for part in parts], _triple(right), premises
        return
    predicate = _term(parts[0].split()[1])
    for axiom in (p for p in premises if p.pred == predicate):
        items, listed = _list(premises, axiom.obj)
        remaining = list(premises)
        for triple in [axiom, *listed]:
            remaining.remove(triple)
        first = {"?" + parts[0].split()[0][1:]: axiom.subj}
        for chosen in items if "EACH" not in left else [""]:
            patterns = []
            for part in parts[1:]:
                if part.startswith("EACH"):
                    for n, item in enumerate(items):
                        text = part[5:].replace("#+1", str(n + 1)).replace("#", str(n))
                        patterns.append(_triple(text.replace("ITEM", item)))
                else:
                    patterns.append(_triple(part.replace("ITEM", chosen)))
            end = right.replace("#", str(len(items))).replace("ITEM", chosen)
            fixed = [tuple(first.get(t, t) for t in pattern) for pattern in patterns]
            yield fixed, tuple(first.get(t, t) for t in _triple(end)), remaining


def is_valid(step):
    """Whether the step is an instance of the rule it names."""
    found = False
    for line in TABLE.strip().splitlines():
        name, rule = line.split(": ", 1)
        if name != step.rule:
            continue
        found = True
        left, right = rule.split(" => ")
        for patterns, end, premises in _variants(left, right, list(step.premises)):
            triples = [(p.subj, p.pred, p.obj) for p in premises]
            conclusion = (step.conclusion.subj, step.conclusion.pred, step.conclusion.obj)
            bound = _unify(end, conclusion, {})
            if bound is None:
                continue
            binding = _match(patterns, triples, bound)
            if binding is None:
                continue
            # The cardinality rules that infer equal values apply to "at most one" only.
            limit = binding.get("?n")
            if limit is None or int(parse_literal(limit).lexical) == 1:
                return True
    assert found, f"no such rule: {step.rule}"
    return False
