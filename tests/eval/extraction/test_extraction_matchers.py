"""Tests the matchers of field values against manually computed scores."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from eval.extraction.matchers.amounts import (
    Amount,
    are_ambiguous_amounts,
    find_amount_rule,
    parse_amount,
    parse_decimal,
)
from eval.extraction.matchers.dates import parse_moment
from eval.extraction.matchers.match_result import LENIENT_RULES
from eval.extraction.matchers.schema_nodes import check_matchers, get_schema_plan
from eval.extraction.matchers.strings import MAX_EDIT_LENGTH, edit_distance
from eval.extraction.matchers.value_comparison import coerce_value, compare_values, is_same_json
from eval.extraction.settings import SPECIFICATION_MATCHING, Matching
from kg.base.errors import SchemaError


def compare_field(
    expected: Any, predicted: Any, matching: Matching = SPECIFICATION_MATCHING, **schema: Any
) -> tuple[bool, float]:
    """Returns whether two values are strictly equal under a field schema, and their score.

    The default is the specification's reading; ``test_extraction_spellings.py`` tests the rules.

    ``schema`` holds the keywords of the field schema; ``x_match`` stands for ``x-match``.
    """
    object_schema = {"type": "object", "properties": {"field": {key.replace("_", "-"): value
             for key, value in schema.items()}}}  # fmt: skip
    field_plan = get_schema_plan(object_schema).root.get_child("field")
    is_right, score, _, rule = compare_values(field_plan, expected, predicted, matching)
    return is_right and rule not in LENIENT_RULES, score


def vary_specification(**changes: Any) -> Matching:
    return msgspec.structs.replace(SPECIFICATION_MATCHING, **changes)


# -- texts: .5 token F1 + .3 Levenshtein + .2 containment -------------------------------------


@pytest.mark.parametrize(
    ("expected", "predicted", "score"),
    [
        # Tokens {"san", "francisco,", "ca"} and {"san", "francisco"} share one: F1 = 2/5. The edit
        # distance is 4 of 17. The contained text has 13 of 17 characters.
        ("San Francisco, CA", "San Francisco", 0.5 * 2 / 5 + 0.3 * (1 - 4 / 17) + 0.2 * 13 / 17),
        # The same texts swapped: the prediction contains the expected text, so containment is 1.
        ("San Francisco", "San Francisco, CA", 0.5 * 2 / 5 + 0.3 * (1 - 4 / 17) + 0.2),
        # {software, engineer} and {engineer}: F1 = 2/3; distance 9 of 17; 8 of 17 characters.
        ("software engineer", "engineer", 0.5 * 2 / 3 + 0.3 * 8 / 17 + 0.2 * 8 / 17),
        # {dr., sarah, johnson} and {sarah, johnson}: F1 = 4/5; distance 4 of 17.
        ("Sarah Johnson", "Dr. Sarah Johnson", 0.5 * 4 / 5 + 0.3 * 13 / 17 + 0.2),
        # No token is shared and neither text contains the other; the edit distance is 3 of 7.
        ("kitten", "sitting", 0.3 * 4 / 7),
        ("", "x", 0.0),
        ("x", "", 0.0),
    ],
)
def test_composite_score_of_texts(expected: str, predicted: str, score: float) -> None:
    assert compare_field(expected, predicted, type="string") == (
        False,
        pytest.approx(score, abs=1e-12),
    )


@pytest.mark.parametrize(
    ("expected", "predicted"),
    [
        ("TechCorp", "techcorp"),
        ("a  b\n", "a b"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "stra\u00dfe"),
        ("\u0130zmir", "i\u0307zmir"),
        ("", ""),
        ("\ud800", "\ud800"),
    ],
)
def test_texts_that_are_equal_after_normalisation(expected: str, predicted: str) -> None:
    assert compare_field(expected, predicted, type="string") == (True, 1.0)
    assert compare_field(expected, predicted, x_match="exact") == (True, 1.0)


def test_normalisation_settings_are_applied() -> None:
    case_sensitive = vary_specification(case_sensitive=True)
    assert compare_field("TechCorp", "techcorp", case_sensitive, type="string") == (False, 1.0)
    assert compare_field("TechCorp", "techcorp", case_sensitive, x_match="exact") == (False, 0.0)
    exact_whitespace = vary_specification(normalize_whitespace=False)
    equal, score = compare_field("a  b", "a b", exact_whitespace, type="string")
    # The tokens are equal, the edit distance is 1 of 4, and neither text contains the other.
    assert (equal, score) == (False, pytest.approx(0.5 + 0.3 * 3 / 4))


def test_weights_of_the_composite_are_divided_by_their_sum() -> None:
    tokens = vary_specification(token_weight=2.0, levenshtein_weight=0.0, containment_weight=0.0)
    assert compare_field("a b", "a c", tokens, type="string")[1] == pytest.approx(0.5)
    tokens_and_edits = vary_specification(
        token_weight=1.0, levenshtein_weight=3.0, containment_weight=0.0
    )
    assert compare_field("a b", "a c", tokens_and_edits, type="string")[1] == pytest.approx(
        0.25 / 2 + 0.75 * 2 / 3
    )


def test_fuzzy_texts_are_equal_from_the_threshold_on() -> None:
    assert compare_field("colour chart", "color chart", x_match="fuzzy") == (False, 1.0)  # 11 of 12
    assert compare_field("colour", "collar", x_match="fuzzy") == (False, pytest.approx(4 / 6))
    assert compare_field("Colour", "colour", x_match="fuzzy") == (True, 1.0)
    lower_threshold = vary_specification(string_fuzzy_threshold=0.6)
    assert compare_field("colour", "collar", lower_threshold, x_match="fuzzy") == (False, 1.0)


def test_edit_distance_of_long_texts_is_an_upper_bound() -> None:
    long_text = "ab" * (MAX_EDIT_LENGTH // 2)
    assert edit_distance(long_text + "tail", long_text + "tail") == 0
    # The true distance is 1; the bound may be greater, but never smaller.
    assert edit_distance(long_text + "tail", long_text + "nail") == 4
    assert edit_distance("x" + long_text, long_text) <= 3
    assert edit_distance(long_text, long_text[:-1]) == 1


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "predicted", "result"),
    [
        (100, 80, (False, 0.8)),
        (100, 120, (False, 0.8)),
        (-100, -150, (False, 0.5)),
        (100, 250, (False, 0.0)),
        (100.0, 100, (True, 1.0)),
        (100, 100.05, (False, 1.0)),  # within a thousandth
        (100, 104, (False, 0.9499)),  # .96, limited to just below .95, because the numbers differ
        (1.0, 1.0000005, (False, 1.0)),  # within a thousandth, but not float noise
        (0.1 + 0.2, 0.3, (True, 1.0)),
        (0, 0.0, (True, 1.0)),
        (0, 1e-9, (False, 0.0)),
        (0, 1, (False, 0.0)),
        (5, -5, (False, 0.0)),
        (math.inf, math.inf, (True, 1.0)),
        (math.inf, 1.0, (False, 0.0)),
        (1.0, math.inf, (False, 0.0)),
        (math.nan, math.nan, (True, 1.0)),
        (math.nan, 1.0, (False, 0.0)),
        (10**400, 10**400, (True, 1.0)),
        (10**400, 1.5, (False, 0.0)),
        (10**400, 9 * 10**399, (False, 0.9)),
        (1.5, 10**400, (False, 0.0)),
    ],
)
def test_numeric_score_falls_with_the_relative_error(
    expected: float, predicted: float, result: tuple[bool, float]
) -> None:
    equal, score = compare_field(expected, predicted, type="number")
    assert (equal, score) == (result[0], pytest.approx(result[1]))


def test_whole_numbers_are_exact() -> None:
    assert compare_field(35, 35, type="integer") == (True, 1.0)
    assert compare_field(35, 36, type="integer") == (False, 0.0)
    assert compare_field(10**30, 10**30 + 1, type="integer") == (False, 0.0)
    assert compare_field(35, 35.0, type="integer") == (True, 1.0)
    assert compare_field(35, 36, type="integer", x_match="numeric") == (False, 0.9499)


def test_a_field_has_its_own_tolerance() -> None:
    assert compare_field(200, 210, type="number") == (False, 0.9499)
    assert compare_field(200, 210, type="number", x_tolerance=0.05) == (False, 1.0)
    assert compare_field(200, 210.1, type="number", x_tolerance=0.05) == (False, 0.9495)
    # Integers must be equal unless the schema gives a tolerance.
    assert compare_field(200, 210, type="integer", x_tolerance=0.05) == (False, 1.0)
    assert compare_field(200, 210, type="integer") == (False, 0.0)
    assert compare_field(200, 210, type="integer", x_tolerance=0.05, x_match="exact") == (
        False,
        0.0,
    )


@pytest.mark.parametrize(
    ("expected", "predicted", "score"),
    [
        ("12 kg", "12.0 KG", 1.0),
        ("$1,234.50", "$ 1234.5", 1.0),
        ("1.234,50 \u20ac", "1234.5 \u20ac", 1.0),
        ("12 kg", "12 g", 0.0),
        ("approx. 10 kg", "Approx. 8 kg", 0.8),
        ("RM 12.50", "RM 12.5", 1.0),
        ("$10", "€10", 0.0),
        ("$10", "USD 8", 0.8),
        ("$10", "10", 0.5),
        ("1.500 €", "1.5 €", 0.0),
        ("1.500 €", "1.500 €", 1.0),
        ("-10 kg", "(10 kg)", 1.0),
        ("1.2 million", "1,200,000", 1.0),
        ("12 kg", "12", 0.5),
        ("10 kg", "8 kg", 0.8),
        ("1.2.3,4,5 kg", "1.2.3,4,5  kg", 1.0),
        ("about a dozen", "About a  dozen", 1.0),
        ("about a dozen", "12", 0.0),
    ],
)
def test_quantities_in_texts(expected: str, predicted: str, score: float) -> None:
    assert compare_field(expected, predicted, type="string", x_match="numeric")[1] == score


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("900 G", "900 g", True),  # a text in capitals
        ("3,40 M", "3,40 m", False),  # molar, metres
        ("1,000 t", "1,000 T", False),
        ("5 Nm", "5 nm", False),
        ("0.1 M NaCl", "0.1 m NaCl", False),
        ("0.1M NaCl", "0.1m NaCl", False),
        ("5 M NaCl", "5 m NaCl", False),
        ("take 5 Mg daily", "take 5 mg daily", False),
        ("10 S", "10 s", False),
        ("3 H", "3 h", False),
        ("5 T", "5 t", False),
        ("5 B", "5 b", False),
        ("256 gb", "256 Gb", False),
        ("256 GB", "256 gb", True),
        ("64 kb", "64 kB", False),
        ("100 mbps", "100 MBps", False),
        ("100 mbps", "100 Mbps", True),
        ("CO", "Co", False),
        ("NO", "No", True),
        ("Mg", "mg", False),
        ("mM", "MM", False),
        ("No", "no", True),
        ("GO", "Go", True),
        ("DE", "de", True),
        ("KG", "kg", True),
        ("M", "m", True),  # a sex, or a size
        ("5 M EUR", "5 m EUR", True),
        ("12 A MAIN ROAD", "12 a main road", True),
        ("2 MIN WALK", "2 min walk", True),
        ("1 cal", "1 Cal", False),  # that of food is a kilocalorie
        ("5 mW", "5 MW", False),
        ("5 ML", "5 ml", False),
        ("5 mM", "5 mm", False),  # millimolar, millimetre
        ("5 kN", "5 kn", False),
        ("5 Gb", "5 GB", False),
        ("Power: 5 mW", "POWER: 5 MW", False),
        ("10 KG", "10 kg", True),
        ("5 KM", "5 km", True),
        ("5 KM/H", "5 km/h", True),
        ("5 L", "5 l", True),
        ("3 CAL", "3 Cal", True),
        ("5 MM", "5 mm", True),  # nobody means megamolars
        ("250 MG", "250 mg", True),
        ("5 Min", "5 min", True),
        ("5 mA", "5 ma", True),
        ("50 M²", "50 m²", True),
        ("30 K", "30 k", True),  # thousands
        ("5 PM", "5 pm", True),
        ("12 May", "12 may", True),
        ("3 Apples", "3 apples", True),
        ("12A", "12a", True),
        ("Main Road 12 A", "main road 12 a", True),
    ],
)
def test_case_tells_units_apart_that_are_different_ones(
    first: str, second: str, is_same: bool
) -> None:
    for expected, predicted in ((first, second), (second, first)):
        for matching in (SPECIFICATION_MATCHING, Matching()):
            for x_match in ("partial", "exact"):
                found = compare_field(expected, predicted, matching, type="string", x_match=x_match)
                assert found[0] is is_same, (expected, x_match, matching.rules)


@pytest.mark.parametrize(
    ("first", "second"), [("5 mW", "5 MW"), ("0.1 M NaCl", "0.1 m NaCl"), ("Mg", "mg")]
)
def test_case_counts_in_elements_of_lists(first: str, second: str) -> None:
    for matching in (SPECIFICATION_MATCHING, Matching()):
        texts = {"type": "array", "items": {"type": "string"}}
        assert not compare_field([first], [second], matching, **texts)[0]
        assert compare_field(["5 kg", "x"], ["5 KG", "X"], matching, **texts)[0]
        assert compare_field(["Room 2A", "x"], ["room 2a", "X"], matching, **texts)[0]


@pytest.mark.parametrize(
    ("first", "second"), [("ab", "AB"), ("a", "a "), ("ﬁ", "fi"), ("a  b", "a b"), ("é", "e\u0301")]
)
def test_every_character_counts_in_a_literal_text(first: str, second: str) -> None:
    items = {"type": "string", "x-match": "literal"}
    for expected, predicted in ((first, second), (second, first)):
        assert not compare_field(expected, predicted, type="string", x_match="literal")[0]
        assert compare_field(expected, expected, type="string", x_match="literal")[0]
        assert not compare_field([expected], [predicted], type="array", items=items)[0]


@pytest.mark.parametrize(
    ("expected", "predicted", "score"),
    [("10 s", "10 S", 0.0), ("12 M", "12 m", 0.0), ("12 KG", "12 kg", 1.0), ("5M", "5m", 0.0)],
)
def test_case_tells_the_units_of_quantities_apart(
    expected: str, predicted: str, score: float
) -> None:
    assert compare_field(expected, predicted, type="string", x_match="numeric")[1] == score


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ("250 Cal", "250 kcal", "units"),
        ("250 Cal", "250 cal", ""),
        ("250.0 MG", "250 mg", "numbers"),
        ("10.0 S", "10 s", ""),
        ("3.0 Boxes", "3 boxes", "numbers"),
        ("5 KM", "5000 m", "units"),
    ],
)
def test_units_are_converted_as_they_are_written(first: str, second: str, rule: str) -> None:
    amounts = [amount for text in (first, second) if (amount := parse_amount(text))]
    assert find_amount_rule(*amounts) == rule


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234", 1234.0),
        ("1.234", 1.234),
        ("12,5", 12.5),
        ("1,234,567", 1234567.0),
        ("1.234.567", 1234567.0),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("1'234", 1234.0),
        ("1 234", 1234.0),
        ("1.2.3,4,5", None),
        ("", None),
    ],
)
def test_common_number_formats_are_parsed(text: str, number: float | None) -> None:
    found = parse_decimal(text)
    assert (None if found is None else float(found)) == number


@pytest.mark.parametrize(
    ("percent", "plain", "same"),
    [
        ("5%", "5", True),
        ("5%", "0.05", True),
        ("150%", "1.5", True),
        ("100%", "1", True),
        ("0.5%", "0.005", True),
        ("0%", "0", True),
        ("0.5%", "0.5", False),
        ("1%", "1", False),
        ("-0.5%", "-0.5", False),
        ("5%", "0.5", False),
    ],
)
def test_a_number_is_not_read_as_a_percentage_a_hundred_times_too_small(
    percent: str, plain: str, same: bool
) -> None:
    first, second = parse_amount(percent), parse_amount(plain)
    assert first is not None
    assert second is not None
    for pair in ((first, second), (second, first)):
        assert bool(find_amount_rule(*pair)) == same
        if not same:
            assert are_ambiguous_amounts(*pair) == (first.number == second.number)


def test_texts_without_a_single_quantity_are_not_numbers() -> None:
    assert parse_amount("2 by 4") is None
    assert parse_amount("none") is None
    assert parse_amount("9" * 5_000) is None
    assert parse_amount("5 %") == Amount(Decimal(5), "", percent=True, unit="")


# -- dates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "predicted"),
    [
        ("2024-01-05", "January 5, 2024"),
        ("2024-01-05", "5th of January 2024"),
        ("2024-01-05", "5.1.2024"),
        ("2024-01-05", "05. Januar 2024"),
        ("2024-01-05", "5 janvier 2024"),
        ("2024-01-05", "5 de enero de 2024"),
        ("2024-01-15", "15/01/2024"),
        ("2024-01-15", "01/15/2024"),
        ("2024-01-05", "20240105"),
        ("2024-03", "March 2024"),
        ("2024-01-05T10:00:00Z", "2024-01-05 11:00:00+01:00"),
        ("2024-01-05T22:30", "5 Jan 2024, 10:30 pm"),
    ],
)
def test_equal_dates_match_in_any_format(expected: str, predicted: str) -> None:
    assert compare_field(expected, predicted, format="date") == (True, 1.0)
    assert compare_field(predicted, expected, format="date") == (True, 1.0)


@pytest.mark.parametrize(
    ("expected", "predicted", "score"),
    [
        ("2024-01-05", "2024-01-06", 2 / 3),
        ("2024-01-05", "2024-02-06", 1 / 3),
        ("2024-01-05", "1999-12-31", 0.0),
        ("2024-01-05", "2024-01", 2 / 3),
        ("2024-01-05T10:00:00Z", "2024-01-05", 3 / 4),
        ("2024-01-05T10:00:00Z", "2024-01-05T11:00:00Z", 3 / 4),
    ],
)
def test_dates_with_equal_parts_score_partially(
    expected: str, predicted: str, score: float
) -> None:
    assert compare_field(expected, predicted, format="date") == (False, pytest.approx(score))


def test_dates_within_their_tolerance_of_days() -> None:
    date_schema = {"format": "date", "x_tolerance": 2}
    assert compare_field("2024-02-28", "2024-03-01", **date_schema) == (False, 1.0)
    assert compare_field("2024-02-28", "2024-03-02", **date_schema)[1] < 0.95
    assert compare_field("2024-02", "2024-03", **date_schema) == (False, 0.5)


@pytest.mark.parametrize(
    "text",
    ["05/06/2024", "2024-02-30", "2024-13-01", "32 January 2024", "soon", "", "5 May 6 June 2024",
     "25:00", "0000-01-01", "12:30 12:30", "2024-01-05T10:00:00+24:00", "1" * 10_000, "13:00 pm"],
)  # fmt: skip
def test_texts_without_a_single_date_are_not_dates(text: str) -> None:
    assert parse_moment(text) is None


def test_invalid_dates_are_compared_as_text() -> None:
    assert compare_field("next Tuesday", "Next  tuesday", format="date") == (True, 1.0)
    assert 0 < compare_field("next Tuesday", "on Tuesday", format="date")[1] < 0.95


def test_times_of_day_are_compared() -> None:
    assert compare_field("14:30:00", "2:30 PM", format="time") == (True, 1.0)
    assert compare_field("14:30:00", "14:31:00", format="time") == (False, 0.0)


# -- e-mail addresses, URIs, UUIDs, telephone numbers and enumerated values ----------------------


@pytest.mark.parametrize(
    ("schema", "expected", "predicted", "score"),
    [
        ({"format": "email"}, "sarah.j@hospital.org", "mailto:Sarah.J@Hospital.org", 1.0),
        ({"format": "email"}, "sarah.j@hospital.org", "sarah@hospital.org", 0.0),
        ({"format": "uri"}, "https://example.org", "HTTPS://Example.org:443/", 1.0),
        ({"format": "uri"}, "https://example.org/a", "https://example.org/A", 0.0),
        ({"format": "uri"}, "example.org", "example.org/", 1.0),
        ({"format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000",
         "{123E4567-E89B-12D3-A456-426614174000}", 1.0),
        ({"x_match": "phone"}, "+1-555-0123", "+1 (555) 0123", 1.0),
        ({"x_match": "phone"}, "+49 30 1234567", "0049 (0)30 1234567", 1.0),
        ({"x_match": "phone"}, "+49 30 1234567", "030 1234567", 0.75),
        ({"x_match": "phone"}, "+49 30 1234567", "30 1234568", 0.0),
        ({"x_match": "phone"}, "+1 555 0123 ext. 4", "+1 555 0123 x4", 1.0),
        ({"x_match": "phone"}, "+1 555 0123 ext. 4", "+1 555 0123", 0.0),
        ({"x_match": "phone"}, "reception", "reception", 1.0),
        ({"x_match": "phone"}, "reception", "front desk", 0.0),
        ({"x_match": "phone"}, "1-800-FLOWERS", "1-800-CALLNOW", 0.0),
        ({"x_match": "phone"}, "1-800-FLOWERS", "1 800 356 9377", 1.0),
        ({"x_match": "phone"}, "1-800-FLOWERS", "1-800-flowers", 1.0),
        ({"x_match": "phone"}, "0800 FLOWERS", "0800", 0.0),
        ({"x_match": "phone"}, "0800 FLOWERS", "0800 3569377", 1.0),
        ({"x_match": "phone"}, "555-0123 A", "555-0123 B", 0.0),
        ({"x_match": "phone"}, "1-800-GO-FEDEX", "1-800-463-3339", 1.0),
        ({"x_match": "phone"}, "Tel.: +1 555 0123", "+1 555 0123 (mobile)", 1.0),
        ({"x_match": "phone"}, "555-0123 доб", "555-0123", 0.0),
        ({"x_match": "enum"}, "Open", "open", 1.0),
        ({"enum": ["open", "shut"]}, "open", "shut", 0.0),
        ({"format": "ipv4"}, "10.0.0.1", "10.0.0.2", 0.0),
    ],
)  # fmt: skip
def test_spelling_variants_are_compared(
    schema: dict[str, Any], expected: str, predicted: str, score: float
) -> None:
    assert compare_field(expected, predicted, **schema)[1] == score


# -- arrays of scalars ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "expected", "predicted", "result"),
    [
        # One of three is missing: 2 shared of 3.
        ({}, ["a", "b", "c"], ["a", "b"], (False, 2 / 3)),
        ({}, ["a", "b"], ["a", "b", "c"], (False, 2 / 3)),
        # In reverse, only one element is in order: 1 shared of 3 + 3 - 1.
        ({}, ["a", "b", "c"], ["c", "b", "a"], (False, 1 / 5)),
        ({"x_match": "set"}, ["a", "b", "c"], ["c", "b", "a"], (True, 1.0)),
        ({"x_match": "set"}, ["a", "b"], ["a", "a", "b"], (True, 1.0)),
        ({"x_match": "set"}, ["a", "b"], ["b", "c"], (False, 1 / 3)),
        ({"x_match": "bag"}, ["a", "b"], ["b", "a"], (True, 1.0)),
        ({"x_match": "bag"}, ["a", "b"], ["a", "a", "b"], (False, 2 / 3)),
        ({"uniqueItems": True}, ["a", "b"], ["b", "a"], (True, 1.0)),
        ({}, ["San  Francisco"], ["san francisco"], (True, 1.0)),
        ({}, [1, 2], [1.0, 2.0], (True, 1.0)),
        ({}, [1, 0], [True, False], (False, 0.0)),
        ({}, [1], ["1"], (False, 0.0)),
        ({}, [0.1 + 0.2], [0.3], (True, 1.0)),
        ({}, [None, "a"], ["a"], (False, 1 / 2)),
        ({"items": {"format": "date"}}, ["2024-01-05"], ["5 January 2024"], (True, 1.0)),
    ],
)  # fmt: skip
def test_arrays_of_scalars_are_compared(
    schema: dict[str, Any], expected: list[Any], predicted: list[Any], result: tuple[bool, float]
) -> None:
    equal, score = compare_field(expected, predicted, type="array", **schema)
    assert (equal, score) == (result[0], pytest.approx(result[1]))


def test_unordered_arrays_are_compared_as_bags() -> None:
    unordered_matching = vary_specification(ordered_arrays=False)
    assert compare_field(["a", "b"], ["b", "a"], unordered_matching, type="array") == (True, 1.0)
    assert (
        compare_field(["a", "b"], ["b", "a"], unordered_matching, type="array", x_match="list")[0]
        is False
    )


def test_long_arrays_are_compared_in_bounded_time() -> None:
    expected = [f"{number}" for number in range(30_000)]
    predicted = [*expected[:10_000], "new", *expected[10_000:]]
    assert compare_field(expected, predicted, type="array")[1] == pytest.approx(30_000 / 30_001)


# -- types ---------------------------------------------------------------------------------------


def test_values_of_different_types_score_zero() -> None:
    for expected, predicted in ((35, "35"), ("35", 35), (True, 1), (1, True), (True, "true")):
        assert compare_field(expected, predicted) == (False, 0.0)
    assert compare_field(["a"], "a") == (False, 0.0)
    assert compare_field(True, False) == (False, 0.0)


def test_lenient_coercion_converts_types() -> None:
    lenient = vary_specification(coercion="lenient")
    for expected, predicted in ((35, "35"), (1.5, " 1.5 "), (True, "True"), ("35", 35)):
        assert compare_field(expected, predicted, lenient) == (True, 1.0)
    assert compare_field(35, "thirty-five", lenient) == (False, 0.0)
    assert compare_field(35, "9" * 5_000, lenient) == (False, 0.0)
    assert compare_field(True, 1, lenient) == (False, 0.0)
    assert coerce_value("1e3", float) == 1000.0
    assert coerce_value(None, str) is None


def test_equal_json_matches_at_any_depth() -> None:
    nested_integer: Any = 1
    nested_float: Any = 1.0
    for _ in range(50_000):
        nested_integer, nested_float = [nested_integer], [nested_float]
    assert is_same_json(nested_integer, nested_float)
    assert not is_same_json([nested_integer], nested_float)
    assert not is_same_json({"a": 1}, {"a": True})
    assert not is_same_json({"a": 1}, {"b": 1})
    assert not is_same_json([1, 2], [1, 3])
    assert is_same_json([math.nan], [math.nan])


# -- settings in a schema ------------------------------------------------------------------------


def test_unknown_matcher_is_refused_with_the_nearest_name() -> None:
    schema = {"type": "object", "properties": {"a": {"x-match": "numerc"}}}
    with pytest.raises(SchemaError, match="numerc") as error_info:
        check_matchers(schema)
    assert error_info.value.where == "/properties/a"
    assert "numeric" in error_info.value.hint
    with pytest.raises(SchemaError):
        get_schema_plan(schema)


@pytest.mark.parametrize("tolerance", [-1, "a", True, math.inf, None])
def test_tolerance_must_be_a_number(tolerance: Any) -> None:
    with pytest.raises(SchemaError):
        check_matchers({"properties": {"a": {"x-tolerance": tolerance}}})


def test_property_may_have_the_name_of_the_keyword() -> None:
    check_matchers({"type": "object", "properties": {"x-match": {"type": "string"}}})


def test_matcher_settings_are_found_through_references() -> None:
    schema = {
        "$defs": {"day": {"type": "string", "format": "date"}},
        "type": "object",
        "properties": {
            "at": {"$ref": "#/$defs/day"},
            "or": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/day"}]},
        },
    }
    root = get_schema_plan(schema).root
    assert (root.get_child("at").text_matcher, root.get_child("or").text_matcher) == (
        "date",
        "date",
    )
    assert root.get_child("or").nullable


@pytest.mark.parametrize(
    "invalid_settings",
    [
        {"exact": 0.4},
        {"lenient": 0.0},
        {"exact": 1.5},
        {"token_weight": -1.0},
        {"token_weight": 0.0, "levenshtein_weight": 0.0, "containment_weight": 0.0},
        {"epsilon": -1.0},
        {"numeric_tolerance": math.nan},
        {"string_fuzzy_threshold": 0.0},
    ],
)
def test_invalid_settings_are_refused(invalid_settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Matching(**invalid_settings)  # type: ignore[arg-type]
