"""Texts of the cards that come from the docstrings of the environments.

`raw_env` of a family has the sections of its game; `MancalaAEC` and `MancalaEnv` have those of all games.
A paragraph that both classes have is about every environment.
"""

import importlib
import inspect
import re
from typing import Any

from mancala_env import Ruleset, rulesets
from mancala_env.envs.aec import MancalaAEC
from mancala_env.envs.families import FAMILIES, Family
from mancala_env.envs.gym import MancalaEnv
from tools.markdown import table

_NAME = re.compile(r"`(\w+)`")


def family_of(ruleset: Ruleset) -> Family:
    """Return the family whose environments play a ruleset."""
    return next(family for family in FAMILIES.values() if family.landing == ruleset.landing)


def raw_env_of(family: Family) -> Any:
    """Return the class `raw_env` of a family."""
    return importlib.import_module(f"mancala_env.{family.module}").raw_env


def sections_of(documented: Any) -> dict[str, list[str]]:
    """Return the paragraphs of a docstring by the title of their section; the first title is ""."""
    text = inspect.cleandoc(documented.__doc__).replace("``", "`").partition("\nAttributes:\n")[0]
    start, *rest = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    pairs = [("", start), *zip(rest[::2], rest[1::2], strict=True)]
    return {title: [" ".join(p.split()) for p in written.strip().split("\n\n")] for title, written in pairs}


def description(ruleset: Ruleset) -> str:
    """Return what a game is about, in a few sentences."""
    return _about(ruleset, sections_of(raw_env_of(family_of(ruleset)))[""][0])


def section(ruleset: Ruleset, title: str) -> str:
    """Return a section of a ruleset's card: of its game, of every environment, then of each library."""
    game = sections_of(raw_env_of(family_of(ruleset))).get(title, [])
    if ruleset.match == "single" and title == "Action Space":
        game = game[:1]  # the second paragraph is about several rounds
    two, one = sections_of(MancalaAEC).get(title), sections_of(MancalaEnv).get(title)
    if two is None or one is None:
        two = one = []
    both = [paragraph for paragraph in two if paragraph in one]
    of_each = [
        (library, " ".join(paragraph for paragraph in own if paragraph not in both))
        for library, own in (("PettingZoo", two), ("Gymnasium", one))
    ]
    rows = [(library, text) for library, text in of_each if text]
    written = [_about(ruleset, paragraph) for paragraph in game] + both
    return "\n\n".join([*written, *([table(("library", title.lower()), rows)] if rows else [])])


def _about(ruleset: Ruleset, paragraph: str) -> str:
    """Return a paragraph with the numbers of a ruleset, without the sentences about others only."""
    kept = []
    for sentence in re.split(r"(?<=\.) ", paragraph):
        named = set(_NAME.findall(sentence)) & set(rulesets.names())
        if not named or ruleset.name in named:
            kept.append(sentence)
    w = ruleset.row_width
    numbers = {"2W": 2 * w, "W-1": w - 1, "W": w, "S": ruleset.seeds_per_hole}
    return re.sub(r"\b(2W|W-1|W|S)\b", lambda found: str(numbers[found[1]]), " ".join(kept))
