"""`mancala rulesets`: list the rulesets of the catalogue, or your own."""

from dataclasses import asdict
from typing import Any

from mancala_env import rulesets
from mancala_env._util.command_line import Parser
from mancala_env._util.tabular import TableRows
from mancala_env.cli.options import RULESET, add_outputs
from mancala_env.cli.tables import print_table, put_result

DESCRIPTION = "List rulesets with their rule options and sources."


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "rulesets", nargs="*", metavar="RULESET", help=f"{RULESET}; by default all of the catalogue"
    )
    add_outputs(parser, "json", "csv")


def run(options: Any) -> int:
    every = [rulesets.lookup(name) for name in options.rulesets or rulesets.names()]
    plain = [asdict(ruleset) for ruleset in every]
    columns = {name: f"Attribute {name} of the ruleset" for name in plain[0]}
    table = TableRows(columns, ([*one.values()] for one in plain))
    put_result(table, options, lambda: _print(every), as_json=plain)
    return 0


def _print(every: list[rulesets.Ruleset]) -> None:
    rows = []
    for one in every:
        numbers = [f"2x{one.row_width}", str(one.seeds_per_hole)]
        rows.append([one.name, *numbers, one.direction, one.landing, one.match, one.source])
    head = ["ruleset", "board", "seeds per hole", "direction", "landing", "match", "source"]
    narrow = [name.removesuffix(" per hole") for name in head[:-1]]
    if print_table(head, rows, narrow=(narrow, [row[:-1] for row in rows])):
        print("A wider terminal or --json shows the sources.")
