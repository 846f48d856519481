"""`mancala verify`: check proof files of exact values."""

from typing import Any

from mancala_env._util.checks import whole
from mancala_env._util.command_line import BAD_INPUT, Parser
from mancala_env.cli.options import add_outputs
from mancala_env.cli.tables import print_json
from mancala_env.engine.state import PLAYERS
from mancala_env.errors import InvalidArgument, printable
from mancala_env.solver.certificate import InvalidProof, Proof, verify

DESCRIPTION = (
    "Check proof files of exact values, one line for each. docs/reference/proofs.md has the format. The exit "
    "status is 1 if a file is invalid, and 2 if one cannot be checked."
)

# By whether a file is valid; None if it cannot be checked.
_STATUS = {True: 0, False: 1, None: BAD_INPUT}


def add_arguments(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="proof file, such as proofs/leyla.proof")
    parser.add_argument("--memory_mb", type=int, default=8192, help="most memory for proved positions in MB")
    add_outputs(parser, "json")


def run(options: Any) -> int:
    whole("--memory_mb", options.memory_mb, 1)
    results = []
    for file in options.files:
        results.append(_result(file, options.memory_mb))
        if not options.json:
            print(_line(results[-1]), flush=True)
    if options.json:
        print_json(results)
    return max(_STATUS[result["is_valid"]] for result in results)


def _result(file: str, memory_mb: float) -> dict[str, Any]:
    """Return the result of a file as plain data."""
    try:
        proof = Proof.read(file)
        found = verify(proof, memory_mb=memory_mb)
    except InvalidProof as error:
        return {"file": file, "is_valid": False, "reason": str(error)}
    except (OSError, InvalidArgument) as error:  # it cannot be read, or needs more memory
        return {"file": file, "is_valid": None, "reason": getattr(error, "strerror", None) or str(error)}
    except MemoryError:
        return {"file": file, "is_valid": None, "reason": "this machine has too little free memory for it"}
    lower, upper = found.bounds
    bounds = {"value": lower if lower == upper else None, "lower": lower, "upper": upper}
    return {
        "file": file,
        "is_valid": True,
        "position": proof.position.to_text(),
        "claims": {PLAYERS[claim.player]: claim.least for claim in proof.claims},
        **bounds,
        "positions": found.positions,
        "searched": found.searched,
        "seconds": round(found.seconds, 3),
    }


def _line(result: dict[str, Any]) -> str:
    file = printable(result["file"])
    if not result["is_valid"]:
        word = "NOT CHECKED" if result["is_valid"] is None else "INVALID"
        return f"{word} {file}: {printable(result['reason'])}"
    counts = " and ".join(f"{player} gets at least {count}" for player, count in result["claims"].items())
    exact = result["value"] is not None
    value = f"value {result['value']:+d}" if exact else f"value {result['lower']:+d} to {result['upper']:+d}"
    return f"VALID {file}: {value}; {counts}; {result['positions']:,} positions in {result['seconds']:.2f} s"
