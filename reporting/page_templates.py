"""Loads templates, style and scripts of the pages, and hashes scripts for the security policy."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from eval.blocks.text_format import format_name, format_number, format_percent
from reporting.outcomes import OUTCOMES, get_outcome_symbol, get_outcome_text
from reporting.visible_text import make_visible


@cache
def get_environment() -> Environment:
    """Returns the Jinja environment of this package, with autoescaping and the report's filters."""
    env = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        number=format_number,
        percent=format_percent,
        visible=make_visible,
        shown_name=format_name,
        symbol=get_outcome_symbol,
        words=get_outcome_text,
        breakable=_add_break_points,
    )
    env.globals["outcome_legend"] = _render_legend
    return env


def render_style() -> Markup:
    """Renders the style sheet that all pages share."""
    return Markup(get_environment().get_template("report.css.j2").render())  # noqa: S704  our own file


def read_scripts(*names: str) -> str:
    """Reads scripts of the templates folder and concatenates them."""
    template_folder = resources.files(__package__) / "templates"
    return "\n".join((template_folder / name).read_text(encoding="utf-8") for name in names)


def compute_script_hash(text: str) -> str:
    """Computes a script's hash for the page's Content-Security-Policy.

    The policy allows only the script with this hash, so no injected script can run.
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _add_break_points(name: str) -> Markup:
    """Lets a name break after each underscore, since long names do not fit their column."""
    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def _render_legend() -> Markup:
    """Renders the legend of the outcome marks."""
    items = Markup("").join(
        Markup('<li><i class="{}" aria-hidden="true">{}</i>{}</li>').format(
            key, symbol, description
        )
        for key, symbol, description in OUTCOMES
    )
    return Markup('<ul class="key" aria-label="Marks">{}</ul>').format(items)
