"""Pairs of spellings of one value, and pairs of different values that look alike.

Written from what people who check extractions accept and refuse, not from the rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """An expected and a predicted value of a field with a schema."""

    expected: Any
    predicted: Any
    schema: dict[str, Any]


STRING: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
INTEGER: dict[str, Any] = {"type": "integer"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
DATE: dict[str, Any] = {"type": "string", "format": "date"}
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}

TEN_HARMLESS = [
    Case("Sotheby's Realty", "Sotheby’s Realty", STRING),
    Case("(555) 123-4567", "555-123-4567", STRING),
    Case("DE89 3704 0044 0532 0130 00", "DE89370400440532013000", STRING),
    Case("2024-01-05", "January 5, 2024", DATE),
    Case("$1,200.00", "1200", STRING),
    Case("ACME Corp", "ＡＣＭＥ Ｃｏｒｐ", STRING),
    Case(["red", "green", "blue"], ["blue", "red", "green"], TEXTS),
    Case(1, "1", INTEGER),
    Case("Acme Corporation", "ACME CORPORATION", STRING),
    Case(None, "", STRING),
]
"""The ten spellings of the comparison with other scorers."""

HARMLESS = [
    *TEN_HARMLESS,
    Case("P.O. Box 125, Dover", "PO Box 125 Dover", STRING),
    Case("1427 Sample Drive, Washington, DC", "1427 Sample Drive Washington, DC", STRING),
    Case("Smith & Sons, Inc.", "Smith and Sons Inc", STRING),
    Case("pages 10–12", "pages 10-12", STRING),
    Case("New\u00a0York", "New York", STRING),
    Case("co-\u200bfounder", "co-founder", STRING),
    Case("“Quoted” title", '"Quoted" title', STRING),
    Case("ﬁnal oﬀer", "final offer", STRING),
    Case("Straße", "STRASSE", STRING),
    Case("2024-01-05", "05.01.2024", STRING),
    Case("2024-01-05", "5 janvier 2024", STRING),
    Case("2024-01-05", "5. Januar 2024", STRING),
    Case("2024-01-05", "Friday, January 5th, 2024", STRING),
    Case("2024-01-05", "05-Jan-24", STRING),
    Case("2024-01-25", "01/25/2024", STRING),
    Case("2024-01-05", "2024-01-05T00:00:00Z", DATE),
    Case("01/02/2024", "1-2-2024", STRING),
    Case("06/2013", "June 2013", STRING),
    Case(1200, "$1,200.00", NUMBER),
    Case("€1.234,56", "1,234.56 EUR", STRING),
    Case("1 234,56 €", "€1234.56", STRING),
    Case("CHF 1'250.00", "1250 CHF", STRING),
    Case("12,34,567.00", "1234567", STRING),
    Case("USD 5", "$5", STRING),
    Case("(1,200.00)", "-1200", STRING),
    Case("−5", "-5", STRING),
    Case("1.2 million USD", "$1,200,000", STRING),
    Case("$1.2M", "$1,200,000", STRING),
    Case("2024年1月5日", "2024-01-05", STRING),
    Case("5%", "0.05", STRING),
    Case("5 %", "5 percent", STRING),
    Case("12 kg", "12 kilograms", STRING),
    Case("1 km", "1000 m", STRING),
    Case("20 °C", "68 °F", STRING),
    Case("100 km/h", "100 kph", STRING),
    Case("+49 (0)30 1234567", "+49 30 1234567", STRING),
    Case("+1 (555) 123-4567", "+1 555 123 4567", STRING),
    Case("978-3-16-148410-0", "9783161484100", STRING),
    Case("31-1440073", "311440073", STRING),
    Case("AB 123-456", "AB-123-456", STRING),
    Case("Info@Example.org", "mailto:info@example.org", STRING),
    Case("https://example.org/a/", "example.org/a", STRING),
    Case(True, "yes", BOOLEAN),
    Case(False, "No", BOOLEAN),
    Case(True, 1, BOOLEAN),
    Case(35, "35", INTEGER),
    Case("1200", 1200, STRING),
    Case(0.1 + 0.2, 0.3, NUMBER),
    Case(2010.0, 2010, NUMBER),
    Case(["a", "b"], ["B", "A"], TEXTS),
    Case(["2024-01-05"], ["January 5, 2024"], TEXTS),
    Case(None, "  ", STRING),
]  # fmt: skip

WRONG = [
    # transposed or changed digits
    Case("4521", "4512", STRING),
    Case(4521, 4512, INTEGER),
    Case(4521, 4512, NUMBER),
    Case(1234.56, 1234.65, NUMBER),
    Case(0.00494707, 0.00494770, NUMBER),
    Case(1234567890.12, 1234567890.13, NUMBER),
    Case("INV-2024-0017", "INV-2024-0071", STRING),
    Case("8303911426123456789", "8303911426123456798", STRING),
    Case("$1,200.00", "$1,020.00", STRING),
    Case("DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0103 00", STRING),
    Case("978-3-16-148410-0", "978-3-16-148401-0", STRING),
    Case("(555) 123-4567", "(555) 123-4576", STRING),
    Case("+1 555 123 4567", "+44 555 123 4567", STRING),
    Case("254H089SJ425", "254H098SJ425", STRING),
    Case("1FTFW1ET5DFC10312", "1FTFW1ET5DFC10321", STRING),
    Case("O0I1-5588", "00I1-5588", STRING),
    # other magnitude or separator
    Case("1.5", "15", STRING),
    Case("1.5 mg", "15 mg", STRING),
    Case(100, 1000, INTEGER),
    Case(1.0, 10.0, NUMBER),
    Case("1,200", "1.200", STRING),
    Case("$1.2 million", "$1.2 billion", STRING),
    Case("1,234.5", "12,345", STRING),
    Case(12.5, 125, NUMBER),
    Case("10²", "102", STRING),
    # sign
    Case(-5, 5, INTEGER),
    Case(-1200.5, 1200.5, NUMBER),
    Case("-5", "5", STRING),
    Case("(1,200.00)", "1,200.00", STRING),
    Case("+3 dB", "-3 dB", STRING),
    Case("O+", "O-", STRING),
    Case("A-", "A", STRING),
    Case("−40 °C", "40 °C", STRING),
    # other currency or unit
    Case("$1,200", "€1,200", STRING),
    Case("USD 100", "CAD 100", STRING),
    Case("£50", "$50", STRING),
    Case("¥5000", "$5000", STRING),
    Case("USD", "EUR", STRING),
    Case("A$20", "US$20", STRING),
    Case("12 kg", "12 g", STRING),
    Case("12 kg", "12 lb", STRING),
    Case("5 mW", "5 MW", STRING),
    Case("5 ft", "5 m", STRING),
    Case("5 M", "5,000,000", STRING),
    Case("5'", '5"', STRING),
    Case("20 °C", "20 °F", STRING),
    Case("3 weeks", "3 months", STRING),
    Case("5 mg", "5 µg", STRING),
    Case("10 km/h", "10 m/s", STRING),
    Case("5%", "5‰", STRING),
    Case("5%", "0.5", STRING),
    # dates and times
    Case("2024-01-05", "2023-01-05", DATE),
    Case("2024-01-05", "2024-05-01", DATE),
    Case("2024-01-05", "2024-01-06", DATE),
    Case("January 5, 2024", "May 1, 2024", STRING),
    Case("January 5, 2024", "January 5, 2042", STRING),
    Case("2024-01-05", "2024-01-15", STRING),
    Case("06/2013", "06/2014", STRING),
    Case("2024-1-15", "2024-11-5", STRING),
    Case("25/01/2024", "25/10/2024", STRING),
    Case("01/02/2024", "02/01/2024", STRING),
    Case("10:30 AM", "10:30 PM", STRING),
    Case("2024-01-05T10:00:00Z", "2024-01-05T11:00:00Z", {"type": "string", "format": "date-time"}),
    Case(1990, 1991, INTEGER),
    Case(1990, 1991, NUMBER),
    Case("1990", "1991", STRING),
    Case("1990-1995", "1990-1996", STRING),
    Case("FY2023", "FY2024", STRING),
    # names
    Case("John Smith Jr.", "John Smith Sr.", STRING),
    Case("John Smith", "John Smith Jr.", STRING),
    Case("John A. Smith", "John B. Smith", STRING),
    Case("John Smith", "Jon Smith", STRING),
    Case("Maria Garcia", "Mario Garcia", STRING),
    Case("Henry VII", "Henry VIII", STRING),
    Case("Jane Doe", "John Doe", STRING),
    Case("Dr. Müller", "Dr. Möller", STRING),
    Case("Acme Inc.", "Acme LLC", STRING),
    Case("Springfield, IL", "Springfield, MA", STRING),
    Case("12 Oak Street", "12 Oak Avenue", STRING),
    Case("12 Oak Street", "21 Oak Street", STRING),
    Case("Apt 4B", "Apt 4D", STRING),
    Case("North Korea", "South Korea", STRING),
    # negation and meaning
    Case("approved", "not approved", STRING),
    Case("refundable", "non-refundable", STRING),
    Case("The contract is terminated.", "The contract is not terminated.", STRING),
    Case(True, False, BOOLEAN),
    Case(True, "no", BOOLEAN),
    Case("yes", "no", STRING),
    Case("increase", "decrease", STRING),
    Case("hypertension", "hypotension", STRING),
    Case("left knee", "right knee", STRING),
    Case("Buyer pays seller", "Seller pays buyer", STRING),
    Case("before 2020", "after 2020", STRING),
    Case("<5", ">5", STRING),
    Case("at least 5", "at most 5", STRING),
    # identifiers and addresses
    Case("007", "7", STRING),
    Case("02000", "2000", STRING),
    Case("12-345", "123-45", STRING),
    Case("3.10.1", "3.1.01", STRING),
    Case("A-123", "B-123", STRING),
    Case("j.smith@example.org", "jsmith@example.org", STRING),
    Case("info@example.org", "info@example.com", STRING),
    Case("https://example.org/a", "https://example.org/b", STRING),
    Case("C", "C++", STRING),
    Case("C#", "C", STRING),
    Case("192.168.1.10", "192.168.11.0", STRING),
    Case("MT-32", "MT-23", STRING),
    # choices and lists
    Case("WI", "RY", {"type": "string", "enum": ["WI", "RY"]}),
    Case(["red", "green"], ["red", "greed"], TEXTS),
    Case(["red", "green"], ["red"], TEXTS),
    Case(["red", "green"], ["red", "green", "blue"], TEXTS),
    Case(["a", "a", "b"], ["a", "b", "b"], TEXTS),
    Case([1, 2], [1, 3], {"type": "array", "items": {"type": "integer"}}),
    Case([48.2, 16.4], [16.4, 48.2], {"type": "array", "minItems": 2, "maxItems": 2}),
    Case("present", "n/a", STRING),
]  # fmt: skip
"""At least a hundred different values that look alike."""
