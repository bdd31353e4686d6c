"""Lists the words for small whole numbers, and the words and letters that multiply numbers."""

from __future__ import annotations

import unicodedata
from typing import Final

NUMBER_WORDS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
"""The English words of the numbers 0 to 20, by index."""

_WORDS_BY_EXPONENT: Final = {
    2: "hundred hundert",
    3: "thousand thousands tausend tsd mille mila duizend tusen tusind tys tysiąc tysiące "
    "tysięcy tis tisíc tisíce millier milliers ezer tuhat tuhatta हज़ार тисяча тисячі "
    "тисяч тыс тысяча тысячи тысяч тис 千",
    4: "万 萬 만",
    5: "lakh lakhs lac lacs लाख",
    6: "million millions mio mn mln millionen millón millones milhão milhões milione milioni "
    "miljoen miljon miljoner millioner mill milj miljoona miljoonaa milioane milion "
    "miliony milionów milionů milyon millió млн миллион миллиона миллионов мільйон "
    "мільйонів",
    7: "crore crores करोड़",
    8: "亿 億 억",
    9: "mrd mia milliard milliards milliarde milliarden miliardo miliardi miljard miljarder "
    "milliarder miljardi miljardia miliarde mld mds miliard miliardy miliardów miliarda "
    "milyar milliárd bilhão bilhões млрд миллиард миллиарда миллиардов мільярд мільярдів",
    12: "trn bio billionen billón billones biliões bilião biljoen biljon biljoner billioner "
    "biljoona biljoonaa billió bilion biliony trilhão trilhões трлн триллион триллиона "
    "триллионов 兆",
}
_OPEN_WORDS: Final = {
    # The English value, then that of German, French or Swedish.
    **dict.fromkeys(["billion", "billions", "bn"], (10**9, 10**12)),
    **dict.fromkeys(["trillion", "trillions"], (10**12, 10**18)),
    "tn": (10**12, 10**3),
    # Spanish and Portuguese for thousand; English and Swedish short for million.
    "mil": (10**3, 10**6),
}


def _drop_accents(word: str) -> str:
    letters = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in letters if not unicodedata.combining(c)))


SCALE_READINGS: Final[dict[str, tuple[int, ...]]] = {
    **{
        spelling: (10**exponent,)
        for exponent, words in _WORDS_BY_EXPONENT.items()
        for word in words.split()
        for spelling in (word, _drop_accents(word))
    },
    **_OPEN_WORDS,
}
"""Word in lower case, without a full stop → what it multiplies a number by. Several values: it
depends on the language, and the first is the English one, if there is one."""
SCALE_LETTERS: Final[dict[str, tuple[int, ...]]] = {
    "k": (10**3,), "rb": (10**3,), "l": (10**5,), "m": (10**6,), "mm": (10**6,), "mi": (10**6,),
    "jt": (10**6,), "cr": (10**7,), "md": (10**9,), "mr": (10**9,), "b": (10**9, 10**3),
    "bi": (10**9, 10**12), "t": (10**12, 10**3),
}  # fmt: skip
"""Letters that multiply an amount of money; otherwise they are units. "T" is a trillion in English,
and a thousand in German."""
PROSE_SCALES: Final[dict[str, int]] = {
    word: factors[0] for word, factors in SCALE_READINGS.items() if len(word) >= 6
}
"""Word → what it multiplies a number by in a sentence, where "Mia" and "Bio" may be names; in
English where it depends on the language."""
