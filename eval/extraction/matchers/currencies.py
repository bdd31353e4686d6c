"""Names, symbols and codes of currencies."""

from __future__ import annotations

import re
from typing import Final

from kg.base.plain_text import list_words

CURRENCY_SYMBOLS: Final = "$€£¥₹₩₽₺₪₴₫₱₦฿"
_CODES: Final = frozenset(
    list_words(
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN "
        "BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD "
        "FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY "
        "KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP "
        "MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR "
        "RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SYP SZL THB TJS TMT TND "
        "TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW "
    )
)
"""Codes of ISO 4217. In lower case they are read only where they are no words ("all", "top")."""
_WORDS: Final = {
    **dict.fromkeys(["$", "us$", "dollar", "dollars", "dólares"], "USD"),
    **dict.fromkeys(["€", "euro", "euros", "евро"], "EUR"),
    **dict.fromkeys(["£"], "GBP"),
    **dict.fromkeys(["¥", "yen", "円", "日元"], "JPY"),
    **dict.fromkeys(["元", "rmb", "cn¥", "yuan"], "CNY"),
    **dict.fromkeys(["₹", "rs", "rupees", "rupee"], "INR"),
    **dict.fromkeys(["fr", "sfr", "franken"], "CHF"),
    **dict.fromkeys(["a$", "au$"], "AUD"),
    **dict.fromkeys(["c$", "ca$"], "CAD"),
    **{"nz$": "NZD", "hk$": "HKD", "s$": "SGD", "nt$": "TWD", "mx$": "MXN"},
    **dict.fromkeys(["r$", "reais"], "BRL"),
    **dict.fromkeys(["₩", "원"], "KRW"),
    **dict.fromkeys(["₽", "руб", "рублей", "рубля", "рубль"], "RUB"),
    **{"₺": "TRY", "₪": "ILS", "₴": "UAH", "₫": "VND", "₱": "PHP", "₦": "NGN", "฿": "THB"},
    **dict.fromkeys(["zł", "złotych", "złote"], "PLN"),
    **{"rp": "IDR", "kč": "CZK", "lei": "RON", "лв": "BGN"},
    **dict.fromkeys(["kr", "kroner", "kronor"], "kr"),
    **{
        code.lower(): code
        for code in (
            *("USD", "EUR", "GBP", "JPY", "INR", "CHF", "AUD", "CAD", "NZD", "HKD", "SGD", "BRL"),
            *("KRW", "RUB", "TRY", "ILS", "PLN", "CNY", "SEK", "NOK", "DKK", "MXN", "ZAR", "CZK"),
            *("HUF", "THB"),
        )
    },
}
"""Currency code by symbol, name or code, in lower case. "$" is the US dollar and "¥" the yen; "kr"
is a currency of its own."""
_DOLLARS: Final = tuple(
    list_words(
        "USD AUD CAD NZD HKD SGD TWD MXN ARS BBD BMD BND BRL BSD BZD CLP COP CVE DOP FJD GYD JMD "
        "KYD LRD MOP NAD NIO SBD SRD TTD UYU XCD"
    )
)
_RUPEES: Final = ("INR", "PKR", "LKR", "NPR", "MUR", "SCR")
_CROWNS: Final = ("SEK", "NOK", "DKK", "ISK")
_FRANCS: Final = tuple(list_words("CHF XAF XOF XPF BIF CDF DJF GNF KMF RWF"))
OPEN_SYMBOLS: Final = {
    **dict.fromkeys(["$", "dollar", "dollars", "dólares"], _DOLLARS),
    "£": ("GBP", "EGP", "FKP", "GIP", "LBP", "SDG", "SHP", "SSP", "SYP"),
    "¥": ("JPY", "CNY"),
    **dict.fromkeys(["rs", "rupee", "rupees"], _RUPEES),
    **dict.fromkeys(["kr", "kroner", "kronor"], _CROWNS),
    **{"fr": _FRANCS, "lei": ("RON", "MDL"), "₩": ("KRW", "KPW"), "₽": ("RUB", "BYN")},
}
"""Symbols and names that other countries use too. A field that differs only in this is wrong, and
counted as ambiguous."""
_OTHER_CODES: Final = frozenset(
    list_words(
        "BTC XBT ETH LTC XRP BCH BNB ADA SOL DOGE USDT USDC XAU XAG XDR "
        "ATS BEF DEM ESP FIM FRF GRD IEP ITL LUF NLG PTE GBX"
    )
)
"""Codes of what is paid with and has no code of ISO 4217, or has none any more."""
_CURRENCY_WORDS: Final = re.compile(r"[\s/,;:|()\[\]-]+")
THREE_DECIMALS: Final = frozenset(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"))
"""Currencies of a thousand parts: "1.234 KWD" has a decimal point."""


def find_currency(text: str) -> str:
    """Returns the currency that a word or symbol stands for, or an empty string."""
    word = text.rstrip(".")
    if word == "Ft":  # the Hungarian forint; "ft" are feet
        return "HUF"
    return _WORDS.get(word.lower()) or (word if word in _CODES else "")


def list_currencies(text: str) -> frozenset[str]:
    """Lists the currencies that a text under a key such as "currency" may stand for.

    "kr" is one of the crowns, "Canadian dollars" are dollars, and "USD/EUR" are two. A text without
    a known currency gives none.
    """
    words = [text.strip(), *_CURRENCY_WORDS.split(text)]
    found = {word.upper() for word in words if word.upper() in _OTHER_CODES}
    for word in words:
        found.update(filter(None, (find_currency(word),)))
        found.update(OPEN_SYMBOLS.get(word.lower().rstrip("."), ()))
    return frozenset(found)
