"""Tests that cards ask their questions in other words, and that nothing else of them changes."""

import json
import shutil
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from stage_calls import run_epoche

sys.path.insert(0, str(Path(__file__).parent.parent))
from paraphrase_rows import iter_templates

from cards.audit_labels import main as audit
from cards.card import Card, hash_card_set, read_cards, write_cards
from cards.card_set import CardSet
from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from cards.leakage.audit import audit_cards
from cards.make_context_cards import main as make_card_file
from cards.paraphrase_cards import main as paraphrase
from cards.paraphraser import TEMPLATE_ID, ParaphrasedCards, paraphrase_cards
from kg.base.errors import CardSetMismatchError, DomainError
from kg.claims import Claim
from kg.domain import load_domain, make_adhoc_domain
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.terms import RDFS, write_literal
from kg.words.labels import Labels
from kg.words.verbaliser import Verbaliser

RIVERS = "https://epoche.example/rivers#"
LEFT_OUT_FILE = Path(__file__).parent.parent / "data" / "rivers_paraphrases_left_out.toml"
SUBJ, OBJ = "{{ subj }}", "{{ obj }}"
SEED = 12345
RDFS_LABEL = RDFS + "label"


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached()


@pytest.fixture(scope="module")
def card_set(kb: KnowledgeBase) -> CardSet:
    predicates = tuple(kb.domain.predicates)
    return make_cards(kb, CardPlan(predicates=predicates, per_label=60, seed=SEED))


@pytest.fixture(scope="module")
def paraphrased(card_set: CardSet) -> ParaphrasedCards:
    return paraphrase_cards(card_set.cards, card_set.kb.verbaliser, seed=SEED)


def exchange(template: str) -> str:
    return template.replace(SUBJ, "\0").replace(OBJ, SUBJ).replace("\0", OBJ)


def test_every_predicate_has_several_paraphrases_and_none_is_a_usual_question(
    kb: KnowledgeBase,
) -> None:
    for wording in kb.domain.predicates.values():
        assert len(wording.paraphrases) >= 6, wording.label
        assert len(set(wording.paraphrases)) == len(wording.paraphrases)
        assert not set(wording.paraphrases) & set(wording.questions)


def test_templates_are_those_that_the_questions_give(kb: KnowledgeBase) -> None:
    """Each ships, is a usual question or is left out for a reason; and no other one ships.

    A question about what flows into what is also one about the inverse predicate.
    """
    given = defaultdict(set)
    for _question, pred, template in iter_templates(kb):
        given[pred].add(template)
    left_out = defaultdict(set)
    for group in tomllib.loads(LEFT_OUT_FILE.read_text(encoding="utf-8"))["left_out"]:
        assert group["why"]
        left_out[group["predicate"]].update(group["templates"])
    inverse = kb.domain.predicates[RIVERS + "hasTributary"]
    assert set(map(exchange, inverse.paraphrases)) <= given["flowsInto"]
    for pred, templates in given.items():
        wording = kb.domain.predicates[RIVERS + pred]
        assert set(wording.paraphrases) <= templates, pred
        kept = {*wording.paraphrases, *wording.questions}
        if pred == "flowsInto":
            kept |= set(map(exchange, (*inverse.paraphrases, *inverse.questions)))
        assert not kept & left_out[pred], pred
        assert templates - kept == left_out[pred], pred


def list_pairs(kb: KnowledgeBase, pred: str) -> list[tuple[str, str]]:
    """Lists subjects and objects of a predicate's facts; of what is only derived, by its axioms."""
    if pred == RIVERS + "hasTributary":
        return [(claim.obj, claim.subj) for claim in kb.graph.iter_claims(RIVERS + "flowsInto")]
    source = RIVERS + "flowsInto" if pred == RIVERS + "drainsInto" else pred
    return [(claim.subj, claim.obj) for claim in kb.graph.iter_claims(source)]


@given(data=st.data())
def test_paraphrases_of_any_claim_name_both_and_are_one_question(data: st.DataObject) -> None:
    kb = KnowledgeBase.open_cached()
    pred = data.draw(st.sampled_from(sorted(kb.domain.predicates)))
    pairs = list_pairs(kb, pred)
    subj, obj = (data.draw(st.sampled_from(pairs))[place] for place in (0, 1))
    for number in range(len(kb.domain.predicates[pred].paraphrases)):
        question = kb.verbaliser.render_paraphrase(Claim(subj, pred, obj), number)
        for term in (subj, obj):
            assert kb.verbaliser.render_term(term, pred).lower() in question.lower()
        assert question.endswith("?")
        assert question[0].isupper()
        assert "{" not in question
        assert "  " not in question


