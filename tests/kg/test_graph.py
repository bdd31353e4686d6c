"""Tests of loading graphs: formats, merging, hashes, hostile and broken input, and rdflib."""

from __future__ import annotations

import gzip
import os
from decimal import Decimal
from pathlib import Path

import hypothesis.strategies as st
import pyoxigraph
import pytest
import rdflib
from hypothesis import given, settings
from rdflib.compare import isomorphic

from kg.base.errors import (
    EmptyGraphError,
    EpocheError,
    GraphFormatError,
    GraphSyntaxError,
    GraphTooLargeError,
    MissingFileError,
)
from kg.base.files import sha256_file
from kg.claims import Claim
from kg.graph import Graph
from kg.shapes import Shapes
from kg.terms import RDF, RDF_TYPE, from_rdflib, parse_literal, to_rdflib, write_literal
from kg.triples.base_iris import choose_base_iris
from kg.triples.loader import FORMATS

TURTLE = """@prefix e: <http://e/> .
e:a e:p e:b, "x", "y"@EN, "1.00"^^<http://www.w3.org/2001/XMLSchema#decimal>, 01 ;
    e:q [ e:p "line\\nbreak \\"quoted\\" \\\\" ], _:named .
_:named e:p true .
"""
SHACL = "@prefix sh: <http://www.w3.org/ns/shacl#> ."
RDFLIB_FORMATS = {
    ".ttl": "turtle",
    ".nt": "nt",
    ".rdf": "xml",
    ".jsonld": "json-ld",
    ".trig": "trig",
    ".nq": "nquads",
}


def write_graph(folder, name, text):
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("compression_suffix", ["", ".gz"])
@pytest.mark.parametrize("extension", sorted(RDFLIB_FORMATS))
def test_every_format_gives_the_same_graph(tmp_path, extension, compression_suffix):
    reference = rdflib.Graph().parse(data=TURTLE.replace("@EN", "@en"), format="turtle")
    if extension in {".trig", ".nq", ".jsonld"}:
        # rdflib loses the lexical form of numbers in JSON-LD, and its own code gives warnings when
        # it writes datasets. So pyoxigraph writes these formats.
        name = pyoxigraph.DefaultGraph()
        if extension != ".jsonld":
            name = pyoxigraph.NamedNode("http://e/g")
        triples = pyoxigraph.parse(reference.serialize(format="nt"), pyoxigraph.RdfFormat.N_TRIPLES)
        quads = [pyoxigraph.Quad(t.subject, t.predicate, t.object, name) for t in triples]
        rdf_format = pyoxigraph.RdfFormat.from_extension(extension[1:])
        data = pyoxigraph.serialize(quads, format=rdf_format)
    else:
        data = reference.serialize(format=RDFLIB_FORMATS[extension])
    graph = Graph.load(write_graph(tmp_path, f"g{extension}{compression_suffix}", data))
    assert isomorphic(graph.to_rdflib(), reference)
    assert len(graph) == len(reference) == len(list(graph.iter_claims()))
    merge_notes = [note for note in graph.notes if "named graph" in note]
    assert bool(merge_notes) == (extension in {".trig", ".nq"})


@pytest.mark.parametrize("name", ["g.owl", "g.rdf.gz", "g.xml"])
def test_turtle_named_like_xml_is_read(tmp_path, name):
    graph = Graph.load(write_graph(tmp_path, name, "# a note\n" + TURTLE))
    reference = Graph.load(write_graph(tmp_path, "g.ttl", TURTLE))
    assert list(graph.iter_claims()) == list(reference.iter_claims())
    shape = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n<http://e/s> a sh:NodeShape ."
    shape += "\n<http://e/s> sh:targetNode <http://e/a> ; sh:nodeKind sh:Literal ."
    shapes = Shapes.load(write_graph(tmp_path, "s-" + name, shape))
    assert [c.component for c in shapes.list_constraints()] == ["NodeKindConstraintComponent"]


@pytest.mark.parametrize("name", ["g.skos", "g", "g.owx.gz"])
@pytest.mark.parametrize("rdf_format", ["turtle", "xml"])
def test_files_of_other_extensions_are_read_as_what_they_begin_like(tmp_path, name, rdf_format):
    turtle = "@prefix e: <http://e/> .\ne:a e:p e:b ."
    data = rdflib.Graph().parse(data=turtle, format="turtle").serialize(format=rdf_format).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list_claims(path) == [Claim("http://e/a", "http://e/p", "http://e/b")]


