"""Tests of the rivers domain.

Its graph agrees with its tables, has no violations, and withholds mouths at random.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from kg.base.errors import DomainError
from kg.claims import Claim
from kg.domains.rivers import build
from kg.domains.rivers.checks import find_problems
from kg.domains.rivers.tables import (
    FOLDER,
    River,
    TableError,
    Tables,
    make_slug,
    read_tables,
    strip_qualifier,
)
from kg.knowledge import KnowledgeBase

VOCABULARY = "https://epoche.example/rivers#"
RIVERS = "https://epoche.example/rivers/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables()


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open("rivers")


def make_claim(subj: str, pred: str, obj: str) -> Claim:
    return Claim(RIVERS + subj, VOCABULARY + pred, obj if obj.startswith('"') else RIVERS + obj)


def list_values(kb: KnowledgeBase, subj: str, pred: str) -> list[str]:
    """Returns the objects of a subject and predicate in the closure."""
    index = kb.oracle.closure.index
    s, p = index.terms.get(RIVERS + subj), index.terms.get(VOCABULARY + pred)
    if s is None or p is None:
        return []
    return [index.terms.get_text(o) for o in index.find_objects(s, p)]


# ---- tables and build ------------------------------------------------------------------------


def test_tables_have_no_inconsistency(tables: Tables) -> None:
    assert find_problems(tables) == []


def test_committed_graph_is_built_from_the_tables(tmp_path: Path) -> None:
    build.main(check=True)
    for name in ("rivers.csv", "waterbodies.csv", "countries.csv"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    build.main(folder=tmp_path)
    assert (tmp_path / "rivers.ttl").read_bytes() == (FOLDER / "rivers.ttl").read_bytes()
    with (tmp_path / "rivers.ttl").open("a") as handle:
        handle.write("# touched\n")
    with pytest.raises(DomainError, match="does not match the tables"):
        build.main(check=True, folder=tmp_path)


def test_graph_does_not_depend_on_row_order(tables: Tables) -> None:
    reversed_tables = msgspec.structs.replace(
        tables,
        rivers=dict(reversed(tables.rivers.items())),
        waterbodies=dict(reversed(tables.waterbodies.items())),
        countries=dict(reversed(tables.countries.items())),
    )
    assert build.render_turtle(reversed_tables) == build.render_turtle(tables)


@pytest.mark.parametrize(
    ("label", "change", "message"),
    [
        ("Moselle", {"mouth": "Moselle"}, "flows into itself"),
        ("Moselle", {"mouth": "Atlantis"}, "in no table"),
        ("Rhine", {"mouth": "Moselle"}, "flows in a circle"),
        ("Moselle", {"mouth": "Nile"}, "where Nile does not flow"),
        ("Moselle", {"mouth_m": -10}, "below that of Rhine"),
        ("Moselle", {"source_m": 40}, "not above the mouth at 59"),
        ("Moselle", {"mouth_m": 2400, "source_m": 2500}, "above the source of Rhine"),
        ("Rhine", {"mouth_m": 300}, "but North Sea lies at 0 m"),
        ("Moselle", {"discharge_m3s": 4000}, "which carries 2900"),
        ("Moselle", {"length_km": 0}, "length 0"),
        ("Moselle", {"source_m": 9000}, "elevation 9000"),
        ("Moselle", {"discharge_m3s": 0}, "discharge 0"),
        ("Moselle", {"countries": ()}, "through no country"),
        ("Moselle", {"countries": ("FR", "XX", "DE")}, "unknown country code 'XX'"),
        ("Moselle", {"countries": ("FR", "DE", "FR")}, "a country is listed twice"),
        ("Moselle", {"not_in": ("FR",)}, "both flows and does not flow through FR"),
        ("Moselle", {"not_into": ("Rhine",)}, "both flows and does not flow into Rhine"),
        ("Moselle", {"not_into": ("Styx",)}, "denied mouth 'Styx'"),
        ("Moselle", {"label": "Elbe"}, "the label of 'Elbe'"),
    ],
)
def test_wrong_row_is_reported(
    tables: Tables, label: str, change: dict[str, object], message: str
) -> None:
    wrong_river: River = msgspec.structs.replace(tables.rivers[label], **change)
    rivers = {**tables.rivers, label: wrong_river}
    if "label" in change:
        # The label "Elbe" is wrong because "River Elbe" may also be called so.
        rivers = {
            **tables.rivers,
            "second Elbe": msgspec.structs.replace(wrong_river, label="River Elbe"),
        }
    problems = find_problems(msgspec.structs.replace(tables, rivers=rivers))
    assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("X,,North Sea,,DE,1,2,3,4,", "10 cells, 11 expected"),
        ("X,,North Sea,,DE,one,,,,,", "'one' is not a whole number"),
        ("X,,North Sea,,DE,,-3,,,,", "'-3' is not a number"),
        ("Rhine,,North Sea,,DE,,,,,,", "'Rhine' is in line"),
        ("X ,,North Sea,,DE,,,,,,", "space around a cell"),
    ],
)
def test_unreadable_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    for name in ("rivers.csv", "waterbodies.csv", "countries.csv"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    with (tmp_path / "rivers.csv").open("a", encoding="utf-8") as handle:
        handle.write(row + "\n")
    with pytest.raises(TableError, match=re.escape(message)):
        read_tables(tmp_path)
    with pytest.raises(DomainError, match=re.escape(message)):
        build.main(folder=tmp_path)


def test_inconsistent_tables_are_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("rivers.csv", "waterbodies.csv", "countries.csv"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    with (tmp_path / "rivers.csv").open("a", encoding="utf-8") as handle:
        handle.write("Phlegethon,,Styx,,GR,,,,,,\n")
    with pytest.raises(DomainError, match="1 problems"):
        build.main(folder=tmp_path)
    assert "mouth 'Styx' is in no table" in capsys.readouterr().out
    assert not (tmp_path / "rivers.ttl").exists()


# ---- size and mix ----------------------------------------------------------------------------


def test_tables_are_large_and_cover_six_continents(tables: Tables, kb: KnowledgeBase) -> None:
    # The numbers are lower bounds, so that rows can be added to the tables.
    mouth_counts = Counter(len(list_values(kb, r.id, "flowsInto")) for r in tables.rivers.values())
    assert set(mouth_counts) == {0, 1}
    assert mouth_counts[1] >= 430
    assert mouth_counts[0] >= 220
    continents = Counter(tables.countries[r.countries[0]].continent for r in tables.rivers.values())
    assert min(continents[c] for c in sorted(continents)) >= 50
    assert len(continents) == 6
    small_river_endings = (" Creek", " Brook", " Burn", " Water", " Fork")
    assert (
        sum(strip_qualifier(label).endswith(small_river_endings) for label in tables.rivers) >= 60
    )


def test_documented_counts_are_right(tables: Tables) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "domains.md"
    text = page.read_text(encoding="utf-8")
    assert f"{len(tables.rivers):,} rivers" in text
    assert f"| mouth (`flowsInto`) | {100 * build.WITHHELD['flowsInto']:.0f} % of rivers" in text


def test_at_least_150_mouths_are_denied(kb: KnowledgeBase) -> None:
    index = kb.graph.index
    owl = "http://www.w3.org/2002/07/owl#"
    subjects = index.iter_pairs(index.terms.get(owl + "sourceIndividual"))
    rivers = [river for _denial, river in subjects]
    assert len(rivers) >= 150
    assert len(set(rivers)) >= 100


def test_homonyms_have_distinct_full_names(kb: KnowledgeBase) -> None:
    homonyms = kb.labels.find_homonyms()
    for name in (
        "colorado river",
        "red river",
        "don",
        "dee",
        "esk",
        "avon",
        "stour",
        "black river",
    ):
        assert len(kb.labels.find_entities(name)) >= 2, name
    assert len(homonyms) >= 40
    for iri in kb.labels.find_entities("Colorado River"):
        assert kb.labels.find_entities(kb.labels.get_label(iri)) == [iri]


def test_every_label_names_exactly_one_entity(tables: Tables, kb: KnowledgeBase) -> None:
    for label in (*tables.rivers, *tables.waterbodies):
        assert kb.labels.find_entities(label) == [RIVERS + make_slug(label)], label


# ---- withheld facts --------------------------------------------------------------------------


def test_a_withheld_mouth_cannot_be_derived(tables: Tables, kb: KnowledgeBase) -> None:
    withheld = [r for r in tables.rivers.values() if not build.is_mouth_asserted(r)]
    for river in withheld:
        mouth = make_slug(river.mouth)
        assert list_values(kb, river.id, "drainsInto") == []
        assert RIVERS + river.id not in list_values(kb, mouth, "hasTributary")
        assert kb.oracle.license(make_claim(river.id, "flowsInto", mouth)).label == "U", river.label


def test_graph_facts_agree_with_the_tables(tables: Tables, kb: KnowledgeBase) -> None:
    for river in tables.rivers.values():
        assert list_values(kb, river.id, "flowsInto") in ([], [RIVERS + make_slug(river.mouth)])
        countries = {RIVERS + make_slug(tables.countries[code].label) for code in river.countries}
        assert set(list_values(kb, river.id, "traverses")) <= countries


def name_contains_mouth(river: River) -> bool:
    """Returns whether the qualifier of a label is part of the mouth's label.

    Withholding such a mouth would be useless, because the name gives it away.
    """
    return " (" in river.label and river.label.partition(" (")[2].rstrip(")") in river.mouth


def test_mouth_contained_in_a_name_is_stated(tables: Tables, kb: KnowledgeBase) -> None:
    rivers = [river for river in tables.rivers.values() if name_contains_mouth(river)]
    assert len(rivers) > 20
    for river in rivers:
        assert (
            kb.oracle.license(make_claim(river.id, "flowsInto", make_slug(river.mouth))).label
            == "E"
        )


def test_withholding_is_independent_of_other_facts(tables: Tables) -> None:
    """Rivers with many facts have their mouth stated no more often than others."""

    def is_well_known(river: River) -> bool:
        return river.length_km is not None and bool(river.source or river.discharge_m3s)

    for belongs_to_group in (
        is_well_known,
        lambda r: not is_well_known(r),
        lambda r: len(r.countries) > 1,
    ):
        rivers = [
            r for r in tables.rivers.values() if belongs_to_group(r) and not name_contains_mouth(r)
        ]
        share = sum(not build.is_mouth_asserted(r) for r in rivers) / len(rivers)
        # Three standard errors of a share in a sample of that size: sqrt(p (1 - p) / n), p = 0.5.
        assert abs(share - build.WITHHELD["flowsInto"]) < 3 * (0.25 / len(rivers)) ** 0.5


# ---- shapes ----------------------------------------------------------------------------------


def test_graph_has_no_violation(kb: KnowledgeBase) -> None:
    assert kb.oracle.find_violations() == ()


@pytest.mark.slow
def test_pyshacl_agrees_that_the_closed_graph_has_no_violation(kb: KnowledgeBase) -> None:
    import pyshacl
    import rdflib

    index = kb.oracle.closure.index
    lines = []
    for triple in index.iter_triples():
        terms = [index.terms.get_text(term) for term in triple]
        lines.append(" ".join(t if t[0] in '"_' else f"<{t}>" for t in terms) + " .")
    data = rdflib.Graph().parse(data="\n".join(lines), format="nt")
    conforms, _graph, text = pyshacl.validate(
        data, shacl_graph=kb.shapes.to_rdflib(), meta_shacl=True
    )
    assert conforms, text


# For every shape, claims that contradict it, also about rivers whose mouth is withheld.
CONTRADICTIONS = [
    ("OneMouthShape", ("missouri-river", "flowsInto", "gulf-of-california")),
    ("MouthIsWaterShape", ("moselle", "flowsInto", "germany")),
    ("MouthIsNotLandShape", ("moselle", "flowsInto", "place-vosges")),
    ("MouthIsNotLandShape", ("moselle", "flowsInto", "rhine-system")),
    ("OnlyRiversFlowShape", ("lake-constance", "flowsInto", "rhine")),
    ("OnlyRiversFlowShape", ("germany", "flowsInto", "rhine")),
    ("NoSelfMouthShape", ("moselle", "flowsInto", "moselle")),
    ("NoCycleShape", ("mississippi-river", "flowsInto", "missouri-river")),
    ("OneParentShape", ("volga", "hasTributary", "missouri-river")),
    ("InflowIsRiverShape", ("rhine", "hasTributary", "lake-constance")),
    ("NoSelfInflowShape", ("moselle", "hasTributary", "moselle")),
    ("NoMutualInflowShape", ("missouri-river", "hasTributary", "mississippi-river")),
    ("NotUpAndDownShape", ("mississippi-river", "drainsInto", "missouri-river")),
    ("NoSelfDrainShape", ("moselle", "drainsInto", "moselle")),
    ("DrainIsWaterShape", ("moselle", "drainsInto", "germany")),
    ("TraversesCountryShape", ("moselle", "traverses", "north-sea")),
    ("TraversesNoWaterShape", ("moselle", "traverses", "place-vosges")),
    ("SystemKindShape", ("moselle", "partOfSystem", "rhine")),
    ("UpstreamSystemShape", ("missouri-river", "partOfSystem", "nile-system")),
    ("SourceKindShape", ("moselle", "hasSource", "north-sea")),
    (
        "LengthPositiveShape",
        ("moselle", "length", '"0"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ),
    ("LengthPositiveShape", ("moselle", "length", '"long"')),
    (
        "DischargePositiveShape",
        ("moselle", "discharge", '"-1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
    ),
]


@pytest.mark.parametrize(("shape", "triple"), CONTRADICTIONS)
def test_each_shape_can_contradict(
    kb: KnowledgeBase, shape: str, triple: tuple[str, str, str]
) -> None:
    verdict = kb.oracle.license(make_claim(*triple))
    assert verdict.label == "C"
    assert VOCABULARY + shape in [violation.shape for violation in verdict.proof.violations]


@pytest.mark.parametrize(
    ("pred", "shape"),
    [
        ("hasSource", "OneSourceShape"),
        ("partOfSystem", "OneSystemShape"),
        ("length", "OneLengthShape"),
        ("discharge", "OneDischargeShape"),
        ("sourceElevation", "OneSourceElevationShape"),
        ("mouthElevation", "OneMouthElevationShape"),
    ],
)
def test_a_second_value_contradicts_and_a_first_does_not(
    kb: KnowledgeBase, tables: Tables, pred: str, shape: str
) -> None:
    ids = [river.id for river in tables.rivers.values()]
    rivers_with_value = [name for name in ids if list_values(kb, name, pred)]
    river_with_value = rivers_with_value[0]
    other_value = next(
        v
        for n in rivers_with_value
        for v in list_values(kb, n, pred)
        if v != list_values(kb, river_with_value, pred)[0]
    )
    verdict = kb.oracle.license(Claim(RIVERS + river_with_value, VOCABULARY + pred, other_value))
    assert VOCABULARY + shape in [violation.shape for violation in verdict.proof.violations]
    # A river without a value, and without elevations to conflict with, may have any value.
    river_without_values = next(
        name
        for name in ids
        if not list_values(kb, name, pred)
        and not list_values(kb, name, "sourceElevation")
        and not list_values(kb, name, "mouthElevation")
    )
    assert (
        kb.oracle.license(
            Claim(RIVERS + river_without_values, VOCABULARY + pred, other_value)
        ).label
        == "U"
    )


def test_a_source_below_its_mouth_contradicts(kb: KnowledgeBase, tables: Tables) -> None:
    river = next(
        river.id
        for river in tables.rivers.values()
        if list_values(kb, river.id, "mouthElevation")
        and not list_values(kb, river.id, "sourceElevation")
    )
    low_elevation = '"-500"^^<http://www.w3.org/2001/XMLSchema#integer>'
    verdict = kb.oracle.license(make_claim(river, "sourceElevation", low_elevation))
    assert [v.shape for v in verdict.proof.violations] == [VOCABULARY + "SourceAboveMouthShape"]


@pytest.mark.parametrize(
    ("subj", "cls", "shape"),
    [
        ("rhine", "Lake", "RiverKindShape"),
        ("rhine", "Country", "WaterKindShape"),
        ("germany", "Sea", "CountryKindShape"),
    ],
)
def test_classes_exclude_each_other(kb: KnowledgeBase, subj: str, cls: str, shape: str) -> None:
    verdict = kb.oracle.license(Claim(RIVERS + subj, RDF_TYPE, VOCABULARY + cls))
    assert VOCABULARY + shape in [violation.shape for violation in verdict.proof.violations]


def test_inference_adds_triples_to_four_predicates(kb: KnowledgeBase, tables: Tables) -> None:
    """The inverse, the transitive super-property and the property chain all add triples."""
    index = kb.oracle.closure.index
    for pred in ("flowsInto", "hasTributary", "drainsInto", "partOfSystem"):
        node = index.terms.get(VOCABULARY + pred)
        assert node is not None
        inferred = sum(
            not kb.oracle.closure.is_asserted(s, node, o) for s, o in index.iter_pairs(node)
        )
        assert inferred >= 20, pred


# ---- wording ---------------------------------------------------------------------------------


def test_rules_cite_existing_shapes_and_axioms(kb: KnowledgeBase) -> None:
    shapes = set(kb.shapes.list_iris())
    cited_shapes = {shape for rule in kb.domain.rules for shape in rule.shapes}
    assert cited_shapes <= shapes
    kind_shapes = {
        VOCABULARY + name for name in ("RiverKindShape", "WaterKindShape", "CountryKindShape")
    }
    # Shapes about classes belong to no predicate, so no rule cites them.
    assert shapes - cited_shapes == kind_shapes
    for rule in kb.domain.rules:
        assert set(rule.predicates) <= set(kb.domain.predicates)
        for axiom in rule.axioms:
            assert kb.graph.has_claim(axiom), axiom
        assert rule.text[0].isupper()
        assert rule.text.endswith(".")


def test_every_predicate_has_words(kb: KnowledgeBase) -> None:
    for iri, words in kb.domain.predicates.items():
        assert len(set(words.questions)) >= 3, iri
        assert words.default, iri
        assert words.synonyms, iri


# Names after "the" that have no article, and names without "the" that need one.
ARTICLE_FORBIDDEN = re.compile(
    r"\b[Tt]he (Germany|France|Brazil|Malham|Lake (?!District)\w+|Loch|Lough|Lac\b|Chesapeake"
    r"|Hudson Bay|Tokyo Bay|Puget|\w+ Creek\b|\w+ Brook\b)"
)
ARTICLE_REQUIRED = re.compile(
    r"(?<![Tt]he )(?<!White )(?<!Blue )(?<!Wind )\b(Netherlands|United (States|Kingdom)"
    r"|Democratic Republic|Rhine|Nile|North Sea|Gulf of|Bay of|Andes|Black Forest"
    r"|Bristol Channel|Firth of|River (?!system)[A-Z]\w+)\b"
)
# Only words in lower case, since "Mitta Mitta" is a name.
REPEATED_WORD = re.compile(r"\b([a-z]+) \1\b")


def find_grammar_mistakes(sentence: str, end: str) -> list[str]:
    """Describes grammar mistakes that can be found mechanically."""
    mistakes = []
    # Qualifiers such as "(Gulf of Mexico)" have no article.
    text = re.sub(r" \([^)]*\)", "", sentence)
    if not sentence[0].isupper():
        mistakes.append("no capital")
    if not sentence.endswith(end) or sentence.endswith((" " + end, end * 2)):
        mistakes.append(f"no single {end}")
    if "  " in sentence or sentence != sentence.strip():
        mistakes.append("stray space")
    if re.search(r"[{}<>_\"]|https?:|\bwm:|None", sentence):
        mistakes.append("markup")
    if match := REPEATED_WORD.search(text[0].lower() + text[1:]):
        mistakes.append(f"doubled {match[0]!r}")
    if match := ARTICLE_FORBIDDEN.search(text):
        mistakes.append(f"article too many: {match[0]!r}")
    if match := ARTICLE_REQUIRED.search(text):
        mistakes.append(f"article missing: {match[0]!r}")
    if match := re.search(r"\b(a [aeiouAEIOU]|an [^aeiouAEIOUh])\w*", text):
        mistakes.append(f"a or an: {match[0]!r}")
    return mistakes


@pytest.mark.parametrize(
    ("sentence", "mistake"),
    [
        ("the Rhine flows.", "no capital"),
        ("The Rhine flows", "no single ."),
        ("The the Rhine flows.", "doubled"),
        ("The Meuse flows through Netherlands.", "article missing"),
        ("Rhine flows into Lake Constance.", "article missing"),
        ("The Beverley Brook flows into the River Thames.", "article too many"),
        ("The Rhine flows through the Germany.", "article too many"),
    ],
)
def test_grammar_check_finds_mistakes(sentence: str, mistake: str) -> None:
    assert any(m.startswith(mistake) for m in find_grammar_mistakes(sentence, "."))


def sample_claims(kb: KnowledgeBase, pred: str, size: int) -> list[Claim]:
    """Returns true claims of a predicate, and about as many with exchanged objects."""
    index = kb.oracle.closure.index
    predicate_id = index.terms.get(pred)
    assert predicate_id is not None
    pairs = sorted(
        (index.terms.get_text(s), index.terms.get_text(o))
        for s, o in index.iter_pairs(predicate_id)
    )
    rng = random.Random(7)
    true_pairs = rng.sample(pairs, min(size, len(pairs)))
    objects = [o for _s, o in true_pairs]
    rng.shuffle(objects)
    swapped_pairs = [(s, o) for (s, _), o in zip(true_pairs, objects, strict=True) if s != o]
    return [Claim(s, pred, o) for s, o in [*true_pairs, *swapped_pairs]]


def test_sentences_are_grammatical(kb: KnowledgeBase) -> None:
    for pred in (*kb.domain.predicates, RDF_TYPE):
        claims = sample_claims(kb, pred, 250)
        if pred == RDF_TYPE:
            claims = [
                c for c in claims if c.subj.startswith(RIVERS) and c.obj.startswith(VOCABULARY)
            ]
        assert len(claims) >= 100, pred
        for claim in claims:
            for sentence in (kb.verbaliser.render_fact(claim), kb.verbaliser.render_denial(claim)):
                assert not find_grammar_mistakes(sentence, "."), (
                    sentence,
                    find_grammar_mistakes(sentence, "."),
                )
            for question in kb.verbaliser.render_questions(claim):
                assert not find_grammar_mistakes(question, "?"), (
                    question,
                    find_grammar_mistakes(question, "?"),
                )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rhine", "the Rhine"),
        ("river-thames", "the River Thames"),
        ("beverley-brook", "Beverley Brook"),
        ("boulder-creek", "Boulder Creek"),
        ("bannock-burn", "the Bannock Burn"),
        ("colorado-river-texas", "the Colorado River (Texas)"),
        ("cherry-creek-colorado", "Cherry Creek (Colorado)"),
        ("lake-constance", "Lake Constance"),
        ("caspian-sea", "the Caspian Sea"),
        ("great-salt-lake", "the Great Salt Lake"),
        ("great-slave-lake", "Great Slave Lake"),
        ("lake-of-the-woods", "Lake of the Woods"),
        ("north-sea", "the North Sea"),
        ("bay-of-bengal", "the Bay of Bengal"),
        ("chesapeake-bay", "Chesapeake Bay"),
        ("oslofjord", "the Oslofjord"),
        ("port-phillip", "Port Phillip"),
        ("okavango-delta", "the Okavango Delta"),
        ("netherlands", "the Netherlands"),
        ("united-states", "the United States"),
        ("democratic-republic-of-the-congo", "the Democratic Republic of the Congo"),
        ("czechia", "Czechia"),
        ("rhine-system", "the Rhine river system"),
        ("colorado-river-texas-system", "the Colorado river system (Texas)"),
        ("place-black-forest", "the Black Forest"),
        ("place-dartmoor-national-park", "Dartmoor National Park"),
    ],
)
def test_names_have_the_right_article(kb: KnowledgeBase, name: str, expected: str) -> None:
    assert kb.verbaliser.render_term(RIVERS + name) == expected
