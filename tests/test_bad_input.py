"""Tests that bad input to any command gives one error line, its exit code, and no file changes.

docs/reference/exit-codes.md lists the exit codes.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import (
    GRAPH,
    MAYORS,
    SHAPES,
    CommandResult,
    check_failure,
    check_usage_error,
    read_folder_bytes,
    run_epoche,
)

from kg.base import errors

GARBAGE = bytes(range(256)) * 40
SH = "@prefix sh: <http://www.w3.org/ns/shacl#> . "
CITY = "<https://epoche.example/mayors#City>"
MAYOR = "https://epoche.example/mayors#mayor"
HOSTILE = "\x1b[31m<script>\u202eevil\x07\x9b2J"


def write_file(path: str, content: str | bytes) -> str:
    Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# -- graphs and shapes -----------------------------------------------------------------------------

GRAPH_COMMANDS = (
    ("cards", "--num-per-type", 2, "--out", "cards.jsonl"),
    ("near-miss", "--num", 2, "--out", "cards.jsonl"),
    ("kg", "inspect", "--out", "report.html"),
    ("eval", "--cards", "cards.jsonl", "--system", "kg", "--out", "kg.jsonl"),
    ("audit", "cards.jsonl"),
    ("report", "--results", "kg.jsonl", "--metrics", "metrics.json", "--out", "report.html"),
)
"""Commands that read a graph and shapes; each test adds the flags ``--kg`` and ``--shapes``."""
CARDS_COMMAND = GRAPH_COMMANDS[0]
CARD_MAKING_COMMANDS = GRAPH_COMMANDS[:2]
CONVERT = r"which is not read \(o\.%s\)\. Convert it to Turtle: `robot convert"
OWL_XML = (
    '<?xml version="1.0"?>\n<!DOCTYPE Ontology [\n<!ENTITY o "http://o#">\n]>\n<!-- <rdf:RDF> -->\n'
    '<Ontology xmlns="http://www.w3.org/2002/07/owl#"\n ontologyIRI="http://o">'
    '<Declaration><Class IRI="#A"/></Declaration></Ontology>'
)
GRAPHS = {
    "OWL/XML": ("o.owl", OWL_XML, 20, "is OWL/XML, " + CONVERT % "owl"),
    "OWL/XML in UTF-16": ("o.rdf", OWL_XML.encode("utf-16"), 20, "is OWL/XML"),
    "OWL/XML, packed": ("o.owx.gz", gzip.compress(OWL_XML.encode()), 20, "is OWL/XML"),
    "functional syntax": (
        "o.ofn",
        "# by hand\n\nPrefix(:=<http://o#>)\nOntology(<http://o>\nDeclaration(Class(:A)))",
        20,
        "is OWL functional syntax, " + CONVERT % "ofn",
    ),
    "Manchester syntax": (
        "o.owl",
        "\ufeffPrefix: : <http://o#>\nOntology: <http://o>\nClass: A\n  SubClassOf: B",
        20,
        "is OWL Manchester syntax, " + CONVERT % "owl",
    ),
    "OBO": (
        "o.obo",
        "! terms\nformat-version: 1.2\nontology: o\n\n[Term]\nid: O:1\nname: cell\n",
        20,
        "is OBO, " + CONVERT % "obo",
    ),
    "Turtle with another name": (
        "o.jsonld.gz",
        gzip.compress(b"# x\n@prefix a: <http://x/> .\na:b a:c a:d ."),
        20,
        r"is Turtle or N-Triples, but its name says otherwise .*end in \.ttl\.gz",
    ),
    "RDF/XML with another name": (
        "o.ttl",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>",
        20,
        r"is RDF/XML, but its name says otherwise .*end in \.rdf",
    ),
    "missing": ("gone.ttl", None, 3, r"graph file does not exist \(gone\.ttl\)\. Check"),
    "a folder": (".", None, 3, r"is a folder"),
    "syntax": (
        "bad.ttl",
        "@prefix a: <x:> .\na:b a:c .\n",
        4,
        r"bad\.ttl, line 2, column 9\)\. Correct",
    ),
    "long token": ("long.ttl", b"x" * 10_000_000, 4, r"line 1, column 1"),
    "garbage": ("garbage.ttl", GARBAGE, 4, "line 1, column 1"),
    "garbage, packed": ("garbage.nt.gz", GARBAGE, 4, "damaged gzip"),
    "cut off, packed": ("cut.ttl.gz", gzip.compress(b"<x:a> <x:b> 1 ." * 99)[:-9], 4, "gzip"),
    "garbage XML": ("garbage.rdf", GARBAGE, 4, "does not parse"),
    "stray text in XML": (
        "stray.rdf",
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="x:">\n'
        '<rdf:Description rdf:about="x:a"><a:b>1</a:b>></rdf:Description>\n</rdf:RDF>',
        4,
        r"stray\.rdf, not after line 3\)",
    ),
    "garbage JSON": ("garbage.jsonld", GARBAGE, 4, "does not parse"),
    "deep JSON": ("deep.jsonld", "[" * 9_999, 4, "nests deeper"),
    "garbage quads": ("garbage.nq", GARBAGE, 4, "does not parse"),
    "empty": ("empty.ttl", "", 5, r"no triples \(empty\.ttl\)"),
    "comments only": ("comment.ttl", "# nothing\n", 5, "no triples"),
    "unknown format": ("graph.bin", GARBAGE, 20, "Known extensions: .ttl"),
    "no format": ("graph", GARBAGE, 20, "no extension"),
    "gzip bomb": ("bomb.nt.gz", gzip.compress(b"<x:a> <x:b> <x:c> .\n" * 2_400_000), 21, "bomb"),
}
"""Test case → name and content of a graph file, expected exit code, pattern of the message."""


@pytest.mark.parametrize("case", GRAPHS)
def test_unreadable_graph_is_reported(workspace: Path, case: str) -> None:
    name, content, code, message = GRAPHS[case]
    if content is not None:
        write_file(name, content)
    check_failure(
        workspace, code, *CARDS_COMMAND, "--kg", name, "--shapes", SHAPES, message=message
    )


@pytest.mark.parametrize("command", GRAPH_COMMANDS, ids=lambda command: command[0])
def test_every_graph_command_names_the_bad_file(
    workspace: Path, command: tuple[object, ...]
) -> None:
    bad_file = write_file("bad.ttl", "<x:a> <x:b> ")
    check_failure(
        workspace, 3, *command, "--kg", "gone.ttl", "--shapes", SHAPES, message="gone.ttl"
    )
    check_failure(
        workspace,
        3,
        *command,
        "--kg",
        GRAPH,
        "--shapes",
        "gone.ttl",
        message="shapes file does not",
    )
    check_failure(
        workspace,
        4,
        *command,
        "--kg",
        bad_file,
        "--shapes",
        SHAPES,
        message="bad.ttl, line 1, column",
    )
    check_failure(
        workspace,
        5,
        *command,
        "--kg",
        write_file("no.ttl", ""),
        "--shapes",
        SHAPES,
        message="no.ttl",
    )
    check_failure(workspace, 8, *command, "--kg", GRAPH, "--shapes", bad_file, message="bad.ttl")
    if command[0] != "kg":  # `epoche kg inspect` needs no shapes.
        check_failure(
            workspace,
            7,
            *command,
            "--kg",
            write_file("another.ttl", "<x:a> <x:b> <x:c> ."),
            message="with --shapes",
        )
    check_failure(workspace, 10, *command, "--domain", "mayor", message='Did you mean "mayors"')


SHAPES_FILES = {
    "no targets": ("", 7, "no shape with a target"),
    "a graph": ("<x:a> <x:b> <x:c> .", 7, r"no SHACL shapes.*\(s\.ttl\)\. .*--kg"),
    "syntax": (SH + "x", 8, r"s\.ttl:1:\d+\)\. Correct"),
    "functional syntax": ("Ontology(<x:o>)", 8, "is OWL functional syntax, which is not read"),
    "unknown term": (
        SH + f"<x:s> a sh:NodeShape ; sh:targetClass {CITY} ; sh:maxCoun 3 .",
        8,
        r"sh:maxCoun is not a SHACL term .* Did you mean sh:maxCount\?",
    ),
    "ill-formed": (
        SH
        + f"<x:s> a sh:PropertyShape ; sh:targetClass {CITY} ; sh:path <x:p> ; sh:maxCount true .",
        8,
        "non-negative integer.*x:s",
    ),
    "pattern": (
        SH + f'<x:s> a sh:PropertyShape ; sh:targetClass {CITY} ; sh:path <x:p> ; sh:pattern "(" .',
        8,
        "not a regular expression",
    ),
    "SPARQL": (
        SH + f'<x:s> a sh:NodeShape ; sh:targetClass {CITY} ; sh:sparql [ sh:select "SELEC" ] .',
        8,
        "SPARQL constraint does not parse",
    ),
    "deep": (
        SH
        + f"<x:s> a sh:NodeShape ; sh:targetClass {CITY} ; sh:not "
        + "[ sh:not " * 3_000
        + "[]"
        + " ]" * 3_000
        + " .",
        8,
        "nested deeper",
    ),
    "garbage": (GARBAGE, 8, "do not parse"),
}
"""Test case → content of a shapes file, expected exit code, pattern of the message."""


@pytest.mark.parametrize("case", SHAPES_FILES)
def test_unusable_shapes_are_reported(workspace: Path, case: str) -> None:
    content, code, message = SHAPES_FILES[case]
    file = write_file("s.ttl", content)
    check_failure(workspace, code, *CARDS_COMMAND, "--kg", GRAPH, "--shapes", file, message=message)


@pytest.mark.parametrize("command", CARD_MAKING_COMMANDS, ids=lambda command: command[0])
def test_shapes_given_as_graph_are_reported(workspace: Path, command: tuple[object, ...]) -> None:
    message = r"has SHACL shapes and no facts .*--kg, and the SHACL file with --shapes"
    check_failure(workspace, 5, *command, "--kg", SHAPES, "--shapes", SHAPES, message=message)


@pytest.mark.parametrize("command", CARD_MAKING_COMMANDS, ids=lambda command: command[0])
def test_unknown_predicate_suggests_the_nearest(
    workspace: Path, command: tuple[object, ...]
) -> None:
    for predicate in ("mayr", f"{MAYOR}s", "mayors"):
        check_failure(
            workspace,
            6,
            *command,
            "--domain",
            "mayors",
            "--pred",
            predicate,
            message=f"Nearest: {MAYOR}",
        )
    check_failure(
        workspace, 6, *command, "--domain", "mayors", "--pred", "", message="The graph has: "
    )
    check_failure(
        workspace, 6, *command, "--domain", "mayors", "--pred", HOSTILE, message="does not occur"
    )


@pytest.mark.parametrize("command", CARD_MAKING_COMMANDS, ids=lambda command: command[0])
def test_nodes_that_break_the_shapes_are_left_out_or_refused(
    workspace: Path, command: tuple[object, ...]
) -> None:
    graph = write_file("two.ttl", GRAPH.read_text("utf-8") + "\n:vienna cm:mayor :x1, :x2 .\n")
    files = ("--kg", graph, "--shapes", SHAPES)
    message = r"violates its shapes once, first: A city had only one mayor.*vienna \(two\.ttl\)"
    check_failure(workspace, 9, *command, *files, "--strict", message=message)
    result = run_epoche(*command[:-1], "new.jsonl", *files)
    assert result.code == 0, result.err
    assert "nodes that break the shapes are left out, 1 in all" in result.err
    assert "1 × A city had only one mayor" in result.err
    cards = Path("new.jsonl").read_text("utf-8")
    assert "vienna" not in cards
    result = run_epoche(*command[:-1], "new.jsonl", *files, "--allow-violations")
    assert result.code == 0, result.err
    assert "break the shapes" not in result.err


def check_no_control_codes(done: CommandResult) -> None:
    for text in (done.out, done.err):
        controls = {char for char in text if unicodedata.category(char) == "Cc"} - {"\n", "\t"}
        assert not controls
        assert "\u202e" not in text


def test_hostile_text_of_a_graph_never_reaches_the_terminal(workspace: Path) -> None:
    hostile_label = f'"{HOSTILE}\\nmore"'
    text = GRAPH.read_text("utf-8")
    graph = write_file(
        "h.ttl",
        text
        + f"\ncm:mayor rdfs:label {hostile_label} . cm:City rdfs:label {hostile_label} .\n"
        + f"<https://epoche.example/{HOSTILE[:6]}> a cm:City ; rdfs:label {hostile_label} .\n",
    )
    shapes = write_file(
        "h.shacl.ttl", SHAPES.read_text("utf-8").replace('"A city had', f'"{HOSTILE} A')
    )
    files = ("--kg", graph, "--shapes", shapes)
    for command in GRAPH_COMMANDS[:3]:  # the commands that read no cards
        result = run_epoche(*command, *files)
        assert result.code == 0, result.err
        check_no_control_codes(result)
    text_result = run_epoche("kg", "inspect", *files)
    check_no_control_codes(text_result)
    assert "<script>" in text_result.out
    json_result = run_epoche("kg", "inspect", "--json", *files)
    check_no_control_codes(json_result)
    assert "\x1b" in json.dumps(json.loads(json_result.out)).encode().decode("unicode_escape"), (
        "JSON must contain the control code, escaped"
    )
    for name in ("cards.jsonl", "other.jsonl"):
        check_no_control_codes(run_epoche("eval", "--cards", name, "--system", HOSTILE))
    violating_graph = write_file(
        "two.ttl", Path(graph).read_text("utf-8") + "\n:vienna cm:mayor :x1, :x2 .\n"
    )
    check_failure(
        workspace,
        9,
        *CARDS_COMMAND,
        "--strict",
        "--kg",
        violating_graph,
        "--shapes",
        shapes,
        message="<script>",
    )


def test_message_with_a_megabyte_of_text_is_cut() -> None:
    error = errors.RecordError("a" * 10**6, where="/x/" * 10**5 + "end.ttl", hint="\x1b[2J" * 9999)
    line = error.format_line()
    assert len(line) < 2_200
    assert "end.ttl)" in line
    assert "\x1b" not in line


# -- domains and numbers ---------------------------------------------------------------------------

DOMAINS = {
    "unknown key": (lambda text: 'nam = "x"\n' + text, 10, 'unknown key nam .*mean "name"'),
    "unknown word": (
        lambda text: text.replace('label = "mayor"', 'lable = "mayor"'),
        10,
        r'unknown key predicates\."cm:mayor"\.lable .*mean "label"',
    ),
    "template": (lambda text: text.replace("{{ subj }}", "{{ subj", 1), 10, "mayor.*fact"),
    "file gone": (lambda text: text.replace('"mayors.ttl"', '"gone.ttl"'), 3, "gone.ttl"),
    "no shapes": (lambda text: 'name = "x"\ngraph = ["mayors.ttl"]\nshapes = []', 7, "--shapes"),
    "not TOML": (lambda text: "name = [1,\nb", 10, "not valid TOML.*Correct"),
    "deep TOML": (lambda text: "name = " + "[" * 9_999, 10, "nested too deeply"),
    "garbage": (lambda text: None, 10, "not valid TOML"),
    "empty": (lambda text: "", 10, "name"),
}
"""Test case → change of a domain file (``None`` means garbage), exit code, pattern of message."""


@pytest.mark.parametrize("case", DOMAINS)
def test_unusable_domain_file_is_reported(workspace: Path, case: str) -> None:
    change, code, message = DOMAINS[case]
    for name in ("mayors.ttl", "mayors.shacl.ttl"):
        write_file(name, (MAYORS / name).read_bytes())
    text = change((MAYORS / "domain.toml").read_text("utf-8"))
    file = write_file("domain.toml", GARBAGE if text is None else text)
    check_failure(workspace, code, *CARDS_COMMAND, "--domain", file, message=message)


def test_folder_without_a_domain_file_is_reported(workspace: Path) -> None:
    message = r"the folder has no domain\.toml \(\.\)\. .*mayors, rivers"
    check_failure(workspace, 10, *CARDS_COMMAND, "--domain", ".", message=message)


@pytest.mark.parametrize(
    "arguments",
    [
        ("cards", "--num-per-type", 0),
        ("cards", "--num-per-type", "many"),
        ("cards", "--nope"),
        ("cards", "--out"),
        ("near-miss", "--num", -1),
        ("eval", "--cards", "cards.jsonl"),
        ("eval", "--cards", "cards.jsonl", "--system", "kg", "--out", "x", "--limit", 0),
        ("metrics",),
        ("metrics", "--results", "kg.jsonl", "--policy", "kind"),
        ("metrics", "--results", "kg.jsonl", "--resamples", 1),
        ("compare", "--out", "c.json"),
        ("report", "--out", "r.html"),
        ("audit",),
        ("nonsense",),
        ("schema",),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_wrong_command_line_exits_with_2(workspace: Path, arguments: tuple[object, ...]) -> None:
    old_files = read_folder_bytes(workspace)
    check_usage_error(run_epoche(*arguments))
    assert read_folder_bytes(workspace) == old_files


@pytest.mark.parametrize(
    ("command_name", "flag"),
    [("cards", "--num-per-type"), ("near-miss", "--num")],
    ids=["cards", "near"],
)
def test_quota_that_cannot_be_filled_is_reported(
    workspace: Path, command_name: str, flag: str
) -> None:
    command = (command_name, "--domain", "mayors", flag, 3_000)
    check_failure(
        workspace,
        11,
        *command,
        "--strict",
        "--out",
        "cards.jsonl",
        message=r"could not make \d+ .*of 3000",
    )
    result = run_epoche(*command, "--out", "many.jsonl")
    assert result.code == 0
    assert re.search(r"^warning: could not make \d+", result.err, re.MULTILINE)
    # `cards` was asked for 3,000 cards of each of three labels.
    assert 0 < len(Path("many.jsonl").read_text("utf-8").splitlines()) < 9_000


def test_quota_without_any_card_is_reported(workspace: Path) -> None:
    unknown_subject = (
        "cards",
        "--domain",
        "mayors",
        "--subj-hint",
        "Zanzibar",
        "--out",
        "cards.jsonl",
    )
    check_failure(workspace, 11, *unknown_subject, message="could not make")
    numeric_strategy = (
        "near-miss",
        "--domain",
        "mayors",
        "--strategy",
        "numeric",
        "--out",
        "cards.jsonl",
    )
    check_failure(workspace, 11, *numeric_strategy, message="numeric")


def test_unknown_option_values_are_reported(workspace: Path) -> None:
    cards = ("cards", "--domain", "mayors", "--out", "cards.jsonl")
    near_miss = ("near-miss", "--domain", "mayors", "--out", "cards.jsonl")
    report = ("report", "--results", "kg.jsonl", "--metrics", "metrics.json", "--out", "r.html")
    check_failure(workspace, 10, *cards, "--regime", "owl", message="none, rdfs, owl-rl")
    check_failure(workspace, 10, *cards, "--kinds", "nonsense", message="nonsense.*functional")
    check_failure(workspace, 10, *cards, "--kinds", "functonal", message='mean "functional"')
    check_failure(workspace, 10, *near_miss, "--strategy", "nonsense", message="sibling")
    check_failure(workspace, 10, *cards, "--pred-label", "mayor", message="Give one --pred")
    check_failure(workspace, 19, *report, "--formats", "pdf", message="html, csv, md, json")
    check_failure(workspace, 19, "schema", "cart", message="card, result, manifest")