def list_claims(path: Path) -> list[Claim]:
    index = Graph.load(path).index
    return [Claim(*map(index.terms.get_text, triple)) for triple in index.iter_triples()]


@pytest.mark.parametrize("padding", [0, 65_400, 65_500, 131_000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_ids_that_are_no_xml_names_are_read(tmp_path, padding, encoding):
    # Pathway Commons' BioPAX files have such as "x+genbank_1".
    path = tmp_path / "g.rdf"
    path.write_text(
        f"<?xml version='1.0' encoding='{encoding}'?><rdf:RDF xmlns:rdf='{RDF}' "
        f"xml:base='http://e/' xmlns:e='http://e/'><!--{'x' * padding}-->"
        '<e:T rdf:ID="a+b"/><e:T\n e:q="x"\n rdf:ID=\'1\'/><e:T rdf:ID="ok.1"/></rdf:RDF>',
        encoding,
    )
    subjects = {claim.subj for claim in list_claims(path)}
    assert subjects == {"http://e/#a+b", "http://e/#1", "http://e/#ok.1"}


def test_what_looks_like_an_id_in_texts_stays_as_it_is(tmp_path):
    path = tmp_path / "g.rdf"
    texts = ['<a rdf:ID="1">', 'say rdf:ID="1" here', ' rdf:ID="2"', "x>y rdf:ID='3'"]
    path.write_text(
        f"<rdf:RDF xmlns:rdf='{RDF}' xml:base='http://e/' xmlns:e='http://e/'>"
        f"<e:T rdf:ID='1'><e:q><![CDATA[{texts[0]}]]></e:q></e:T><!-- <e:T rdf:ID='1'> -->"
        f"<e:T rdf:about='t' e:q='{texts[1]}'><e:r>{texts[2]}</e:r></e:T>"
        f'<e:T e:q="{texts[3]}" rdf:ID="4"/></rdf:RDF>',
        "utf-8",
    )
    claims = list_claims(path)
    assert {c.obj for c in claims if c.pred != RDF_TYPE} == {write_literal(t) for t in texts}
    assert {c.subj for c in claims} == {"http://e/#1", "http://e/t", "http://e/#4"}


@pytest.mark.parametrize("value", ["#Foo", "http://e/x", " ok", ""])
def test_ids_that_are_mistakes_are_refused(tmp_path, value):
    path = tmp_path / "g.rdf"
    path.write_text(
        f"<rdf:RDF xmlns:rdf='{RDF}' xmlns:e='http://e/'><e:T rdf:ID='{value}'/></rdf:RDF>", "utf-8"
    )
    with pytest.raises(GraphSyntaxError, match="rdf:ID"):
        Graph.load(path)


@pytest.mark.parametrize("text", ["PREFIX e: <http://e/> SELECT * {}", "<https://e.org> is", "{}"])
def test_other_files_without_an_rdf_extension_are_refused(tmp_path, text):
    path = tmp_path / "q.rq"
    path.write_text(text, "utf-8")
    with pytest.raises(GraphFormatError):
        Graph.load(path)


def test_terms_are_kept_as_written(tmp_path):
    graph = Graph.load(write_graph(tmp_path, "g.ttl", TURTLE))
    objects = {claim.obj for claim in graph.iter_claims("http://e/p") if claim.subj == "http://e/a"}
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert objects == {
        "http://e/b",
        '"x"',
        '"y"@en',
        f'"1.00"^^<{xsd}decimal>',
        f'"01"^^<{xsd}integer>',
    }
    assert graph.prefixes["e"] == "http://e/"
    assert graph.has_claim(Claim("http://e/a", "http://e/p", '"x"'))
    assert not graph.has_claim(Claim("http://e/a", "http://e/p", '"z"'))
    assert list(graph.iter_claims("http://e/none")) == []


def test_rdflib_graph_drops_xsd_string_and_keeps_lexical_forms(tmp_path):
    xsd = "http://www.w3.org/2001/XMLSchema#"
    text = f'<http://a> <http://p> "x"^^<{xsd}string>, "1.00"^^<{xsd}decimal>, "q"@en--rtl .'
    rdflib_graph = Graph.load(write_graph(tmp_path, "g.ttl", text)).to_rdflib()
    values = {str(o): o for o in rdflib_graph.objects()}
    assert values["x"] == rdflib.Literal("x")
    assert values["1.00"].n3() == f'"1.00"^^<{xsd}decimal>'
    assert values["1.00"].toPython() == Decimal("1.00")
    assert values["q"].language == "en"


def test_blank_nodes_of_several_files_stay_distinct(tmp_path):
    first_file = write_graph(tmp_path, "a.ttl", '_:x <http://p> "1" .')
    second_file = write_graph(tmp_path, "b.ttl", '_:x <http://p> "2" . [] <http://p> "3" .')
    graph = Graph.load([first_file, second_file])
    assert len({claim.subj for claim in graph.iter_claims()}) == 3
    assert graph.sources == (first_file, second_file)
    # The same bytes give the same names, although the parser's labels for blank nodes are random.
    assert list(graph.iter_claims()) == list(Graph.load([first_file, second_file]).iter_claims())


def test_graph_hash_depends_on_the_bytes(tmp_path):
    first_file = write_graph(tmp_path, "a.ttl", '<http://a> <http://p> "1" .')
    second_file = write_graph(tmp_path, "b.ttl", '<http://a> <http://p> "2" .')
    assert Graph.load(first_file).sha256 != Graph.load(second_file).sha256
    assert (
        Graph.load([first_file, second_file]).sha256 != Graph.load([second_file, first_file]).sha256
    )
    gzip_file = write_graph(tmp_path, "a.ttl.gz", first_file.read_bytes())
    assert len(Graph.load(gzip_file).sha256) == 64


def test_hash_of_claims_ignores_order_and_repeats():
    a, b = Claim("http://a", "http://p", '"1"'), Claim("http://b", "http://p", "_:x")
    assert Graph.from_claims([a, b, a]).sha256 == Graph.from_claims([b, a]).sha256
    assert Graph.from_claims([a]).sha256 != Graph.from_claims([b]).sha256
    assert len(Graph.from_claims([a, b, a])) == 2
    assert len(Graph.from_claims([])) == 0


def test_syntax_error_names_path_line_and_column(tmp_path):
    path = write_graph(
        tmp_path, "bad.ttl", '<http://a> <http://p> "1" .\n<http://a> <http://p> .\n'
    )
    with pytest.raises(GraphSyntaxError) as exc_info:
        Graph.load(path)
    assert exc_info.value.where == f"{path}, line 2, column 23"


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("empty.ttl", b"", EmptyGraphError),
        ("comments.ttl", b"# nothing\n", EmptyGraphError),
        ("g.docx", b"x", GraphFormatError),
        ("noextension", b"x", GraphFormatError),
        ("g.rdf", b"<rdf:RDF", GraphSyntaxError),
        ("g.json", b"{", GraphSyntaxError),
        ("latin1.ttl", '<http://a> <http://p> "é" .'.encode("latin-1"), GraphSyntaxError),
        (
            "quoted.ttl",
            b"<http://a> <http://p> <<( <http://a> <http://p> 1 )>> .",
            EmptyGraphError,
        ),
    ],
)
def test_bad_files_have_named_errors(tmp_path, name, data, error):
    path = write_graph(tmp_path, name, data)
    with pytest.raises(error) as exc_info:
        Graph.load(path)
    assert name in exc_info.value.format_line()