def test_only_question_id_and_reference_differ(
    card_set: CardSet, paraphrased: ParaphrasedCards
) -> None:
    assert len(paraphrased.cards) == len(card_set.cards)
    assert paraphrased.left_out == {}
    for original, card in zip(card_set.cards, paraphrased.cards, strict=True):
        assert card.meta == {**original.meta, TEMPLATE_ID: original.id}
        for name in set(Card.__struct_fields__) - {"id", "question", "meta"}:
            assert getattr(card, name) == getattr(original, name)
        assert card.question not in card_set.kb.verbaliser.render_questions(card.claim)
    ids = {card.id for card in (*card_set.cards, *paraphrased.cards)}
    assert len(ids) == 2 * len(card_set.cards)


def test_cards_of_a_triplet_share_the_wording(
    card_set: CardSet, paraphrased: ParaphrasedCards
) -> None:
    verbaliser = card_set.kb.verbaliser
    numbers = defaultdict(set)
    for card in paraphrased.cards:
        rendered = [
            verbaliser.render_paraphrase(card.claim, number)
            for number in range(len(verbaliser.get_wording(card.claim.pred).paraphrases))
        ]
        numbers[card.triplet].add(rendered.index(card.question))
    assert len(numbers) > 50
    assert all(len(choices) == 1 for choices in numbers.values())
    assert len(set(map(frozenset, numbers.values()))) > 10


def test_wording_does_not_depend_on_the_other_cards_but_on_the_seed(
    card_set: CardSet, paraphrased: ParaphrasedCards
) -> None:
    some = paraphrase_cards(card_set.cards[60:75], card_set.kb.verbaliser, seed=SEED)
    assert some.cards == paraphrased.cards[60:75]
    other = paraphrase_cards(card_set.cards, card_set.kb.verbaliser, seed=SEED + 1)
    assert [card.question for card in other.cards] != [card.question for card in paraphrased.cards]


def test_labels_cannot_be_predicted_from_paraphrases(paraphrased: ParaphrasedCards) -> None:
    audit = audit_cards(paraphrased.cards)
    assert audit.tests > 5
    assert [baseline.name for baseline in audit.leaks if "question" in baseline.name] == []


def test_predicates_without_paraphrases_are_left_out_if_others_have_some(card_set: CardSet) -> None:
    kb = card_set.kb
    pred = card_set.cards[0].claim.pred
    predicates = {
        iri: wording if iri == pred else replace(wording, paraphrases=())
        for iri, wording in kb.domain.predicates.items()
    }
    verbaliser = Verbaliser(
        replace(kb.domain, predicates=predicates), kb.labels, kb.graph, None, kb.shapes
    )
    result = paraphrase_cards(card_set.cards, verbaliser, seed=SEED)
    counts = Counter(card.claim.pred for card in card_set.cards)
    assert result.wordings == "domain"
    assert len(result.cards) == counts.pop(pred)
    assert result.left_out == counts


@pytest.fixture(scope="module")
def graph_domain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A domain drafted from the graph of rivers, as from anybody's: it has labels only."""
    folder = tmp_path_factory.mktemp("draft") / "rivers"
    graph = KnowledgeBase.open_cached().domain.graph_files[0]
    done = run_epoche("kg", "init", graph, "--out", folder)
    assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("name", ["mayors", "draft"])
def test_domains_without_paraphrases_get_general_ones(name: str, graph_domain: Path) -> None:
    kb = KnowledgeBase.open(graph_domain if name == "draft" else name)
    predicates = tuple(kb.domain.predicates)
    cards = make_cards(kb, CardPlan(predicates=predicates, per_label=20, seed=SEED)).cards
    result = paraphrase_cards(cards, kb.verbaliser, seed=SEED)
    assert (result.wordings, result.left_out, len(result.cards)) == ("general", {}, len(cards))
    places = defaultdict(set)
    for original, card in zip(cards, result.cards, strict=True):
        questions = kb.verbaliser.list_general_questions(original.claim)
        assert len(set(questions)) == len(questions) >= 6
        assert not set(questions) & {original.question, *kb.verbaliser.render_questions(card.claim)}
        places[card.triplet].add(questions.index(card.question))
        assert replace(card, id="", question="", meta={}) == replace(
            original, id="", question="", meta={}
        )
    assert all(len(chosen) == 1 for chosen in places.values())
    assert len(set(map(frozenset, places.values()))) > 3


WORDS = st.sampled_from(
    ["mouth", "has mouth", "date of birth", "flows into", "part of", "Sprache", "languages spoken",
     "is or was next to", "given name", "elevation above sea level", "P1476", "{{ 7 * 7 }}"]
)  # fmt: skip


