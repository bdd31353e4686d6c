"""Templates, style and scripts of every page, and the policy that lets only our own scripts run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reporting.card_data import OUTCOMES, outcome_symbol, outcome_words
from reporting.charts import number, percent
from reporting.visible import shown_name, visible


@cache
def environment() -> Environment:
    """Jinja with the templates of this package; everything is escaped unless marked safe."""
    env = Environment(
        loader=PackageLoader("reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        number=number,
        percent=percent,
        visible=visible,
        shown_name=shown_name,
        symbol=outcome_symbol,
        words=outcome_words,
        breakable=_breakable,
    )
    env.globals["key"] = _key
    return env


def style() -> Markup:
    """The style sheet of every page."""
    return Markup(environment().get_template("report.css.j2").render())  # noqa: S704  our own file


def script(*names: str) -> str:
    """Our own scripts, one after the other."""
    folder = resources.files("reporting") / "templates"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def content_hash(text: str) -> str:
    """The hash by which a page's policy lets a script run, and no other."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _breakable(name: str) -> Markup:
    """A name that may break after an underscore, where it is too long for its column."""
    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def _key() -> Markup:
    """The legend of outcome marks, wherever they are used."""
    items = Markup("").join(
        Markup('<li><i class="{}" aria-hidden="true">{}</i>{}</li>').format(key, symbol, words)
        for key, symbol, words in OUTCOMES
    )
    return Markup('<ul class="key" aria-label="Marks">{}</ul>').format(items)
