"""Tests that Epoché's extractors are scored as extraction systems, from conversion to command."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from skn_reader import READER
from skn_run_parts import REPLAY
from typer.testing import CliRunner

from epoche.cli import app
from eval.extraction.metrics.quality_score import compute_sample_metrics
from eval.extraction.own_extractors.graph_triples import (
    Triple,
    TripleNormaliser,
    count_whole_triples,
    normalise_samples,
    samples_from_chunks,
    samples_from_graph,
)
from eval.extraction.own_extractors.scored_folder import ScoredRunInfo, write_scored_run
from eval.extraction.own_extractors.skn_content import (
    GOLD_FILE,
    content_to_json,
    predictions_from_run,
)
from eval.extraction.own_extractors.triple_proposals import ProposalRow, build_predictions
from eval.extraction.own_extractors.triple_reader import extract_triples
from eval.extraction.row import ExtractionRow, read_rows
from eval.extraction.row_builder import build_row
from eval.extraction.samples.loader import load_samples
from eval.extraction.samples.sample import Sample
from eval.extraction.settings import DEFAULT_MATCHING
from eval.harness.reply import Reply
from eval.skn.card_rules.extractor import RuleExtractor
from eval.skn.formats.extraction import Extraction
from eval.skn.formats.flat_json import FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import parse_content, to_plain_values, write_content
from eval.skn.formats.pipelines import ALL_SECTIONS, FAIR_ABLATION_PIPELINES, PIPELINES
from eval.skn.formats.settings import Setting
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source, drop_sections
from eval.skn.items import read_samples
from eval.skn.row import SknRow
from eval.skn.search_source import SHIPPED, SourceFinder
from kg.base.errors import RecordError, WriteError
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.text.chunks import Chunk

DENIAL = re.compile(r" not | neither ")
SOURCE = Source("software", "medium", 0.8)


@pytest.fixture(scope="module")
def gold() -> list[Sample]:
    """Twelve shipped samples: a search result as text, and the content to extract from it."""
    return list(load_samples(GOLD_FILE, strict=True).samples)


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return KnowledgeBase.open("rivers")


def run_epoche(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def make_document(sample: Sample) -> Document:
    """Returns an SKN document with the expected output of a sample."""
    expected = sample.expected
    return Document(
        source=SOURCE,
        facts=tuple(Fact("!", item["text"], 0.9) for item in expected["facts"]),
        causal=tuple(
            CausalLink(item["cause"], item["effect"], 0.7) for item in expected.get("causal", [])
        ),
        gaps=tuple(item["text"] for item in expected.get("gaps", [])),
        risk=Risk("low", "low"),
    )


def make_extraction(document: Document, pipeline: str) -> Extraction:
    form = PIPELINES[pipeline]
    absent = sorted(ALL_SECTIONS - form.sections)
    content = drop_sections(document, *absent)
    context = write_content(content, form)
    return Extraction(
        pipeline=pipeline,
        context=context,
        validity="strict",
        raw=context,
        content=to_plain_values(content),
    )


def make_skn_row(id_: str, extraction: Extraction | None, **other_fields: Any) -> SknRow:
    fields: dict[str, Any] = {
        "id": id_,
        "category": "diagnostic",
        "pipeline": "skn" if extraction is None else extraction.pipeline,
        "answerable": True,
        "outcome": "ANSWERED",
        "extraction": extraction,
    }
    return SknRow(**{**fields, **other_fields})


def score_own_predictions(
    samples: Sequence[Sample], predictions: Sequence[Reply]
) -> list[ExtractionRow]:
    samples_by_id = {sample.id: sample for sample in samples}
    return [build_row(samples_by_id[reply.id], reply, DEFAULT_MATCHING) for reply in predictions]


# ---- the gold documents --------------------------------------------------------------------------


def test_gold_documents_use_words_of_the_shipped_searches(gold: list[Sample]) -> None:
    shipped_samples = {sample.id: sample for sample in read_samples(SHIPPED / "samples.json")}
    finder = SourceFinder.open_replay(SHIPPED / "search.jsonl")
    assert len(gold) == 12
    for sample in gold:
        question = shipped_samples[sample.id].question
        assert sample.meta["question"] == question
        source = finder.find_source(shipped_samples[sample.id])
        assert sample.text == f"Question: {question}\n\n{source.text}"
        source_words = split_words(sample.text)
        for fact in sample.expected["facts"]:
            assert split_words(fact["text"]) <= source_words, fact
        links = sample.expected.get("causal", [])
        gaps = sample.expected.get("gaps", [])
        assert bool(gaps) != shipped_samples[sample.id].answerable, (
            "only an unanswerable question should have gaps"
        )
        assert bool(links) == shipped_samples[sample.id].answerable
        for item in (*links, *gaps):
            item_words = set().union(*(split_words(text) for text in item.values()))
            # Causes, effects and gaps may be worded freely, but mostly in words of the source.
            assert len(item_words & source_words) / len(item_words) > 0.6, item


def split_words(text: str) -> set[str]:
    return {word.strip(".-") for word in re.findall(r"[\w.@-]+", text.casefold())}


# ---- conversion of all forms (SKN, typed JSON, flat JSON) to one ---------------------------------


def test_typed_and_flat_content_convert_to_the_same_form() -> None:
    document = Document(
        source=SOURCE,
        facts=(Fact("!", "a lock stays", 0.9), Fact("~", "perhaps a leak", 0.3)),
        causal=(CausalLink("a crash", "a lock that stays", 0.8),),
        gaps=("which release",),
        risk=Risk("low", "high"),
    )
    full_json = {
        "facts": [{"text": "a lock stays"}, {"text": "perhaps a leak"}],
        "causal": [{"cause": "a crash", "effect": "a lock that stays"}],
        "gaps": [{"text": "which release"}],
    }
    assert content_to_json(document) == full_json
    assert content_to_json(drop_sections(document, "causal", "gaps")) == {
        "facts": full_json["facts"]
    }
    flat = FlatExtraction(
        relationships=(
            Relationship("a crash", "Leads to", "a lock that stays"),
            Relationship("a lock", "is part of", "a store"),
        ),
        claims=(FlatClaim("a lock stays", "fact"), FlatClaim("perhaps a leak", "opinion", 0.3)),
    )
    assert content_to_json(flat) == {"facts": full_json["facts"], "causal": full_json["causal"]}


@pytest.mark.parametrize("name", FAIR_ABLATION_PIPELINES)
def test_notation_does_not_change_the_conversion(name: str, gold: list[Sample]) -> None:
    extractor = RuleExtractor(PIPELINES[name], Setting())
    for sample in gold:
        extraction = asyncio.run(extractor.extract(sample.text, sample.meta["question"]))
        (prediction,) = predictions_from_run([make_skn_row(sample.id, extraction)], [sample])
        reading = parse_content(extraction.raw, PIPELINES[name], strict=True)
        assert reading.content is not None
        assert content_to_json(reading.content) == prediction.value


def test_perfect_extraction_misses_only_unsupported_fields(gold: list[Sample]) -> None:
    names = ("skn", "json_meta", "skn_no_causal", "skn_no_gaps", "skn_no_risk", "skn_min")
    rows = [
        make_skn_row(gold_sample.id, make_extraction(make_document(gold_sample), name))
        for gold_sample in gold
        for name in names
    ]
    extraction_rows = score_own_predictions(gold, list(predictions_from_run(rows, gold)))
    # Twelve gold samples with six pipelines each.
    assert len(extraction_rows) == 12 * 6
    expected = {sample.id: sample.expected for sample in gold}
    for row in extraction_rows:
        facts = len(expected[row.id]["facts"])
        causal = 2 * len(expected[row.id].get("causal", []))
        gaps = len(expected[row.id].get("gaps", []))
        missed_fields = {"skn_no_causal": causal, "skn_no_gaps": gaps, "skn_min": causal + gaps}
        tally = row.score.tally
        assert row.outcome == "OK"
        assert tally.expected == facts + causal + gaps
        assert tally.missed == missed_fields.get(row.system, 0), (row.id, row.system)
        assert tally.strict == tally.predicted == tally.expected - tally.missed
        assert row.score.exact_match == (tally.missed == 0)


def test_order_is_ignored_and_invented_items_are_spurious(gold: list[Sample]) -> None:
    sample = gold[0]
    document = make_document(sample)
    reversed_document = msgspec.structs.replace(document, facts=document.facts[::-1])
    longer_document = msgspec.structs.replace(
        document, facts=(*document.facts, Fact("!", "the moon is made of cheese", 0.9))
    )
    rows = [
        make_skn_row(sample.id, make_extraction(extracted, "skn"))
        for extracted in (reversed_document, longer_document)
    ]
    reversed_row, longer_row = score_own_predictions(
        [sample], list(predictions_from_run(rows, [sample]))
    )
    assert compute_sample_metrics(reversed_row.score).eqs == 1
    assert reversed_row.score.exact_match
    assert longer_row.score.tally.spurious == 1
    assert not longer_row.score.exact_match


def test_failed_and_invalid_extractions_are_distinguished(gold: list[Sample]) -> None:
    valid_extraction = make_extraction(make_document(gold[0]), "skn")
    unreadable_extraction = Extraction(
        pipeline="skn", context="", validity="unreadable", problem="no block", raw="Sorry."
    )
    rows = [
        make_skn_row(
            gold[0].id, valid_extraction, outcome="ERROR", stage="agent", error="timed out"
        ),
        make_skn_row(gold[1].id, unreadable_extraction, outcome="INVALID", stage="extraction"),
        make_skn_row(gold[2].id, None, outcome="ERROR", stage="search", error="no such search"),
        make_skn_row("nobody's", valid_extraction),
    ]
    extraction_rows = score_own_predictions(gold, list(predictions_from_run(rows, gold)))
    assert [(row.outcome, row.problem) for row in extraction_rows] == [
        ("OK", ""),
        ("UNPARSABLE", "no block"),
        ("ERROR", "no such search"),
    ]
    assert extraction_rows[1].raw == "Sorry."
    assert extraction_rows[1].score.tally.missed == extraction_rows[1].score.tally.expected


def test_content_of_another_form_is_refused(gold: list[Sample]) -> None:
    flat_extraction = Extraction(
        pipeline="skn", context="x", validity="strict", content={"claims": [{"statement": "x"}]}
    )
    with pytest.raises(RecordError, match="no extraction in its pipeline's format"):
        list(predictions_from_run([make_skn_row(gold[0].id, flat_extraction)], gold))


# ---- triples -------------------------------------------------------------------------------------


def test_verbalised_facts_are_read_back_but_denials_are_not(rivers: KnowledgeBase) -> None:
    samples = samples_from_graph(rivers, 60)
    samples_with_denials = [
        candidate for candidate in samples_from_graph(rivers) if DENIAL.search(candidate.text)
    ][:5]
    assert len(samples) == 60
    assert samples_with_denials
    for sample in (*samples, *samples_with_denials):
        sentences = [line for line in sample.text.splitlines() if not DENIAL.search(line)]
        assert len(sample.expected.get("triples", [])) == len(sentences), sample.text
    predictions = list(
        extract_triples([*samples, *samples_with_denials], rivers, lambda _done: None)
    )
    counts = count_whole_triples([*samples, *samples_with_denials], predictions)["rules"]
    assert counts.expected > 100
    # All extracted triples are right; ambiguous names are left out, so a few facts are missing.
    assert counts.right == counts.predicted
    assert counts.right >= 0.95 * counts.expected


def test_triples_are_scored_by_field(rivers: KnowledgeBase) -> None:
    (sample,) = [
        candidate for candidate in samples_from_graph(rivers) if candidate.id.endswith("/rhine")
    ]
    expected = sample.expected["triples"]
    assert {"subject": "Rhine", "predicate": "mouth", "object": "North Sea"} in expected
    changed_triples = [{**expected[0], "object": "Nowhere"}, *reversed(expected[1:])]
    predicted = Reply(id=sample.id, system="x", value={"triples": changed_triples})
    (row,) = score_own_predictions([sample], [predicted])
    tally = row.score.tally
    assert (tally.expected, tally.predicted) == (3 * len(expected), 3 * len(expected))
    assert tally.strict == 3 * len(expected) - 1
    counts = count_whole_triples([sample], [predicted])["x"]
    assert (counts.right, counts.predicted, counts.expected) == (
        len(expected) - 1,
        *[len(expected)] * 2,
    )


def test_fact_and_its_inverse_are_equal(rivers: KnowledgeBase) -> None:
    normaliser = TripleNormaliser(rivers)
    assert normaliser.normalise_triple(Triple("Weser", "direct inflow", "Fulda")) == (
        "Fulda",
        "mouth",
        "Weser",
    )
    (sample,) = samples_from_chunks([Chunk("c", "The Fulda flows into the Weser.")], rivers)
    expected = {"triples": [{"subject": "Fulda", "predicate": "mouth", "object": "Weser"}]}
    assert sample.expected == expected
    for text in ("The Fulda flows into the Weser.", "The Weser directly receives the Fulda."):
        (prediction,) = extract_triples(
            [msgspec.structs.replace(sample, text=text)], rivers, lambda _done: None
        )
        assert prediction.value == expected, text
    inverse_sample = msgspec.structs.replace(
        sample,
        expected={
            "triples": [{"subject": "Weser", "predicate": "Direct inflow", "object": "Fulda"}]
        },
    )
    assert normalise_samples([inverse_sample], normaliser)[0].expected == expected
    with pytest.raises(RecordError, match="has no valid triples"):
        normalise_samples([msgspec.structs.replace(sample, expected=["Weser"])], normaliser)


def test_symmetric_facts_are_ordered_and_listed_once(tmp_path: Path) -> None:
    graph, shapes = tmp_path / "g.ttl", tmp_path / "s.ttl"
    graph.write_text(
        """
        @prefix e: <https://e.example/> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        e:borders a owl:ObjectProperty, owl:SymmetricProperty ; rdfs:label "borders" ;
            owl:inverseOf e:borders .
        e:a rdfs:label "Ara" ; e:borders e:b . e:b rdfs:label "Bora" ; e:borders e:a .
        """
    )
    shapes.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <https://e.example/> ."
        "e:S a sh:NodeShape ; sh:targetSubjectsOf e:borders ; sh:nodeKind sh:IRI ."
    )
    kb = KnowledgeBase.open(None, graph=[graph], shapes=[shapes])
    normaliser = TripleNormaliser(kb)
    assert normaliser.normalise_triple(Triple("Bora", "borders", "Ara")) == (
        "Ara",
        "borders",
        "Bora",
    )
    (sample,) = samples_from_chunks([Chunk("c", "Bora and Ara share a border.")], kb)
    assert sample.expected == {
        "triples": [{"subject": "Ara", "predicate": "borders", "object": "Bora"}]
    }


def test_denied_fact_is_not_expected_in_a_chunk(rivers: KnowledgeBase) -> None:
    (sample,) = samples_from_chunks([Chunk("c", "The Aguarico never reaches Brazil.")], rivers)
    assert sample.expected == {}


def test_chunk_gives_facts_of_which_it_names_both_ends(rivers: KnowledgeBase) -> None:
    chunks = [
        Chunk("c1", "The Rhine, which is 1,230 km long, ends in the North Sea."),
        Chunk("c2", "The Rhine is long."),
        Chunk("c3", "Nothing here is known."),
    ]
    both_names_sample, one_name_sample, no_name_sample = samples_from_chunks(chunks, rivers)
    facts = {
        (triple["predicate"], triple["object"]) for triple in both_names_sample.expected["triples"]
    }
    assert facts == {("mouth", "North Sea"), ("length", "1230")}
    assert one_name_sample.expected == {}
    assert no_name_sample.expected == {}


def test_proposals_and_licensed_proposals_are_separate_systems(rivers: KnowledgeBase) -> None:
    (sample,) = [
        candidate for candidate in samples_from_graph(rivers) if candidate.id.endswith("/rhine")
    ]
    normaliser = TripleNormaliser(rivers)
    known_claim = next(
        claim
        for claim in rivers.graph.iter_claims()
        if claim.subj.endswith("/rhine")
        and normaliser.triple_from_claim(claim).predicate == "mouth"
    )
    contradicted_claim = Claim(known_claim.subj, known_claim.pred, known_claim.subj)
    new_claim = Claim("urn:epoche:text:aue", known_claim.pred, known_claim.obj)
    rows = [
        ProposalRow(sample.id, "the Rhine", "flows into", "N. Sea", "known", claim=known_claim),
        ProposalRow(sample.id, "Rhine", "mouth", "Rhine", "contradicted", claim=contradicted_claim),
        ProposalRow(sample.id, "Aue", "ends in", "North Sea", "admitted", claim=new_claim),
        ProposalRow(sample.id, "it", "is", "wet", "unusable"),
        ProposalRow("another", "it", "is", "wet", "unusable"),
    ]
    proposed, licensed = build_predictions(rows, [sample], rivers)
    known_triple = {"subject": "Rhine", "predicate": "mouth", "object": "North Sea"}
    new_triple = {"subject": "Aue", "predicate": "mouth", "object": "North Sea"}
    assert (proposed.system, licensed.system) == ("proposed", "licensed")
    assert licensed.value == {"triples": [known_triple, new_triple]}
    assert len(proposed.value["triples"]) == 4
    counts = count_whole_triples([sample], [proposed, licensed])
    assert [(count.right, count.predicted) for count in counts.values()] == [(1, 4), (1, 2)]
    with pytest.raises(RecordError, match="no proposal belongs to a chunk"):
        list(build_predictions(rows[-1:], [sample], rivers))


# ---- folders and the command ---------------------------------------------------------------------


def test_folder_is_only_replaced_with_overwrite(tmp_path: Path, gold: list[Sample]) -> None:
    run_info = ScoredRunInfo(dataset="gold", extractors={}, offline=True)
    rows = [make_skn_row(s.id, make_extraction(make_document(s), "skn")) for s in gold]
    predictions = list(predictions_from_run(rows, gold))
    assert write_scored_run(tmp_path, gold, predictions, run_info).counts["OK"] == 12
    with pytest.raises(WriteError, match="contains a run already"):
        write_scored_run(tmp_path, gold, predictions, run_info)
    with pytest.raises(RecordError, match="nothing to score"):
        write_scored_run(tmp_path / "none", gold, [], run_info)
    assert not (tmp_path / "none").exists()


def test_skn_run_is_scored(tmp_path: Path) -> None:
    skn, out = tmp_path / "skn", tmp_path / "scored"
    run_epoche("skn", "run", *REPLAY, "--limit", 6, "--resamples", 100, "--out", skn)
    printed = run_epoche("extract", "score-own", "--resamples", 100, "--skn", skn, "--out", out)
    # The SKN run has three pipelines; five of the first six texts have a gold document.
    assert "15 extractions of 5 texts" in printed
    assert "1 of the run's samples have no gold document and are not scored" in printed
    rows = list(read_rows(out / "rows.jsonl"))
    assert {row.system for row in rows} == {"json", "json_meta", "skn"}
    report = json.loads((out / "metrics.json").read_bytes())["report"]
    for name, system in report["systems"].items():
        # The model words claims in its own way, so the score is above 0 but far from 1.
        assert 0 < system["metrics"]["extraction_quality_score"]["value"] < 0.9, name
    assert (out / "comparison.json").exists()
    # The folder is a normal run folder: a second report on it gives the same bytes.
    old_metrics = (out / "metrics.json").read_bytes()
    run_epoche("extract", "report", "--results-dir", out)
    assert (out / "metrics.json").read_bytes() == old_metrics


def test_model_proposals_are_scored_with_abstention(
    scripted_server: ScriptedServer,
    scripted_model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "The Rhine flows into the North Sea. The Fulda flows into the Weser."
    Path("doc.md").write_text(f"# 1 Rivers\n\n{text}\n")
    run_epoche("kg", "build", "doc.md", "--out", "runs/doc", "--no-canonical")
    triples = [
        {
            "subject": river,
            "predicate": "mouth",
            "object": mouth,
            "quote": f"The {river} flows into the {quoted_mouth}",
        }
        for river, mouth, quoted_mouth in (
            ("Rhine", "North Sea", "North Sea"),
            ("Fulda", "North Sea", "Weser"),
        )
    ]
    scripted_server.behave(behaviours.normal_reply(lambda _asked: json.dumps({"triples": triples})))
    graph_options = ("--run", "runs/doc", "--domain", "rivers")
    run_epoche("kg", "extract", *graph_options, "--out", "new.ttl", "--model", scripted_model)
    printed = run_epoche(
        *("extract", "score-own", *graph_options, "--out", "own"),
        *("--proposals", "new.proposals.jsonl", "--resamples", 100),
    )
    # The graph has both mouths; one proposal is right, the other is contradicted.
    assert "proposed: whole triples: 1 of 2 extracted are right, of 2 expected" in printed
    assert "licensed: whole triples: 1 of 1 extracted are right, of 2 expected" in printed
    rules_printed = run_epoche(
        "extract", "score-own", *graph_options, "--out", "rules", "--no-report"
    )
    assert "rules: whole triples: 2 of 2 extracted are right, of 2 expected" in rules_printed
    # A report needs the results and metrics of an evaluation; the scored folder is one section.
    results = ("--results", "results.jsonl")
    run_epoche("cards", "--domain", "rivers", "--num-per-type", 3, "--out", "cards.jsonl")
    run_epoche(
        "eval", "--cards", "cards.jsonl", "--system", "always-UNKNOWN", "--out", "results.jsonl"
    )
    run_epoche("metrics", *results, "--out", "metrics.json", "--resamples", 100)
    report_options = (*results, "--metrics", "metrics.json", "--domain", "rivers")
    run_epoche("report", *report_options, "--section", "own", "--out", "report.html")
    page = Path("report.html").read_text()
    assert "How well do texts become data?" in page
    assert "licensed" in page


@pytest.mark.parametrize(
    ("flags", "flag"),
    [
        ([], "--skn, --domain, --kg"),
        (["--limit", "3"], "--limit"),
        (["--proposals", "x.jsonl"], "--proposals"),
        (["--domain", "rivers", "--skn", "x"], "--skn"),
    ],
)
def test_unrelated_flags_are_refused(flags: list[str], flag: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["extract", "score-own", "--out", str(tmp_path / "x"), *flags])
    assert result.exit_code != 0
    assert flag in result.output
    assert not (tmp_path / "x").exists()


def test_scoring_does_not_overwrite_its_input_run(tmp_path: Path) -> None:
    run = tmp_path / "skn"
    run_epoche("skn", "run", *READER, "--limit", 1, "--out", run)
    old_rows = (run / "rows.jsonl").read_bytes()
    arguments = ["extract", "score-own", "--skn", run, "--out", run, "--overwrite"]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == WriteError.exit_code
    assert (run / "rows.jsonl").read_bytes() == old_rows