@given(label=WORDS, is_single=st.booleans(), names=st.permutations(["Kelo", "{x}", "3 “a” May"]))
def test_general_questions_ask_the_same(label: str, is_single: bool, names: list[str]) -> None:
    """Each says the clause of the usual question, or "the NOUN of" where one value is stated."""
    pred, values = "http://e/p", ["a"] if is_single else ["a", "b"]
    rows = [("s", RDFS_LABEL, names[0]), ("p", RDFS_LABEL, label)]
    rows += [("s", pred, value) for value in values]
    graph = Graph.from_claims(Claim(f"http://e/{s}", p, write_literal(o)) for s, p, o in rows)
    verbaliser = Verbaliser(make_adhoc_domain((), ()), Labels(graph), graph)
    claim = Claim("http://e/s", pred, write_literal(names[1]))
    clause = verbaliser.render_clause(claim)
    for question in verbaliser.list_general_questions(claim):
        assert question.endswith("?")
        assert names[0] in question
        assert names[1] in question
        noun = f" the {label.removeprefix('has ')} ".lower()
        assert clause in question or noun in question.lower()
    with_noun = len(verbaliser.list_general_questions(claim)) > 6
    nouns = ("mouth", "has mouth", "date of birth", "Sprache", "P1476")
    assert with_noun == (is_single and label in nouns)


def test_command_writes_cards_and_a_manifest_that_finds_the_graph(
    card_set: CardSet, tmp_path: Path
) -> None:
    source, out = tmp_path / "cards.jsonl", tmp_path / "other" / "cards.jsonl"
    make_card_file(source, domain="rivers", num_per_type=20, seed=3)
    for path in (out, tmp_path / "again" / "cards.jsonl"):
        paraphrase(source, out=path, seed=3)
    assert out.read_bytes() == (tmp_path / "again" / "cards.jsonl").read_bytes()
    manifest = json.loads(out.with_name("cards.manifest.json").read_text())
    original = json.loads(source.with_name("cards.manifest.json").read_text())
    cards = read_cards(out)
    assert manifest["cards_sha256"] == hash_card_set(cards)
    assert manifest["paraphrased_from"]["cards_sha256"] == original["cards_sha256"]
    assert manifest["graph_sha256"] == original["graph_sha256"]
    assert manifest["counts"] == {"cards": len(cards), "left_out": {}}
    # Systems and the oracle open the same graph, from which facts were set aside.
    audit(out, fail=True, seed=3)


def test_command_says_whose_wordings_it_used(
    graph_domain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = ((graph_domain, "general", "general, for any"), ("rivers", "domain", "the domain's"))
    for domain, wordings, message in kinds:
        source, out = tmp_path / "cards.jsonl", tmp_path / "out.jsonl"
        make_card_file(source, domain=domain, num_per_type=5, seed=3)
        paraphrase(source, out=out)
        assert f"wordings: {message}" in capsys.readouterr().out
        assert json.loads(out.with_name("out.manifest.json").read_text())["wordings"] == wordings


def test_command_refuses_cards_of_predicates_without_paraphrases(tmp_path: Path) -> None:
    """General questions beside those of the domain would be two benchmarks in one."""
    folder, source = tmp_path / "mayors", tmp_path / "cards.jsonl"
    shutil.copytree(load_domain("mayors").graph_files[0].parent, folder)
    text = (folder / "domain.toml").read_text("utf-8")
    with_country = text.replace(
        'label = "country"', 'label = "country"\nparaphrases = ["{{ subj }}?"]'
    )
    (folder / "domain.toml").write_text(with_country, "utf-8")
    make_card_file(source, domain=folder, pred=["cm:mayor"], num_per_type=5, seed=3)
    with pytest.raises(DomainError, match="none for the predicates of these cards"):
        paraphrase(source, out=tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_command_refuses_what_it_cannot_paraphrase(card_set: CardSet, tmp_path: Path) -> None:
    source, out = tmp_path / "cards.jsonl", tmp_path / "out.jsonl"
    make_card_file(source, domain="mayors", num_per_type=5, seed=3)
    with pytest.raises(CardSetMismatchError, match="another graph"):
        paraphrase(source, out=out, domain="rivers")
    write_cards(source.with_name("bare.jsonl"), card_set.cards)
    with pytest.raises(DomainError, match="not known"):
        paraphrase(source.with_name("bare.jsonl"), out=out)
    assert not out.exists()


@pytest.mark.parametrize(
    "template", ["{{ subject }}?", "{% for x in subj %}{{ x }}{% endfor %}?", "{{ subj * 99 }}", ""]
)
def test_paraphrases_are_checked_like_questions(tmp_path: Path, template: str) -> None:
    for name in ("graph.ttl", "shapes.ttl"):
        (tmp_path / name).write_text("")
    file = tmp_path / "domain.toml"
    file.write_text(
        'name = "x"\ngraph = ["graph.ttl"]\nshapes = ["shapes.ttl"]\n'
        '[predicates."http://e/p"]\nlabel = "p"\n'
        f'paraphrases = ["Does {{{{ subj }}}}?", "{template}"]\n'
    )
    with pytest.raises(DomainError) as error:
        load_domain(file)
    assert "paraphrases[1]" in str(error.value)