def test_missing_files_and_empty_lists_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match="does not exist"):
        Graph.load(tmp_path / "no.ttl")
    with pytest.raises(MissingFileError, match="folder"):
        Graph.load(tmp_path)
    with pytest.raises(EmptyGraphError):
        Graph.load([])


def test_damaged_gzip_files_are_refused(tmp_path):
    archive = gzip.compress(b'<http://a> <http://p> "1" .' * 50)
    for number, data in enumerate(
        [archive[:-12], b"not gzip", archive[:20] + b"\0\0\0\0" + archive[24:]]
    ):
        path = tmp_path / f"g{number}.ttl.gz"
        path.write_bytes(data)
        with pytest.raises(GraphSyntaxError):
            Graph.load(path)


def test_size_limit_counts_unpacked_bytes(tmp_path):
    bomb = write_graph(tmp_path, "bomb.ttl.gz", b" " * 20_000_000)
    assert bomb.stat().st_size < 50_000
    with pytest.raises(GraphTooLargeError):
        Graph.load(bomb, max_bytes=1_000_000)
    plain_file = write_graph(tmp_path, "plain.ttl", '<http://a> <http://p> "1" .')
    with pytest.raises(GraphTooLargeError):
        Graph.load(plain_file, max_bytes=10)


XML = """<?xml version="1.0"?>{dtd}
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<rdf:Description rdf:about="http://a"><e:p>{text}</e:p></rdf:Description></rdf:RDF>"""


