"""Tests that templates compiled to Python functions render, or fail, exactly as in Jinja2."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import TemplateError

from kg.base import templates
from kg.base.expressions import compile_output

ERRORS = (TemplateError, TypeError, ValueError, LookupError, AttributeError)
_texts = st.sampled_from(["", "a", " Sea", "the ", "River", "x y", "%s", "{", "é", "Ä", "\n"])
_literals = _texts.map(repr) | st.sampled_from(["0", "1", "true", "false", "none"])
_atoms = st.sampled_from(["label", "iri"]) | _literals
_methods = st.sampled_from(
    [
        "{}.lower()",
        "{}.split(' ')",
        "{}.split(' ')[0]",
        "{}.startswith(('R', 'the '))",
        "{}.endswith({})",
        "{}.removeprefix({})",
        "{}.isupper()",
        "{}[0]",
        "{}[5]",
    ]
)


def _extend_expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        ["and", "or", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "~", "+"]
    )
    return st.one_of(
        st.tuples(inner, binary, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, st.just("if"), inner).map(lambda t: f"({t[0]} if {t[2]})"),
        inner.map(lambda operand: f"(not {operand})"),
        st.tuples(_methods, inner, inner).map(lambda t: f"({t[0].format(t[1], t[2])})"),
        st.tuples(inner, st.lists(_literals, max_size=3)).map(
            lambda t: f"({t[0]} in [{', '.join(t[1])}])"
        ),
        inner.map(lambda operand: f"({operand} | upper)"),
    )


_expressions = st.recursive(_atoms, _extend_expressions, max_leaves=8)
_sources = st.lists(
    st.sampled_from(["the ", " of ", "50 % ", ". "]) | _expressions.map(lambda e: f"{{{{ {e} }}}}"),
    min_size=1,
    max_size=3,
).map("".join)


@settings(deadline=None, max_examples=400)
@given(_sources, _texts, _texts)
def test_rendering_equals_jinja(source: str, label: str, iri: str) -> None:
    tree = templates._ENVIRONMENT.parse(source)
    output = compile_output(tree)
    if output is None:
        return  # The template is not compiled; Jinja2 itself renders it.
    values = {"label": label, "iri": iri}
    try:
        expected: str | None = templates._ENVIRONMENT.from_string(source).render(values)
    except ERRORS:
        expected = None
    try:
        actual: str | None = output(values)
    except ERRORS:
        actual = None
    assert actual == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ '' if label.split(' (')[0].endswith((' Creek', ' Brook')) else 'the ' }}{{ label }}",
        "{{ 'the ' if label in ('Gambia', 'Sudan') or ' of the ' in label else '' }}{{ label }}",
        "a {{ label ~ 1 ~ none }}",
    ],
)
def test_common_templates_are_compiled_without_jinja(source: str) -> None:
    output = compile_output(templates._ENVIRONMENT.parse(source))
    assert output is not None
    for label in ("Gambia", "Bear Creek (a)", "Bear", "Isle of the West"):
        values = {"label": label, "iri": "i"}
        assert output(values) == templates._ENVIRONMENT.from_string(source).render(values)


@pytest.mark.parametrize(
    "source",
    ["{{ label | an }}", "{% if label %}x{% endif %}", "{{ label if iri }}", "{{ label[1:] }}"],
)
def test_unsupported_templates_are_not_compiled(source: str) -> None:
    assert compile_output(templates._ENVIRONMENT.parse(source)) is None
