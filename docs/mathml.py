"""Turns the equations of a page into MathML while the site is built, so that a browser needs no script to show them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """The page with its equations as MathML, as mkdocs asks for it."""
    return EQUATION.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    block = found[2] == "["
    return convert(html.unescape(found[3]).strip(), display="block" if block else "inline")