def test_ordinary_xml_entities_are_expanded(tmp_path):
    dtd = '<!DOCTYPE rdf:RDF [\n<!ENTITY e "http://e/">\n<!ENTITY f "http://f/&#x41;">\n]>'
    graph = Graph.load(write_graph(tmp_path, "g.rdf", XML.format(dtd=dtd, text="&e;&f;")))
    assert graph.has_claim(Claim("http://a", "http://e/p", '"http://e/http://f/A"'))


def make_nested_entities(quote):
    """Declares entities that each repeat the previous one ten times ("billion laughs")."""
    levels = "".join(f"<!ENTITY e{n} {quote}{f'&e{n - 1};' * 10}{quote}>" for n in range(1, 10))
    return f"<!ENTITY e0 'lol'>{levels}"


@pytest.mark.parametrize(
    "declarations",
    [
        make_nested_entities('"'),
        make_nested_entities("'"),
        "<!-- <a> -->" + make_nested_entities('"'),
        f"<!ENTITY e9 '{'x' * 5000}'>",
        "<!ENTITY % p '<!ENTITY e9 \"x\">'> %p;",
        "<!ENTITY e9 " + " " * 5000 + "'x'>",
    ],
    ids=["laughs", "single-quotes", "comment", "long", "parameter", "spaces"],
)
@pytest.mark.parametrize("compression_suffix", ["", ".gz"])
def test_multiplying_entities_are_refused(tmp_path, declarations, compression_suffix):
    # Regression test: pyoxigraph expands all entities, so 300 bytes became 3.6 GB of text.
    text = XML.format(dtd=f"<!DOCTYPE r [{declarations}]>", text="&e9;")
    with pytest.raises(GraphSyntaxError):
        Graph.load(write_graph(tmp_path, f"g.rdf{compression_suffix}", text))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 40), min_size=1), st.integers(0, 60))
def test_entity_guard_sees_declarations_across_blocks(sizes, padding):
    import io

    from kg.triples.stream_guards import EntityGuard

    # The padding and the sizes of reads move the declaration over the borders of blocks.
    data = b" " * padding + b'<!ENTITY a "&b;">' + b" " * 5000
    guard = EntityGuard(io.BytesIO(data), Path("x"))
    blocks = []

    def read_all():
        for size in sizes * 6000:
            blocks.append(guard.read(size))

    with pytest.raises(GraphSyntaxError):
        read_all()
    # The guard raises the error before it passes on the whole declaration.
    assert b'&b;">' not in b"".join(blocks)


@pytest.mark.parametrize("compression_suffix", ["", ".gz"])
@pytest.mark.parametrize("extension", sorted(RDFLIB_FORMATS))
def test_sha256_is_that_of_the_file(tmp_path, extension, compression_suffix):
    quad = pyoxigraph.Quad(*[pyoxigraph.NamedNode("http://e/x")] * 3)
    rdf_format = pyoxigraph.RdfFormat.from_extension(extension[1:])
    data = pyoxigraph.serialize([quad], format=rdf_format) + b"\n" * 9000
    path = write_graph(tmp_path, f"g{extension}{compression_suffix}", data)
    assert Graph.load(path).sha256 == sha256_file(path)


