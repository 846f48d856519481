"""The page of the bundled networks, from their cards, and of matches between searches."""

import json
from collections.abc import Iterable
from math import ceil
from typing import Any

from tools.markdown import table
from tools.results.measured import FOLDER, NetworkCard, network_cards

_SEARCHES = FOLDER / "searches.json"
_FORCED = "gabata_3"  # its forced opening decides every round, so it is not in the tables
_VALUE_HEAD = (
    "ruleset",
    "against `minimax:4`",
    "with 0.002 s each",
    "regret, seeds per turn",
    "Elo of `value+minimax:6`",
)
_SEARCH_HEAD = ("agent", "against", "games", "score", "95 % interval", "mean margin")
_OPPONENTS = ("greedy", "minimax:4", "minimax:6", "value+minimax:4", "mcts:1000")
_POLICY_HEAD = ("ruleset", "steps", *(f"`{spec}`" for spec in _OPPONENTS), "Elo", "regret, seeds per turn")


def bundled_agents() -> dict[str, str]:
    """Return the tables of the bundled networks, and that of matches between searches."""
    value, policy = dict(network_cards("value")), dict(network_cards("policy"))
    forced_value, forced_policy = value.pop(_FORCED), policy.pop(_FORCED)
    more = [value[name].elo["value+minimax:6"][0] - card.elo["trained"][0] for name, card in policy.items()]
    searches = json.loads(_SEARCHES.read_text(encoding="utf-8"))
    return {
        "forced": _FORCED,
        "value": table(_VALUE_HEAD, [_value_row(*found) for found in value.items()], _VALUE_HEAD[1:]),
        "value_made": _made(value),
        "value_interval": _half_intervals(card.elo["value+minimax:6"] for card in value.values()),
        "value_forced": " to ".join(
            _mean(forced_value.regret[spec]) for spec in ("minimax:4", "value+minimax:4")
        ),
        "policy": table(_POLICY_HEAD, [_policy_row(*found) for found in policy.items()], _POLICY_HEAD[1:]),
        "policy_made": _made(policy),
        "policy_interval": _half_intervals(card.elo["trained"] for card in policy.values()),
        "policy_forced": _mean(forced_policy.regret["trained"]),
        "more": f"{min(more)} to {max(more)}",
        "searches": table(_SEARCH_HEAD, _search_rows(searches), _SEARCH_HEAD[2:]),
        "searches_ruleset": searches["ruleset"],
        "searches_date": searches["date"],
        "searches_command": searches["command"],
    }


def _value_row(name: str, card: NetworkCard) -> list[str]:
    return [
        f"`{name}`",
        card.scores["value+minimax:4", "minimax:4"],
        card.scores["value+minimax:0.002s", "minimax:0.002s"],
        f"{card.regret['value+minimax:4']} ({_mean(card.regret['minimax:4'])} without)",
        f"{card.elo['value+minimax:6'][0]} ({card.elo['minimax:6'][0]} without)",
    ]


def _policy_row(name: str, card: NetworkCard) -> list[str]:
    scores = (card.scores["trained", spec] for spec in _OPPONENTS)
    return [f"`{name}`", card.steps, *scores, f"{card.elo['trained'][0]}", card.regret["trained"]]


def _search_rows(searches: dict[str, Any]) -> list[list[str]]:
    return [
        [
            f"`{match['agent']}`",
            f"`{match['against']}`",
            f"{match['games']:,}",
            f"{match['score']}%",
            "{}% to {}%".format(*match["interval"]),
            f"{match['margin']:+}",
        ]
        for match in searches["matches"]
    ]


def _mean(regret: str) -> str:
    """Return a mean without its interval."""
    return regret.partition(" ")[0]


def _half_intervals(elos: Iterable[tuple[int, int, int]]) -> str:
    """Return the range of half the 95 % intervals of ratings."""
    halves = [ceil((high - low) / 2) for _, low, high in elos]
    return f"{min(halves)} to {max(halves)}"


def _made(cards: dict[str, NetworkCard]) -> str:
    """Return versions and dates of cards."""
    versions = sorted({card.version for card in cards.values()})
    dates = sorted({card.date for card in cards.values()})
    return f"version {', '.join(versions)}, measured on {', '.join(dates)}"
