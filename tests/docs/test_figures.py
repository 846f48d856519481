"""Tables of the documentation agree with the data files that they quote."""

import re
from pathlib import Path

import numpy as np
import pytest
from markdown_tables import DOCS, rows_by_name

from mancala_env import Position, rulesets, solver
from mancala_env._util.package_data import bundled_file, rulesets_with
from mancala_env.evaluation import fair_openings, stored_ladder
from mancala_env.evaluation.balanced_openings import balanced_openings
from tools.make_proofs import FAIR, file_of
from tools.results.regrets import stored_regrets

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "mcts:1000")
SLOW = ("perfect", "perfect+traps")


def test_the_leaderboard_has_the_stored_ratings() -> None:
    quick = rows_by_name("results/leaderboard.md", "Elo")
    slow = rows_by_name("results/leaderboard.md", "Perfect play")
    assert set(quick) == set(rulesets.names())
    for name, (openings, *listed) in quick.items():
        ladder = stored_ladder(name)
        assert openings == ladder.opening_set
        agents = QUICK + (SLOW if name in slow else ())
        assert set(agents) == set(ladder.anchors) - {"random"}
        for agent, cell in zip(agents, listed + slow.get(name, [])[1::2], strict=True):
            elo, low, high = ladder.ratings().of(agent)
            assert cell == f"{elo:z.0f} ± {(high - low) / 2:.0f}", (name, agent)


def test_the_balanced_openings_are_counted() -> None:
    rows = rows_by_name("guides/evaluate.md", "Balanced openings")
    assert set(rows) == set(rulesets_with("openings"))
    for name, (count,) in rows.items():
        assert int(count) == len(balanced_openings(rulesets.lookup(name))), name


def test_the_fair_openings_are_counted() -> None:
    rows = rows_by_name("explanation/openings.md", "Fair openings")
    assert set(rows) == set(rulesets_with("fair"))
    for name, (count, margin) in rows.items():
        turns = np.load(bundled_file("fair", name))["turns"]
        assert turns.shape == (int(count), 4), name
        openings = fair_openings(name)
        assert {int(margin)} == {opening.margin for opening in openings}, name
        files = [file_of(name, opening.turns, FAIR if opening.turns else "")[0] for opening in openings]
        assert all(map(Path.exists, files)), name


def test_the_article_has_the_values_of_the_solved_games() -> None:
    starts = rows_by_name("results/solved.md", "What has been solved from the start")
    written = rows_by_name("explanation/solved.md", "Results")
    assert {name: value for name, (_, value) in written.items()} == {
        name: value.strip("*") for name, (value, *_) in starts.items()
    }
    for name, (board, _) in written.items():
        ruleset = rulesets.lookup(name)
        assert board == f"2x{ruleset.row_width}, {ruleset.seeds_per_hole}"
    lost = sum(int(value) < 0 for _, value in written.values())
    won = sum(int(value) > 0 for _, value in written.values())
    assert lost > won, "the article says that the second player wins more games"


def test_the_scale_of_the_guide_is_that_of_ladder_cards_and_leaderboard() -> None:
    listed = rows_by_name("guides/evaluate.md", "What is a good result?")
    ratings = stored_ladder("layli_goobalay").ratings()
    stored = stored_regrets()["rulesets"]["layli_goobalay"]
    cards = {"trained": "policy", "value+minimax:6": "value"}
    for agent, (regret, optimal, elo) in listed.items():
        if agent in cards:
            card = ROOT / "mancala_env" / "data" / f"{cards[agent]}_layli_goobalay.md"
            text = card.read_text(encoding="utf-8")
            assert re.search(rf"^\| `{re.escape(agent)}` \| {elo} \|", text, re.MULTILINE), agent
        else:
            assert elo == f"{ratings.of(agent)[0]:.0f}", agent
        if agent in stored:
            assert regret == f"{stored[agent]['mean']:.2f}", agent
            assert optimal == f"{stored[agent]['best']:.0%}".replace("%", " %"), agent
    assert listed.keys() - stored.keys() == {"perfect"}


@pytest.mark.parametrize(
    "page", ["guides/choosing.md", "guides/opponents.md", "research/algorithms_by_steps.md"]
)
def test_other_pages_quote_the_regret_of_the_leaderboard(page: str) -> None:
    stored = stored_regrets()["rulesets"]["layli_goobalay"]
    text = (DOCS / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*`([\w:+]+)`[^|]* \| (?:\d+ \| )?(\d+\.\d\d) \|", text, re.MULTILINE)
    quoted = [(agent, regret) for agent, regret in rows if agent in stored]
    assert len(quoted) >= 4
    assert quoted == [(agent, f"{stored[agent]['mean']:.2f}") for agent, _ in quoted]


def test_the_solved_positions_are_counted_by_phase() -> None:
    rows = rows_by_name("results/solved.md", "Solved positions")
    assert set(rows) == set(rulesets_with("positions"))
    for name, cells in rows.items():
        counts = np.bincount(solver.positions(name).phase, minlength=len(solver.PHASES))
        assert [int(cell) for cell in cells] == counts.tolist(), name


@pytest.mark.parametrize("name", rulesets_with("book"))
def test_the_values_of_the_start_are_those_of_the_book(name: str) -> None:
    value, best, every, *_ = rows_by_name("results/solved.md", "What has been solved from the start")[name]
    solution = solver.solve(Position(name))
    assert solution.nodes == 0, "the book has it"
    assert int(value.strip("*")) == solution.value
    assert [int(action) for action in best.split(", ")] == list(solution.best_actions)
    assert [int(one) for one in every.split(", ")] == list(solution.action_values.values())