@pytest.mark.parametrize("compression_suffix", ["", ".gz"])
def test_prefixes_of_rdf_xml_are_known(tmp_path, compression_suffix):
    data = """<?xml version="1.0"?>
    <!DOCTYPE rdf:RDF [ <!ENTITY ex "http://e/"> ]>
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns='http://default/'
        xmlns:ex="&ex;" xmlns:e-2 = 'http://e/?a=1&amp;b='>
      <rdf:Description rdf:about="&ex;a"><ex:p rdf:resource="&ex;b"/></rdf:Description>
      <rdf:Description rdf:about="&ex;c"><z:q xmlns:z="http://z/" xmlns:ex="http://other/">x</z:q>
      </rdf:Description>
    </rdf:RDF>"""
    graph = Graph.load(write_graph(tmp_path, f"g.rdf{compression_suffix}", data))
    assert graph.prefixes == {
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "ex": "http://e/",
        "e-2": "http://e/?a=1&b=",
        "z": "http://z/",
    }


def test_remote_context_is_never_fetched(tmp_path, monkeypatch):
    import socket

    def refuse_connection(*_args, **_kwargs):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse_connection)
    data = '{"@context": "http://127.0.0.1:9/context", "@id": "http://a", "name": "x"}'
    with pytest.raises(GraphSyntaxError, match="nothing is downloaded"):
        Graph.load(write_graph(tmp_path, "remote.jsonld", data))
    imports = "<http://a> <http://www.w3.org/2002/07/owl#imports> <http://127.0.0.1:9/o> ."
    assert len(Graph.load(write_graph(tmp_path, "imports.ttl", imports))) == 1


def test_malformed_iris_are_kept(tmp_path):
    malformed_iri = "http://dbpedia.org/resource/http_//dbpedia.org/resource/Rhine"
    lines = (
        f"<{malformed_iri}> <http://p> <http://e/with space> .\n"
        "<http://e/%zz> <http://p> <http://e/|> .\n"
    )
    for name in ("g.ttl", "g.nt"):
        graph = Graph.load(write_graph(tmp_path, name, lines))
        assert graph.has_claim(Claim(malformed_iri, "http://p", "http://e/with space"))
        assert graph.has_claim(Claim("http://e/%zz", "http://p", "http://e/|"))


@pytest.mark.parametrize("name", ["g.ttl", "g.nt"])
def test_iris_cannot_imitate_other_terms(tmp_path, name):
    text = '<_:x> <http://p> <"lit"> .\n'
    (claim,) = Graph.load(write_graph(tmp_path, name, text)).iter_claims()
    assert claim.subj.startswith("file:///")
    assert claim.obj.startswith("file:///")


def test_relative_iris_do_not_depend_on_the_folder(tmp_path):
    claims = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = write_graph(tmp_path / folder, "g.ttl", "<> <#p> <x> .")
        claims.append(list(Graph.load(path).iter_claims()))
    assert claims[0] == claims[1] == [Claim("file:///g.ttl", "file:///g.ttl#p", "file:///x")]


