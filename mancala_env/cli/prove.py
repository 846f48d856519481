"""`mancala prove`: find the exact value of a position and write a proof file of it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from mancala_env._util.command_line import Interrupted, Parser, check_out
from mancala_env.cli.options import add_common, add_position, position_given
from mancala_env.cli.progress import lines
from mancala_env.cli.tables import print_json
from mancala_env.engine.state import PLAYERS
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position
from mancala_env.solver.certificate import InvalidProof, Proof, position_lines, verify
from mancala_env.solver.certificate_search import ProofPlan, ProofProgress, prove

DESCRIPTION = (
    "Find the exact value of a position, and write a proof file that mancala verify and two independent "
    "programs check. After Ctrl-C the same command searches the value again and keeps what was finished."
)


def add_arguments(parser: Parser) -> None:
    add_position(parser)
    add = parser.add_argument
    add("--out", metavar="FILE", help="proof file to write; by default RULESET.proof")
    each = "prove the position after each turn instead, in FILE-TURN.proof; finished files are kept"
    add("--actions", action="store_true", help=each)
    add("--leaf", type=int, default=8, help="most free seeds of a position that a checker searches itself")
    add("--cap", type=int, default=255, help="largest level of an owned hole in the accounts; 255 is exact")
    add("--seeds", type=int, default=1, help="number of attempts for each claim; the smallest proof is kept")
    add("--effort", type=int, default=2, help="effort for a small file, 0 to 20; two more save about a third")
    add("--memory_mb", type=int, default=1024, help="size of the transposition table in MB")
    add_common(parser, threads="one")


def run(options: Any) -> int:
    position = position_given(options)
    position_lines(position)  # raises if the format excludes the position
    plan = ProofPlan(options.leaf, options.cap, options.seeds, options.effort)
    out = Path(f"{position.ruleset.name}.proof" if options.out is None else options.out)
    todo = {out: position}
    if options.actions:
        check_out(out)
        todo = {
            out.with_name(f"{out.stem}-{turn_text(position.player, action)}{out.suffix}"): after
            for action in position.legal_actions
            if not (after := _position_after(position, action)).is_over
        }
    for file in todo:
        check_out(file, option="--out", read=Proof.read)
    num_threads = 1 if options.num_threads is None else options.num_threads
    results = []
    for file, after in todo.items():
        kept = _finished(after, file) if options.actions else None
        proof = kept or write_proof(
            after, plan, file, quiet=options.json, memory_mb=options.memory_mb, num_threads=num_threads
        )
        value, size = proof.bounds[0], file.stat().st_size
        if not options.json:
            print(f"{file}: value {value:+d}, {size:,} bytes, {'kept' if kept else 'verified'}", flush=True)
        results.append({"file": str(file), "position": after.to_text(), "value": value, "bytes": size})
    if options.json:
        print_json(results)
    return 0


def _position_after(position: Position, action: int) -> Position:
    after = position.copy()
    after.play(action)
    return after


def _finished(position: Position, file: Path) -> Proof | None:
    """Return the proof of a file if it is a valid proof of the value of a position."""
    if file.exists() and (content := file.read_bytes()):
        proof = Proof.from_bytes(content)
        if proof.bounds[0] == proof.bounds[1] and Proof(position, proof.claims).to_bytes() == content:
            with suppress(InvalidProof):
                return verify(proof).proof
    return None


def write_proof(position: Position, plan: ProofPlan, file: Path, quiet: bool = False, **search: Any) -> Proof:
    """Write a proof file, and return the proof. `search` are arguments of :func:`prove` about the solver.

    Finished attempts of an unfinished proof are kept beside the file.
    """
    checkpoint = file.with_name(f".{file.name}.part")
    try:
        with lines(quiet=quiet) as show:
            proof = prove(
                position,
                plan,
                checkpoint=checkpoint,
                progress=lambda now: show(_line(now), now.seconds),
                **search,
            )
        proof.save(file)
    except KeyboardInterrupt:
        kept = f"the same command resumes from {checkpoint}" if checkpoint.exists() else ""
        raise Interrupted(kept) from None
    checkpoint.unlink(missing_ok=True)
    return proof


def _line(now: ProofProgress) -> str:
    if now.least is None:
        return f"searching the value: {now.nodes:,} nodes"
    claim = f"{PLAYERS[now.player]} gets at least {now.least}"
    return f"{claim}, attempt {now.seed + 1}: {now.positions:,} positions, {now.letters:,} letters"
