"""Tests of ``domain.toml``: what it may contain, and that errors name the file and the key."""

import re
from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.base.errors import DomainError
from kg.base.plain_text import clean_text
from kg.base.templates import MAX_SENTENCE_LENGTH, compile_template, escape_template
from kg.claims import Claim
from kg.domain import list_shipped_domains, load_domain, make_adhoc_domain
from kg.knowledge import KnowledgeBase
from kg.words.default_sentences import make_default_wording

DOMAIN_TEXT = """
name = "pets"
graph = ["pets.ttl"]
shapes = ["pets.shacl.ttl"]
[prefixes]
p = "https://example.org/"
[naming]
"p:Dog" = "{{ label | title }}"
[predicates."p:owns"]
label = "pet"
fact = "{{ subj }} owns {{ obj }}."
denied = "{{ subj }} does not own {{ obj }}."
questions = ["Does {{ subj }} own {{ obj }}?"]
synonyms = ["keeps"]
[[rule]]
id = "one"
text = "One owner each."
predicates = ["p:owns"]
shapes = ["p:OneOwner"]
axioms = [["p:owns", "owl:inverseOf", "p:ownedBy"], ["p:owns", "a", "owl:ObjectProperty"]]
"""


def write_domain(folder: Path, text: str) -> Path:
    file = folder / "domain.toml"
    file.write_text(text, encoding="utf-8")
    return file


def load_invalid_domain(folder: Path, text: str) -> str:
    """Returns the error line that loading the domain gives."""
    file = write_domain(folder, text)
    with pytest.raises(DomainError) as exc_info:
        load_domain(file)
    assert str(file) in exc_info.value.where
    return exc_info.value.format_line()


def test_domain_is_read_from_a_folder_or_a_file(tmp_path: Path) -> None:
    file = write_domain(tmp_path, DOMAIN_TEXT)
    domain = load_domain(tmp_path)
    assert load_domain(str(file)) == domain
    assert domain.graph_files == (tmp_path / "pets.ttl",)
    assert domain.predicates["https://example.org/owns"].synonyms == ("keeps",)
    assert domain.naming == {"https://example.org/Dog": "{{ label | title }}"}
    (rule,) = domain.rules
    assert rule.shapes == ("https://example.org/OneOwner",)
    assert rule.axioms[0] == Claim(
        "https://example.org/owns",
        "http://www.w3.org/2002/07/owl#inverseOf",
        "https://example.org/ownedBy",
    )
    assert rule.axioms[1].pred.endswith("#type")
    assert (domain.regime, domain.unique_names, domain.languages) == ("owl-rl", True, ("en",))