def write_in_folders(tmp_path, texts):
    paths = [tmp_path / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return paths


def test_files_of_one_name_are_different_documents(tmp_path, monkeypatch):
    texts = {
        "in/a/m.ttl": "<#x> <#p> <other.ttl> .",
        "in/b/m.ttl": "<#x> <#p> <../a/m.ttl> .",
        "in/a/other.ttl": "<> <m.ttl#p> <http://e/x> .",
        "far.ttl": "<> <http://e/p> <http://e/y> .",
    }
    paths = write_in_folders(tmp_path, texts)
    claims = [
        Claim("file:///a/m.ttl#x", "file:///a/m.ttl#p", "file:///a/other.ttl"),
        Claim("file:///b/m.ttl#x", "file:///b/m.ttl#p", "file:///a/m.ttl"),
        Claim("file:///a/other.ttl", "file:///a/m.ttl#p", "http://e/x"),
        Claim("file:///far.ttl", "http://e/p", "http://e/y"),
    ]
    assert set(Graph.load(paths).iter_claims()) == set(claims)
    for folder in ("in", "in/a"):  # neither the current folder nor the way to a file matters
        monkeypatch.chdir(tmp_path / folder)
        near = [os.path.relpath(path) for path in paths]
        assert set(Graph.load(near[::-1]).iter_claims()) == set(claims)
    (tmp_path / "link").symlink_to(tmp_path / "in" / "a")
    assert set(Graph.load([tmp_path / "link" / "m.ttl", *paths[1:]]).iter_claims()) == set(claims)


@pytest.mark.parametrize(
    "names",
    [
        ["a/m.ttl", "b/n.ttl"],
        ["a/m.ttl", "a/m.ttl.gz"],
        ["a/m.nt", "b/m.nt", "c/n.ttl"],  # N-Triples has no relative IRIs
    ],
)
def test_bases_are_names_alone_if_these_differ(names):
    expected = [f"file:///{Path(name).name}" for name in names]
    assert choose_base_iris([Path(name) for name in names]) == expected


def test_a_file_above_others_of_its_name_keeps_its_base():
    names = ["m.ttl", "b/c d/m.ttl", "b/e/m.ttl", "b/e/m.ttl", "b/n.ttl"]
    ends = [name.removeprefix("file:///") for name in choose_base_iris([*map(Path, names)])]
    assert ends == ["m.ttl", "b/c%20d/m.ttl", "b/e/m.ttl", "b/e/m.ttl", "b/n.ttl"]


@pytest.mark.parametrize("name", ["g.n3", "g.N3.gz"])
def test_n3_is_read_as_turtle(tmp_path, name):
    graph = Graph.load(write_graph(tmp_path, name, TURTLE))
    reference = Graph.load(write_graph(tmp_path, "g.ttl", TURTLE))
    assert list(graph.iter_claims()) == list(reference.iter_claims())
    shapes = f"{SHACL} [] sh:targetSubjectsOf <http://p> ; sh:nodeKind sh:IRI ."
    assert Shapes.load(write_graph(tmp_path, name, shapes)).list_constraints()
    rule = "{ ?x <http://p> ?y } => { ?y <http://q> ?x } ."
    with pytest.raises(GraphSyntaxError, match="what N3 has beyond Turtle, such as rules"):
        Graph.load(write_graph(tmp_path, name, rule))


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(deadline=None)
@given(TEXT, st.sampled_from(["", "en", "de-AT"]), st.sampled_from(["", "http://e/type"]))
def test_literal_text_equals_that_of_pyoxigraph(lexical, language, datatype):
    text = write_literal(lexical, datatype, language)
    if language:
        expected = pyoxigraph.Literal(lexical, language=language)
    elif datatype:
        expected = pyoxigraph.Literal(lexical, datatype=pyoxigraph.NamedNode(datatype))
    else:
        expected = pyoxigraph.Literal(lexical)
    assert text == str(expected)
    assert parse_literal(text).lexical == lexical
    assert from_rdflib(to_rdflib(text)) == text


def test_malformed_datatypes_and_languages_are_kept():
    assert parse_literal('"x"^^<http://e/a>b>').datatype == "http://e/a>b"
    assert parse_literal('"x"@no language').language == "no language"
    assert to_rdflib('"x"@no language') == rdflib.Literal("x")


def test_parse_literal_refuses_other_text():
    for text in ("http://a", "_:b", '"open', '"x"^^http://no', '"x"@'):
        with pytest.raises(ValueError, match="N-Triples"):
            parse_literal(text)


def test_brackets_inside_json_strings_do_not_count_as_nesting(tmp_path):
    value = "[{" * 5_000 + '\\"' + "\\\\"
    path = write_graph(tmp_path, "g.jsonld", f'{{"@id": "http://a", "http://p": "{value}"}}')
    (claim,) = Graph.load(path).iter_claims()
    assert parse_literal(claim.obj).lexical == "[{" * 5_000 + '"\\'


FRAGMENTS = st.lists(
    st.sampled_from(
        [b"<http://a> ", b"<b> ", b"_:c ", b'"x" ', b"@en", b"^^", b". ", b"; ", b"[ ", b"] ",
         b"( ", b") ", b"@prefix e: <http://e/> . ", b"e:x ", b"{ ", b"} ", b"<< ", b">> ", b"1.5 ",
         b"\xff", b"\0", b'{"@id":"http://a","http://p":', b'["x",', b"]", b"}", b"<rdf:RDF ",
         b"<?xml version='1.0'?>", b"<!DOCTYPE x [", b"&lt;", b'"""', b"\n"]
    ),
    max_size=12,
).map(b"".join)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(sorted(FORMATS)), st.booleans(), st.binary(max_size=60) | FRAGMENTS)
def test_any_bytes_give_a_graph_or_an_epoche_error(
    tmp_path_factory, extension, is_compressed, data
):
    path = tmp_path_factory.getbasetemp() / f"fuzz{extension}{'.gz' if is_compressed else ''}"
    path.write_bytes(data)
    try:
        graph = Graph.load(path)
    except EpocheError:
        return
    assert len(graph) == len(list(graph.iter_claims())) > 0


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("deep.ttl", b"<http://a> <http://p> " + b"(" * 100_000),
        ("deep.ttl", b"<http://a> <http://p> " + b"[ <http://p> " * 100_000),
        ("deep.jsonld", b'{"http://p":' * 100_000),
        ("deep.jsonld", b'{"http://p":' * 5_000 + b"1" + b"}" * 5_000),
        ("deep.jsonld", b'{"http://p":' + b"[" * 50_000 + b"1" + b"]" * 50_000 + b"}"),
        ("deep.rdf", b"<a>" * 100_000),
    ],
)
def test_deep_nesting_does_not_crash(tmp_path, name, data):
    # Regression test: pyoxigraph's JSON-LD parser is recursive, and 5,000 levels overflowed the
    # stack of the process.
    with pytest.raises(GraphSyntaxError):
        Graph.load(write_graph(tmp_path, name, data))


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("encoding", ["ISO-8859-1", "utf-8", "UTF8", "windows-1252", "Shift_JIS"])
def test_rdf_xml_is_read_in_the_encoding_that_it_declares(
    tmp_path: Path, encoding: str, quote: str
) -> None:
    text = "カタカナ" if encoding == "Shift_JIS" else "Zürich"
    source = (
        f"<?xml version={quote}1.0{quote} encoding={quote}{encoding}{quote}?>\n"
        f"<!DOCTYPE rdf:RDF [ <!ENTITY e {quote}http://e/{quote}> ]>\n"
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="&e;">'
        f'<e:Town rdf:about="&e;z"><e:name>{text}</e:name></e:Town></rdf:RDF>'
    )
    path = tmp_path / "towns.rdf"
    path.write_bytes(source.encode(encoding))
    claims = set(Graph.load([path]).iter_claims())
    assert Claim("http://e/z", "http://e/name", f'"{text}"') in claims
    assert Claim("http://e/z", RDF_TYPE, "http://e/Town") in claims


