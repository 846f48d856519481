"""`mancala speed`: measure the engine's speed on this machine."""

from typing import Any

from mancala_env._util.command_line import Parser
from mancala_env.cli.options import DEFAULT_RULESET, RULESET, add_common, add_csv
from mancala_env.cli.tables import TableRows, check_csv, print_json, print_table, prints_tables, put_csv

HELP = "measure the engine's speed on this machine"
DESCRIPTION = (
    "Measure the engine's speed on this machine, in turns per second. In a checkout, `make bench` measures "
    "more."
)


def add_arguments(parser: Parser) -> None:
    """Add the command's options."""
    parser.add_argument("--ruleset", default=DEFAULT_RULESET, help=RULESET)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of each measurement in seconds")
    add_common(parser)
    add_csv(parser)


def run(options: Any) -> int:
    """Run the command and return the exit status."""
    from mancala_env.games.speed import measure

    check_csv(options)
    rows = measure(options.ruleset, seconds=options.seconds, num_threads=options.num_threads)
    if options.json:
        print_json([row._asdict() for row in rows])
    elif prints_tables(options):
        print_table(["what", "median", "unit"], [[row.name, f"{row.value:,.0f}", row.unit] for row in rows])
    columns = {
        "what": "What was measured",
        "median": "Median of the measured values",
        "unit": "Unit of median",
    }
    put_csv(TableRows(columns, rows), options)
    return 0
