"""Tests that equal triples give equal graphs, cards and near-misses, however they were written."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stage_calls import MAYORS, run_epoche

from kg.claims import Claim
from kg.graph import Graph

FORMATS = {
    "ttl": pyoxigraph.RdfFormat.TURTLE,
    "nt": pyoxigraph.RdfFormat.N_TRIPLES,
    "rdf": pyoxigraph.RdfFormat.RDF_XML,
    "jsonld": pyoxigraph.RdfFormat.JSON_LD,
    "trig": pyoxigraph.RdfFormat.TRIG,
    "nq": pyoxigraph.RdfFormat.N_QUADS,
}

NAMED = [f"http://e/{name}" for name in "abc"]
BLANKS = [f"_:n{number}" for number in range(7)]
CLAIMS = st.builds(
    Claim,
    st.sampled_from(NAMED + 3 * BLANKS),
    st.sampled_from(["http://e/p", "http://e/q"]),
    st.sampled_from([*NAMED, '"x"', '"x"@en', '"7"^^<http://e/d>', *BLANKS, *BLANKS]),
)


def describe_graph(graph: Graph) -> tuple[object, ...]:
    """Returns everything of a graph that could depend on the order of its file."""
    return graph.index.terms.texts, list(graph.index.iter_triples())


def to_triple(claim: Claim) -> pyoxigraph.Triple:
    """Converts a claim for the serialiser."""
    line = " ".join(t if t[:1] in {'"', "_"} else f"<{t}>" for t in claim.__reduce__()[1][:3])
    return next(iter(pyoxigraph.parse(f"{line} .", pyoxigraph.RdfFormat.N_TRIPLES))).triple


def rename_blanks(triples: Sequence[pyoxigraph.Triple], seed: int) -> list[pyoxigraph.Triple]:
    """Returns the triples in random order, with new labels of their blank nodes."""
    names = [f"m{number}" for number in range(10_000)]
    random.Random(seed).shuffle(names)
    new_names: dict[str, str] = {}

    def rename(term: object) -> object:
        if not isinstance(term, pyoxigraph.BlankNode):
            return term
        if term.value not in new_names:
            new_names[term.value] = names.pop()
        return pyoxigraph.BlankNode(new_names[term.value])

    renamed = [pyoxigraph.Triple(rename(t.subject), t.predicate, rename(t.object)) for t in triples]
    random.Random(seed).shuffle(renamed)
    return renamed


def write_versions(
    triples: Sequence[pyoxigraph.Triple], folder: Path, seed: int = 0
) -> dict[str, list[Path]]:
    """Writes triples in every format, in random order, as one file or two, packed or not."""
    versions: dict[str, list[Path]] = {}
    for number, (extension, rdf_format) in enumerate(FORMATS.items()):
        path = folder / f"graph.{extension}"
        renamed = rename_blanks(triples, seed + number)
        data = pyoxigraph.serialize(renamed, format=rdf_format)
        assert data is not None
        path.write_bytes(data)
        versions[extension] = [path]
    packed = folder / "packed.nt.gz"
    packed.write_bytes(gzip.compress(versions["nt"][0].read_bytes()))
    versions["packed"] = [packed]
    # A blank node is one node in one file only.
    blank = pyoxigraph.BlankNode
    with_blanks = [t for t in triples if blank in (type(t.subject), type(t.object))]
    others = [t for t in triples if t not in with_blanks]
    versions["split"] = []
    for number, part in enumerate((others[::2] + others[:3], others[1::2] + with_blanks)):
        if part:
            path = folder / f"part_{number}.ttl"
            path.write_bytes(pyoxigraph.serialize(part, format=FORMATS["ttl"]) or b"")
            versions["split"].append(path)
    return versions


def write_cycles(*sizes: int) -> list[Claim]:
    """Writes cycles of blank nodes, each of which has one link to and one from it."""
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [
        Claim(f"_:n{start + i}", "http://e/p", f"_:n{start + (i + 1) % size}")
        for start, size in zip(starts, sizes, strict=True)
        for i in range(size)
    ]


@settings(max_examples=60)
@given(st.lists(CLAIMS, min_size=1, max_size=14, unique=True), st.integers(0, 10_000))
@example(write_cycles(1, 2), 0)
@example(write_cycles(2, 3), 0)
@example(write_cycles(3, 1, 2), 4)
def test_every_serialisation_gives_the_same_graph(
    tmp_path_factory: pytest.TempPathFactory, claims: list[Claim], seed: int
) -> None:
    triples = [to_triple(claim) for claim in claims]
    versions = write_versions(triples, tmp_path_factory.mktemp("versions"), seed)
    graphs = {name: Graph.load(paths) for name, paths in versions.items()}
    expected = describe_graph(graphs["ttl"])
    for name, graph in graphs.items():
        assert describe_graph(graph) == expected, name
        assert len(graph) == len(claims)


@pytest.mark.slow
def test_alike_blank_nodes_do_not_take_long() -> None:
    """A chain is told apart from its end; of twins, any one is as good as the other."""
    chain = [Claim(f"_:c{n}", "http://e/next", f"_:c{n + 1}") for n in range(30_000)]
    twins = [Claim(f"_:a{n}", "http://e/p", f"_:b{n}") for n in range(30_000)]
    hub = [Claim("http://e/hub", "http://e/p", f"_:h{n}") for n in range(30_000)]
    loops = [Claim(f"_:l{n}", "http://e/q", f"_:l{n}") for n in range(30_000)]
    claims = chain + twins + hub + loops
    expected = list(Graph.from_claims(claims).index.iter_triples())
    random.Random(1).shuffle(claims)
    assert list(Graph.from_claims(claims).index.iter_triples()) == expected


def test_cards_and_near_misses_do_not_depend_on_the_serialisation(tmp_path: Path) -> None:
    triples = [
        quad.triple
        for quad in pyoxigraph.parse((MAYORS / "mayors.ttl").read_bytes(), FORMATS["ttl"])
    ]
    # Blank nodes among the subjects and objects that are drawn, some with several values.
    mayor = next(t.predicate for t in triples if t.predicate.value.endswith("mayor"))
    people = sorted({t.object for t in triples if t.predicate == mayor}, key=str)
    for number in range(40):
        node = pyoxigraph.BlankNode(f"x{number}")
        triples += [pyoxigraph.Triple(node, mayor, p) for p in people[number : number + number % 3]]
        triples.append(
            pyoxigraph.Triple(
                people[number % len(people)], pyoxigraph.NamedNode("http://e/knows"), node
            )
        )
    (tmp_path / "shapes").mkdir()
    shapes_data = (MAYORS / "mayors.shacl.ttl").read_bytes()
    shapes_triples = [quad.triple for quad in pyoxigraph.parse(shapes_data, FORMATS["ttl"])]
    shapes_versions = write_versions(shapes_triples, tmp_path / "shapes")
    outputs = {}
    for name, paths in write_versions(triples, tmp_path).items():
        graph = [flag for path in paths for flag in ("--kg", path)]
        shapes = [flag for path in shapes_versions[name] for flag in ("--shapes", path)]
        outputs[name] = []
        for command in (
            ("cards", "--num-per-type", 8, "--pred", "mayor", "--pred", "country"),
            ("near-miss", "--num", 8, "--pred", "mayor"),
        ):
            out = tmp_path / name / f"{command[0]}.jsonl"
            done = run_epoche(*command, *graph, *shapes, "--out", out)
            assert done.code == 0, done.err
            outputs[name].append(out.read_bytes())
            assert outputs[name][-1].count(b"\n") >= 4
    assert len({tuple(files) for files in outputs.values()}) == 1


@pytest.mark.parametrize(
    "name", ["ics-chart/chart", "pizza/pizza", "brick-office/mediumOffice_brick_compiled"]
)
def test_public_graphs_are_the_same_in_every_serialisation(
    public_data: Path, tmp_path: Path, name: str
) -> None:
    files = sorted((public_data / "zoo").glob(f"{name}.*.gz"))
    if not files:
        pytest.skip("needs zoo/ in the folder that EPOCHE_PUBLIC_DATA names")
    rdf_format = FORMATS["ttl" if ".ttl" in files[0].name else "rdf"]
    data = gzip.decompress(files[0].read_bytes())
    triples = [q.triple for q in pyoxigraph.parse(data, rdf_format, lenient=True)]
    triples = list(dict.fromkeys(triples))
    expected = describe_graph(Graph.load(files[0]))
    for version, paths in write_versions(triples, tmp_path).items():
        assert describe_graph(Graph.load(paths)) == expected, version