def test_utf_16_is_read_and_only_the_doctype_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "towns.rdf"
    path.write_bytes(
        "<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE r [ <!ENTITY e 'http://e/'> ]>"
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="&e;">'
        "<e:T rdf:about=\"&e;z\"><e:name><![CDATA[<!ENTITY a 'b'> Zürich]]></e:name></e:T>"
        "</rdf:RDF>"
        "".encode("utf-16")
    )
    (claim,) = (c for c in Graph.load([path]).iter_claims() if c.pred == "http://e/name")
    assert claim.obj == "\"<!ENTITY a 'b'> Zürich\""


@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        *((name, "is unknown") for name in ("zip", "klingon", "rot13", "quopri", "base64")),
        ("ascii", "not in the encoding it declares"),
        ("utf-8", "towns"),
    ],
)
def test_a_wrong_encoding_names_the_file(tmp_path: Path, encoding: str, problem: str) -> None:
    path = tmp_path / "towns.rdf"
    path.write_bytes(f"<?xml version='1.0' encoding='{encoding}'?><a>\xfc</a>".encode("latin-1"))
    with pytest.raises(GraphSyntaxError, match=problem) as caught:
        Graph.load([path])
    assert "towns.rdf" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("a.ttl.bz2", b"BZh9", "unpack the file first"),
        ("a.ttl", '<http://e/a> <http://e/b> "caf\xe9" .'.encode("latin-1"), "iconv"),
    ],
)
def test_errors_say_how_to_make_a_file_readable(
    tmp_path: Path, name: str, content: bytes, advice: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((GraphFormatError, GraphSyntaxError)) as error:
        Graph.load(path)
    assert advice in error.value.hint


def test_an_address_is_no_file() -> None:
    with pytest.raises(MissingFileError) as error:
        Graph.load("https://example.org/sparql.ttl")
    assert "Nothing is downloaded" in error.value.hint
