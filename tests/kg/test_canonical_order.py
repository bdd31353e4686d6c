"""Tests that equal triples give equal cards, whatever files they were read from."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pyoxigraph
import pytest
from stage_calls import MAYORS, run_epoche

from kg.graph import Graph

FORMATS = {
    "ttl": pyoxigraph.RdfFormat.TURTLE,
    "nt": pyoxigraph.RdfFormat.N_TRIPLES,
    "rdf": pyoxigraph.RdfFormat.RDF_XML,
    "trig": pyoxigraph.RdfFormat.TRIG,
    "nq": pyoxigraph.RdfFormat.N_QUADS,
    "jsonld": pyoxigraph.RdfFormat.JSON_LD,
}


def write_serialisations(source: Path, folder: Path) -> dict[str, list[Path]]:
    """Writes the triples of a file in each format, in another order and in two files."""
    triples = [q.triple for q in pyoxigraph.parse(source.read_bytes(), FORMATS["ttl"])]
    versions: dict[str, list[Path]] = {"original": [source]}
    for number, (extension, rdf_format) in enumerate(FORMATS.items()):
        shuffled = list(triples)
        random.Random(number).shuffle(shuffled)
        path = folder / f"g{number}.{extension}"
        data = pyoxigraph.serialize(shuffled, format=rdf_format)
        assert data is not None
        path.write_bytes(data)
        versions[extension] = [path]
    packed = folder / "packed.nt.gz"
    packed.write_bytes(gzip.compress(versions["nt"][0].read_bytes()))
    versions["gzip"] = [packed]
    return versions


def test_cards_do_not_depend_on_the_serialisation(tmp_path: Path) -> None:
    outputs = {}
    for name, files in write_serialisations(MAYORS / "mayors.ttl", tmp_path).items():
        outputs[name] = []
        graph = [flag for file in files for flag in ("--kg", file)]
        for command in (
            ("cards", "--num-per-type", 8, "--pred", "mayor", "--pred", "country"),
            ("near-miss", "--num", 8),
        ):
            out = tmp_path / name / f"{command[0]}.jsonl"
            done = run_epoche(
                *command, *graph, "--shapes", MAYORS / "mayors.shacl.ttl", "--out", out
            )
            assert done.code == 0, done.err
            outputs[name].append(out.read_bytes())
    assert len({tuple(files) for files in outputs.values()}) == 1


def test_triples_of_blank_nodes_are_in_the_same_order(tmp_path: Path) -> None:
    lines = [
        f"_:{name} <x:{pred}> {value} ."
        for name, pred, value in (
            ("a", "p", '"1"'),
            ("a", "q", "_:b"),
            ("b", "p", '"2"'),
            ("c", "p", '"2"'),
            ("c", "p", '"3"'),
        )
    ]
    renamed = [
        line.replace("_:a", "_:z").replace("_:b", "_:y").replace("_:c", "_:x") for line in lines
    ]

    def read_shape(rows: list[str]) -> list[tuple[str, ...]]:
        (tmp_path / "g.nt").write_text("\n".join(rows), "utf-8")
        claims = Graph.load(tmp_path / "g.nt").iter_claims()
        return [
            tuple("_:" if t.startswith("_:") else t for t in (c.subj, c.pred, c.obj))
            for c in claims
        ]

    assert read_shape(lines) == read_shape(list(reversed(renamed)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ics-chart/chart", "brick-office/mediumOffice_brick_compiled"])
def test_public_graphs_are_read_in_the_same_order(
    public_data: Path, tmp_path: Path, name: str
) -> None:
    packed = public_data / "zoo" / f"{name}.ttl.gz"
    if not packed.exists():
        pytest.skip("needs zoo/ in the folder that EPOCHE_PUBLIC_DATA names")
    source = tmp_path / "source.ttl"
    source.write_bytes(gzip.decompress(packed.read_bytes()))
    try:
        versions = write_serialisations(source, tmp_path)
    except (SyntaxError, ValueError):
        pytest.skip("this file can only be read leniently")
    orders = set()
    for files in versions.values():
        claims = Graph.load(files).iter_claims()
        orders.add(tuple(c for c in claims if "_:" not in (c.subj[:2], c.obj[:2])))
    assert len(orders) == 1