def test_curies_are_expanded_and_compacted(tmp_path: Path) -> None:
    domain = load_domain(write_domain(tmp_path, DOMAIN_TEXT))
    assert domain.expand_iri("p:owns") == "https://example.org/owns"
    assert domain.expand_iri("<p:owns>") == "p:owns"
    assert domain.expand_iri("https://example.org/x") == "https://example.org/x"
    assert domain.expand_iri("urn:x:1") == "urn:x:1"
    with pytest.raises(DomainError, match="prefix 'q'"):
        domain.expand_iri("q:owns")
    with pytest.raises(DomainError, match="not an IRI"):
        domain.expand_iri("owns")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "pets"', 'nmae = "pets"', 'unknown key nmae.*Did you mean "name"'),
        ('label = "pet"', 'lable = "pet"', r'unknown key predicates."p:owns".lable.*"label"'),
        ('id = "one"', 'idd = "one"', "unknown key rule 1.idd"),
        ('name = "pets"', "name = 3", "Expected `str`"),
        ('name = "pets"', "", "missing required field `name`"),
        ('name = "pets"', 'name = "pets', "not valid TOML"),
        ('name = "pets"', 'name = "p"\nregime = "owl-full"', "owl-full"),
        ('"p:Dog"', '"q:Dog"', 'naming."q:Dog"'),
        ("{{ subj }} owns", "{{ sbj }} owns", r'predicates."p:owns".fact.*It may use subj'),
        ("{{ subj }} owns", "{{ subj }", r'predicates."p:owns".fact'),
        ("{{ subj }} owns", "{{ subj | nosuch }}", r'predicates."p:owns".fact'),
        ("{{ label | title }}", "{{ label[99].lower() }}", 'naming."p:Dog"'),
        ("{{ subj }} owns {{ obj }}.", "  ", "renders to empty text"),
        ('["Does {{ subj }} own {{ obj }}?"]', "[]", "no question"),
        ("own {{ obj }}?", "own {{ objj }}?", r"questions\[0\]"),
        ('text = "One owner each."', 'text = " "', "has no text.*rule 'one'"),
        ('predicates = ["p:owns"]', "predicates = []", "has no predicates.*rule 'one'"),
        ('"p:ownedBy"]', '"z:ownedBy"]', "prefix 'z'.*rule 'one'"),
        (
            '[[rule]]\nid = "one"',
            '[[rule]]\nid = "one"\ntext = "x"\npredicates = ["p:owns"]\n[[rule]]\nid = "one"',
            "two rules have the id 'one'",
        ),
    ],
)  # fmt: skip
def test_each_mistake_has_its_error_message(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in DOMAIN_TEXT
    error_line = load_invalid_domain(tmp_path, DOMAIN_TEXT.replace(old, new, 1))
    assert re.search(message, error_line), error_line


@pytest.mark.parametrize(
    "template",
    [
        "{% for x in range(10) %}{{ subj }}{% endfor %}",
        "{{ subj.__class__ }}",
        "{{ subj.format(1) }}",
        "{{ 'x' * 1000000000 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ subj | attr('__class__') }}",
        "{% include 'x' %}",
        "{% macro m() %}{% endmacro %}",
        "{{ cycler(1) }}",
        "{{ self }}",
        "x" * 2_001,
    ],
)
def test_templates_cannot_loop_or_reach_python(template: str) -> None:
    with pytest.raises(DomainError, match=r"here"):
        compile_template(template, {"subj": "S"}, "here")


@pytest.mark.parametrize(
    "lines",
    [
        ["{% set x = 'aaaaaaaa' %}", *["{% set x = x ~ x %}"] * 40, "{{ subj }}{{ x[:1] }}"],
        ["{% set x = subj %}", *["{% set x = x + x %}"] * 30, "{{ x }}"],
        ["{% set x = [subj] %}", *["{% set x = x + x %}"] * 30, "{{ x[0] }}"],
        ["{% set x = subj %}", *["{% set x = (x ~ x) if obj else x %}"] * 30, "{{ x }}"],
        ["{{ subj" + ".upper()" * 60 + " }}"],
    ],
)
def test_templates_cannot_fill_the_memory(lines: list[str]) -> None:
    with pytest.raises(DomainError, match="may become longer than 100,000 characters"):
        compile_template("".join(lines), {"subj": "Rhine", "obj": "Sea"}, "here")
    render = compile_template(
        "{% set x = subj ~ ' and ' ~ obj %}{{ x | an }}", {"subj": "Aare", "obj": "Sea"}, "here"
    )
    assert render(subj="Aare", obj="Sea") == "an Aare and Sea"


def test_template_output_is_never_rendered_again() -> None:
    render = compile_template("{{ subj }}!", {"subj": "S"}, "here")
    assert render(subj="{{7*7}} {% x %}") == "{{7*7}} {% x %}!"


@pytest.mark.parametrize("text", ["plain", "{{7*7}}", "{% if %}", "a'b\"c{", "{# 🦕 \u2028"])
def test_escaped_text_renders_unchanged(text: str) -> None:
    render = compile_template("[" + escape_template(text) + "]", {}, "here")
    assert render() == " ".join(f"[{text}]".split())


def test_missing_and_unreadable_domains_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match='Did you mean "rivers"'):
        load_domain("river")
    with pytest.raises(DomainError, match="no such domain"):
        load_domain(tmp_path / "nowhere")
    with pytest.raises(DomainError, match=r"the folder has no domain\.toml"):
        load_domain("..")
    (tmp_path / "domain.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DomainError, match="not valid TOML"):
        load_domain(tmp_path)
    (tmp_path / "domain.toml").write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    with pytest.raises(DomainError, match="4 MiB"):
        load_domain(tmp_path)


def test_shipped_domains_load() -> None:
    assert "rivers" in list_shipped_domains()
    for name in list_shipped_domains():
        domain = load_domain(name)
        assert domain.name == name
        required_files = (
            domain.shapes_files if domain.built_by else domain.graph_files + domain.shapes_files
        )
        assert all(file.is_file() for file in required_files)
        assert domain.license


def test_adhoc_domain_is_named_after_its_graph_file() -> None:
    domain = make_adhoc_domain(["a/b.ttl.gz"], ["s.ttl"])
    assert domain.name == "b"
    assert domain.shapes_files == (Path("s.ttl"),)
    assert make_adhoc_domain([], []).name == "graph"


def test_documented_example_loads(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "domain-toml.md"
    example = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    domain = load_domain(write_domain(tmp_path, example))
    assert domain.predicates[domain.expand_iri("p:owns")].inverse_synonyms == ("belongs to",)
    assert domain.rules[0].axioms


@pytest.mark.parametrize(
    "source", ["{{ subj }} is 5 % of {{ obj }}%s.", "{{subj}}\n{{ obj }}\n", "%"]
)
def test_simple_templates_render_as_in_jinja(source):
    values = {"subj": "{{ obj }} %s", "obj": "{% if %}"}
    render = compile_template(source, values, "here")
    assert render(**values) == clean_text(jinja2.Template(source).render(values))


@given(
    pieces=st.lists(
        st.one_of(
            st.sampled_from(
                ["{{ subj }}", "{{ obj }}", "{{obj}}", "%s", "{", "}", "{#", "#}", "\n"]
            ),
            st.text(max_size=6),
        ),
        max_size=14,
    )
)
def test_any_text_around_variables_renders_as_in_jinja(pieces: list[str]) -> None:
    """Most templates are compiled without Jinja2; what it renders or refuses must be the same."""
    source, values = "".join(pieces), {"subj": "{{ obj }} %s", "obj": "B {% if %}"}
    try:
        expected = clean_text(jinja2.Template(source).render(values), MAX_SENTENCE_LENGTH)
    except jinja2.TemplateError:
        expected = ""
    if expected:
        assert compile_template(source, values, "here")(**values) == expected
    else:
        with pytest.raises(DomainError):
            compile_template(source, values, "here")


def test_a_label_suffices_to_word_a_predicate(tmp_path: Path) -> None:
    (tmp_path / "pets.ttl").write_text('<urn:a> <https://example.org/owns> "x" .', "utf-8")
    (tmp_path / "pets.shacl.ttl").write_text(
        "<urn:s> <http://www.w3.org/ns/shacl#targetNode> <urn:a> .", "utf-8"
    )
    start = DOMAIN_TEXT.split("fact = ")[0]
    text = start.replace("[naming]\n", "").replace('"p:Dog" = "{{ label | title }}"\n', "")
    file = write_domain(tmp_path, text.replace('"pet"', '"date of birth"'))
    wording = KnowledgeBase.open(file).verbaliser.get_wording("https://example.org/owns")
    expected = make_default_wording("date of birth", single_valued=True)
    assert (wording.fact, wording.denied) == (expected.fact, expected.denied)
    assert wording.questions == expected.questions
    # What is given is kept, and an empty list of questions is a mistake.
    file = write_domain(tmp_path, f'{text}questions = ["Own {{{{ subj }}}} {{{{ obj }}}}?"]')
    wording = KnowledgeBase.open(file).verbaliser.get_wording("https://example.org/owns")
    assert wording.questions == ("Own {{ subj }} {{ obj }}?",)
    with pytest.raises(DomainError, match="no question template"):
        load_domain(write_domain(tmp_path, f"{text}questions = []"))


def test_naming_predicates_name_entities(tmp_path: Path) -> None:
    (tmp_path / "pets.ttl").write_text('<urn:a> <https://example.org/call> "Rex" .', "utf-8")
    (tmp_path / "pets.shacl.ttl").write_text(
        "<urn:s> <http://www.w3.org/ns/shacl#targetNode> <urn:a> .", "utf-8"
    )
    text = 'naming_predicates = ["p:call"]\n' + DOMAIN_TEXT.split("[naming]")[0]
    assert KnowledgeBase.open(write_domain(tmp_path, text)).labels.get_label("urn:a") == "Rex"
