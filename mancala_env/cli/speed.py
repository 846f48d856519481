"""`mancala speed`: measure the engine's speed on this machine."""

from typing import Any

from mancala_env._util.command_line import Parser
from mancala_env._util.tabular import TableRows
from mancala_env.cli.options import DEFAULT_RULESET, RULESET, add_common, add_outputs
from mancala_env.cli.tables import print_table, put_result
from mancala_env.games.speed import measure

DESCRIPTION = (
    "Measure the engine's speed on this machine, in turns per second. In a checkout, `make bench` measures "
    "more."
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("--ruleset", default=DEFAULT_RULESET, help=RULESET)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of each measurement in seconds")
    add_common(parser)
    add_outputs(parser, "csv")


def run(options: Any) -> int:
    rows = measure(options.ruleset, seconds=options.seconds, num_threads=options.num_threads)
    columns = {"name": "What was measured", "value": "Median of the values", "unit": "Unit of the value"}
    shown = [[row.name, f"{row.value:,.0f}", row.unit] for row in rows]
    plain, table = [row._asdict() for row in rows], TableRows(columns, rows)
    put_result(table, options, lambda: print_table([*columns], shown), as_json=plain)
    return 0
