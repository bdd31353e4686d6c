"""Checks a derivation step by step against the W3C rule tables, written as patterns.

The checker shares no code with the closure. A rule has premises and a conclusion, which are matched
with triples by unification. Variables start with ``?``. In a rule about a list, ``LIST`` is the
list and ``ITEM`` any of its items. A premise with ``EACH`` is repeated for every item; there ``#``
is the number of the item from 0, and in the conclusion ``#`` is the number of items.
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
"""  # noqa: E501 - one line per rule


def make_rule_instances():
    """Yields (rule name, premises, conclusion) of every table line, with IRIs for its variables.

    Lists have two items.
    """
    for line in TABLE.strip().splitlines():
        name, rule = line.split(": ", 1)
        premise_text, conclusion_text = rule.split(" => ")
        items = ["?item0", "?item1"]
        premises, lists = [], []
        for part in (part.strip() for part in premise_text.split(",")):
            if part.startswith("EACH"):
                for n, item in enumerate(items):
                    text = part[5:].replace("#+1", str(n + 1)).replace("#", str(n))
                    premises.append(_parse_triple(text.replace("ITEM", item)))
            else:
                premises.append(
                    _parse_triple(part.replace("ITEM", items[0]).replace("LIST", "?list"))
                )
            if "LIST" in part:
                lists = [
                    ("?list", RDF + "first", items[0]),
                    ("?list", RDF + "rest", "?list1"),
                    ("?list1", RDF + "first", items[1]),
                    ("?list1", RDF + "rest", RDF + "nil"),
                ]
        conclusion = _parse_triple(conclusion_text.replace("#", "2").replace("ITEM", items[0]))
        literal_by_variable = {"?n": f'"1"^^<{XSD}nonNegativeInteger>'}
        yield (
            name,
            [
                tuple(literal_by_variable.get(t) or t.replace("?", "http://e/") for t in triple)
                for triple in premises + lists
            ],
            tuple(t.replace("?", "http://e/") for t in conclusion),
        )


def _expand_term(text):
    for prefix, namespace in PREFIXES.items():
        if text.startswith(prefix):
            return namespace + text[len(prefix) :]
    return text


def _parse_triple(text):
    return tuple(map(_expand_term, text.split()))


def _read_list(premises, head):
    """Returns (items, list triples) of the list at ``head``, which the premises contain."""
    items, triples, node = [], [], head
    while node != RDF + "nil":
        (first_triple,) = [p for p in premises if p.subj == node and p.pred == RDF + "first"]
        (rest_triple,) = [p for p in premises if p.subj == node and p.pred == RDF + "rest"]
        items.append(first_triple.obj)
        triples += [first_triple, rest_triple]
        node = rest_triple.obj
    return items, triples


def _unify(pattern, triple, binding):
    """Returns the binding extended so that the pattern equals the triple, or None."""
    extended_binding = dict(binding)
    for pattern_term, triple_term in zip(pattern, triple, strict=True):
        if pattern_term.startswith("?"):
            if extended_binding.setdefault(pattern_term, triple_term) != triple_term:
                return None
        elif pattern_term != triple_term:
            return None
    return extended_binding


def _match(patterns, triples, binding):
    """Matches every pattern with one triple and every triple with one pattern.

    Returns the binding, or None.
    """
    if not patterns:
        return binding if not triples else None
    for index, triple in enumerate(triples):
        extended_binding = _unify(patterns[0], triple, binding)
        if extended_binding is not None:
            remaining_triples = triples[:index] + triples[index + 1 :]
            complete_binding = _match(patterns[1:], remaining_triples, extended_binding)
            if complete_binding is not None:
                return complete_binding
    return None


def _expand_lists(premise_text, conclusion_text, premises):
    """Yields (patterns, conclusion, remaining premises) of a rule without LIST, ITEM and EACH.

    The remaining premises are those that do not belong to the list.
    """
    parts = [part.strip() for part in premise_text.split(",")]
    if "LIST" not in premise_text:
        yield [_parse_triple(part) for part in parts], _parse_triple(conclusion_text), premises
        return
    predicate = _expand_term(parts[0].split()[1])
    for axiom in (p for p in premises if p.pred == predicate):
        items, list_triples = _read_list(premises, axiom.obj)
        remaining = list(premises)
        for triple in [axiom, *list_triples]:
            remaining.remove(triple)
        subject_binding = {"?" + parts[0].split()[0][1:]: axiom.subj}
        for list_item in items if "EACH" not in premise_text else [""]:
            patterns = []
            for part in parts[1:]:
                if part.startswith("EACH"):
                    for n, item in enumerate(items):
                        text = part[5:].replace("#+1", str(n + 1)).replace("#", str(n))
                        patterns.append(_parse_triple(text.replace("ITEM", item)))
                else:
                    patterns.append(_parse_triple(part.replace("ITEM", list_item)))
            expanded_conclusion = conclusion_text.replace("#", str(len(items))).replace(
                "ITEM", list_item
            )
            bound_patterns = [
                tuple(subject_binding.get(t, t) for t in pattern) for pattern in patterns
            ]
            yield (
                bound_patterns,
                tuple(subject_binding.get(t, t) for t in _parse_triple(expanded_conclusion)),
                remaining,
            )


def is_valid(step):
    """Returns whether the step is an instance of the rule that it names."""
    rule_exists = False
    for line in TABLE.strip().splitlines():
        name, rule = line.split(": ", 1)
        if name != step.rule:
            continue
        rule_exists = True
        premise_text, conclusion_text = rule.split(" => ")
        for patterns, pattern_conclusion, premises in _expand_lists(
            premise_text, conclusion_text, list(step.premises)
        ):
            triples = [(p.subj, p.pred, p.obj) for p in premises]
            conclusion = (step.conclusion.subj, step.conclusion.pred, step.conclusion.obj)
            conclusion_binding = _unify(pattern_conclusion, conclusion, {})
            if conclusion_binding is None:
                continue
            binding = _match(patterns, triples, conclusion_binding)
            if binding is None:
                continue
            # The cardinality rules that infer equal values apply only to "at most one".
            limit = binding.get("?n")
            if limit is None or int(parse_literal(limit).lexical) == 1:
                return True
    assert rule_exists, f"no such rule: {step.rule}"
    return False
