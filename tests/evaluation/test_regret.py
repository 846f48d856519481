"""Regret against exact values, over the fixed positions and over an agent's own games."""

import json
import re
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from error_checks import raises
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from mancala_env import Position, agents, rulesets
from mancala_env.agents import Agent, InvalidSpec
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import evaluate, measure_regret, own_games_regret, write_report
from mancala_env.evaluation.agent_evaluation import Evaluation
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.ladder import SLOW_ANCHORS, stored_ladder
from mancala_env.evaluation.match_options import MatchOptions
from mancala_env.evaluation.matches import InvalidMatch, MatchGames
from mancala_env.evaluation.plots import (
    ASKED,
    BARS,
    draw_intervals,
    figure_of,
    finish,
    new_axes,
    plot_ratings,
    plot_regret,
    short_names,
)
from mancala_env.evaluation.ratings import PairCounts, fit_ratings
from mancala_env.evaluation.regret import MOST_MISTAKES, _own_moves, has_exact_positions, regret_difference
from mancala_env.evaluation.report import add_regret, check_report_path
from mancala_env.solver import ILLEGAL, positions, rulesets_with_positions, solve

RULESET = "layli_goobalay"


class Best(Agent):
    """Plays exact positions by their exact values: the best or the worst action."""

    def __init__(self, ruleset, sign=1):
        super().__init__(ruleset, spec="best" if sign > 0 else "worst", seed=0)
        self.sign = sign
        shipped = positions(self.ruleset.name)
        self.values = {row.tobytes(): v for row, v in zip(shipped.games, shipped.action_values, strict=True)}

    def act(self, games):
        chosen = []
        for row in games:
            values = self.values[row.tobytes()].astype(int)
            legal = values != ILLEGAL
            chosen.append(int(np.where(legal, self.sign * values, -(10**6)).argmax()))
        return np.array(chosen)


def test_optimal_moves_have_no_regret():
    for name in rulesets_with_positions():
        regret = measure_regret(Best(name), name)
        assert regret.overall.mean_regret == 0
        assert regret.overall.optimal_share == 1
        assert regret.overall.positions == len(positions(name).games)


def test_an_agent_is_asked_about_its_own_ruleset_alone():
    with raises(InvalidSpec, "greedy", "gabata_i", "leyla"):
        measure_regret(agents.make("greedy", "gabata_i"), "leyla")
    with raises(InvalidSpec, "gredy"):
        measure_regret("gredy", "leyla")
    assert measure_regret("greedy", "leyla").agent == "greedy"


def test_the_worst_moves_lose_what_the_values_say():
    shipped = positions(RULESET)
    values = shipped.action_values.astype(int)
    worst = np.where(values == ILLEGAL, 10**6, values).min(axis=1)
    regret = measure_regret(Best(RULESET, -1), RULESET)
    assert regret.overall.mean_regret == pytest.approx((values.max(axis=1) - worst).mean())
    for i, part in enumerate(regret.phases):
        of_phase = shipped.phase == i
        assert part.positions == of_phase.sum()
        if part.positions:
            assert part.mean_regret == pytest.approx((values.max(axis=1) - worst)[of_phase].mean())


def test_deeper_search_loses_less():
    lost = [
        measure_regret(agents.make(spec, RULESET, seed=1), RULESET).overall.mean_regret
        for spec in ("random", "greedy", "minimax:4")
    ]
    assert lost[0] > lost[1] > lost[2] > 0


def test_intervals_hold_the_mean():
    regret = measure_regret(agents.make("random", RULESET, seed=1), RULESET)
    for part in (*regret.phases, regret.overall):
        if part.positions > 1:
            assert part.interval[0] < part.mean_regret < part.interval[1]
            assert 0 <= part.optimal_interval[0] < part.optimal_share < part.optimal_interval[1] <= 1


def test_a_custom_ruleset_has_no_exact_positions():
    mine = rulesets.Ruleset(row_width=3)
    assert not has_exact_positions(mine)
    assert has_exact_positions(RULESET)


@pytest.mark.slow
def test_regret_over_its_own_games():
    """On a small board every position is solved, and perfect play has zero regret."""
    small = rulesets.Ruleset(row_width=3, seeds_per_hole=2, landing="weg", round_end="both_stuck")
    random = agents.make("random", small, seed=1)
    options: dict[str, Any] = {"opening_turns": 1, "memory_mb": 16, "seed": 2, "time_limit": 60}
    regret = own_games_regret(random, games=20, max_positions=10, **options)
    assert regret.source == "own games against itself, openings of 1 random turns (all)"
    assert (regret.overall.positions, regret.unsolved) == (10, 0)
    assert regret.overall.mean_regret > 0
    again = own_games_regret(random, games=20, max_positions=10, **options)
    assert again.as_dict() == regret.as_dict()
    perfect = agents.make("perfect", small, seed=1)
    regret = own_games_regret(perfect, "random", games=10, **options)
    assert regret.source == "own games against random, openings of 1 random turns (all)"
    assert regret.overall.mean_regret == 0
    assert regret.overall.positions > 0


def test_against_itself_no_game_is_played_twice():
    """The other seat would give the same game again: duplicate positions and too narrow intervals."""
    first = agents.from_function(lambda position: position.legal_actions[0], "leyla")
    last = agents.from_function(lambda position: position.legal_actions[-1], "leyla")
    options, rng = MatchOptions(games=6, opening_set="balanced"), np.random.default_rng(1)
    moves, _ = _own_moves(first, None, options, rng)
    assert len({position.to_text() for position, _ in moves}) == len(moves)
    against, _ = _own_moves(first, last, options, rng)
    assert {position.player for position, _ in against} == {0, 1}


def test_regrets_of_two_rulesets_of_one_name_are_not_compared():
    """A file of rules may change under its name, and the new positions may have the old number."""
    mine = rulesets.lookup({"like": "leyla", "name": "mine", "title": "Mine"})
    old = replace(measure_regret("greedy", "leyla"), ruleset="mine", game=mine)
    new = replace(old, agent="random", game=replace(mine, ransoms_empty=False))
    for pair in ((old, new), (new, old)):
        with raises(InvalidMatch, "mine", "greedy", "random"):
            regret_difference(*pair)
    assert regret_difference(old, replace(old, game=replace(mine, title="Another title"))).mean == 0


def test_wrong_arguments_of_regrets_are_named():
    greedy: Any = agents.make("greedy", "leyla")
    measured: Any = measure_regret(greedy, "leyla")
    others: list[Any] = [None, "x", measured.overall]
    for wrong in others:
        with raises(InvalidArgument, "regrets", "measure_regret"):
            regret_difference(measured, wrong)
    with raises(InvalidArgument, "agent", "agents.make", "greedy"):
        own_games_regret(measured.agent)
    with raises(InvalidSpec, "gredy"):
        own_games_regret(greedy, "gredy")
    wrongs: list[dict[str, Any]] = [
        {"max_positions": 0},
        {"max_positions": "x"},
        {"max_positions": None},
        {"seed": -1},
        {"seed": "x"},
    ]
    for wrong in wrongs:
        with raises(InvalidArgument, *wrong, *map(repr, wrong.values())):
            own_games_regret(greedy, "random", **wrong)


def test_an_unsolved_position_is_counted_not_guessed():
    agent = agents.make("random", "layli_goobalay_long", seed=1)
    regret = own_games_regret(agent, games=2, max_positions=5, time_limit=0.01, memory_mb=16, seed=1)
    assert regret.unsolved + regret.overall.positions == 5
    assert regret.unsolved > 0
    assert regret.as_dict()["unsolved"] == regret.unsolved


class Told:
    """A solver with fixed answers that records its questions."""

    def __init__(self, bounds):
        self.bounds, self.asked = bounds, []

    def __call__(self, ruleset, **options):
        return self

    def solve(self, position, **options):
        self.asked.append(position)
        return SimpleNamespace(action_bounds=self.bounds(position.legal_actions))


def first_legal(ruleset: str = RULESET) -> Agent:
    return agents.from_function(lambda position: position.legal_actions[0], ruleset, name="first")


@pytest.mark.parametrize(
    ("played", "other", "lost"),
    [
        ((2, 2), (1, 1), 0),
        ((2, 2), (2, 2), 0),
        ((2, 2), (5, 5), 3),
        ((2, 2), (-7, 2), 0),  # at most as good
        ((2, 2), (-7, 3), None),  # may be better
        ((2, 2), (3, 5), None),  # better by an unknown number of seeds
        ((1, 2), (5, 5), None),
        ((1, 2), (0, 0), None),
    ],
)
def test_a_regret_is_known_where_no_better_move_is_open(monkeypatch, played, other, lost):
    """The other moves have a value of at most -9."""
    solver = Told(lambda legal: dict.fromkeys(legal, (-20, -9)) | {legal[0]: played, legal[1]: other})
    monkeypatch.setattr("mancala_env.evaluation.regret.Solver", solver)
    regret = own_games_regret(first_legal(), games=2, max_positions=7, seed=1)
    assert regret.overall.positions == (0 if lost is None else 7)
    assert regret.unsolved == (7 if lost is None else 0)
    assert regret.regrets.tolist() == ([] if lost is None else [lost] * 7)
    values = {n: low for n, (low, high) in enumerate((played, other)) if low == high}
    for move in regret.worst:
        assert move.values == {move.position.legal_actions[n]: value for n, value in values.items()}


def test_a_move_without_a_choice_has_no_regret_to_measure(monkeypatch):
    solver = Told(lambda legal: dict.fromkeys(legal, (0, 0)))
    monkeypatch.setattr("mancala_env.evaluation.regret.Solver", solver)
    turns = []

    def play(position):
        turns.append(position)
        return position.legal_actions[0]

    regret = own_games_regret(agents.from_function(play, RULESET), games=10, max_positions=10_000, seed=1)
    with_choice = [position.to_text() for position in turns if len(position.legal_actions) > 1]
    assert len(with_choice) < len(turns)
    assert sorted(position.to_text() for position in solver.asked) == sorted(with_choice)
    assert regret.overall.positions == len(with_choice)


def test_compiling_takes_no_time_from_a_position(monkeypatch):
    """With an empty kernel cache, the first positions used to count as not solved."""

    def bounds(legal):
        if len(solver.asked) in (1, 2, 5):
            numba.njit(lambda: 0)()  # a kernel that is in no cache
            return dict.fromkeys(legal, (-9, 9))
        return dict.fromkeys(legal, (0, 0))

    solver = Told(bounds)
    monkeypatch.setattr("mancala_env.evaluation.regret.Solver", solver)
    regret = own_games_regret(first_legal(), games=2, max_positions=5, seed=1)
    assert (regret.overall.positions, regret.unsolved) == (5, 0)
    assert len(solver.asked) == 5 + 3


def test_a_seed_decides_what_agents_play_in_their_own_games(monkeypatch):
    """An agent that is passed may have played before."""
    solver = Told(lambda legal: {action: (action, action) for action in legal})
    monkeypatch.setattr("mancala_env.evaluation.regret.Solver", solver)
    agent, opponent = (agents.make("random", RULESET, seed=seed) for seed in (1, 2))
    found = [
        own_games_regret(agent, other, games=6, max_positions=50, seed=seed).regrets.tolist()
        for other in (opponent, None)
        for seed in (3, 3, 4)
    ]
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4] != found[5]
    assert found[0] == own_games_regret(agent, "random", games=6, max_positions=50, seed=3).regrets.tolist()


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate("minimax:1", RULESET, games=4, own_games=2, num_threads=1)


@pytest.mark.slow
def test_an_evaluation_has_ratings_matches_and_regrets(evaluation):
    assert evaluation.agents == ("minimax:1",)
    assert {match.first for match in evaluation.matches} == {"minimax:1"}
    assert evaluation.ratings.of("random")[0] == 0
    assert [regret.source for regret in evaluation.regrets] == [
        "fixed positions",
        "own games against itself, balanced openings",
    ]


def test_a_report_is_one_page_or_one_picture(evaluation, tmp_path):
    page = write_report(evaluation, tmp_path / "report.html").read_text(encoding="utf-8")
    boards = sum(min(4, len(regret.worst)) for regret in evaluation.regrets)
    assert boards >= 4
    assert page.count("<svg") == 4 + boards  # ratings, win rates, regret of each source, worst moves
    assert page.count("How to read it: ") == 4
    # The same position in both sources has the same picture.
    pictures = set(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    names = [name for picture in pictures for name in re.findall(r' id="([^"]+)"', picture)]
    assert len(names) == len(set(names)), "two pictures of a page share a name"
    assert "<script" not in page
    assert " src=" not in page
    assert "minimax:1" in page
    picture = write_report(evaluation, tmp_path / "report.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 1200, "pixels of its width: sharp on a page of print"
    with raises(InvalidMatch, ".html", ".png"):
        write_report(evaluation, tmp_path / "report.txt")


def tables_of(page: str) -> list[list[list[str]]]:
    """Return the cells of the tables of a page, row by row."""
    tables = re.findall(r"<table>\n(.*?)</table>", page, re.DOTALL)
    rows = [re.findall(r"<tr.*?>(.*?)</tr>", table, re.DOTALL) for table in tables]
    return [[re.findall(r"<t[hd]>(.*?)</t[hd]>", row, re.DOTALL) for row in table] for table in rows]


def test_the_tables_of_a_report_hold_its_numbers(tmp_path):
    found = evaluate(["greedy", "random"], RULESET, games=20, ladder=False, num_threads=1)
    found = replace(found, regrets=[replace(found.regrets[0], unsolved=7), found.regrets[1]])
    page = write_report(found, tmp_path / "report.html").read_text(encoding="utf-8")
    ratings, matches, regrets, differences = (table[1:] for table in tables_of(page))
    assert page.count('class="marked"') == 2
    assert found.ratings is not None
    elo = {name: found.ratings.of(name) for name in ("greedy", "random")}
    assert ratings == [
        [
            "greedy",
            f"{elo['greedy'][0]:.0f}",
            f"{elo['greedy'][1]:.0f} to {elo['greedy'][2]:.0f}",
            "20",
            "37.0",
        ],
        ["random", "0", "0 to 0", "20", "not measured"],
    ]
    (match,) = found.matches
    low, high = match.interval
    assert matches == [
        [
            "greedy",
            "random",
            f"{match.wins}/{match.draws}/{match.losses}",
            f"{match.win_rate:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{match.mean_margin:+.1f}",
        ]
    ]
    wanted = []
    for regret in found.regrets:
        for part in (*regret.phases, regret.overall):
            low, high = part.interval
            share = f"{100 * part.optimal_share:.0f} %"
            mean, interval = f"{part.mean_regret:.2f}", f"{low:.2f} to {high:.2f}"
            wanted.append([regret.agent, part.phase, str(part.positions), mean, interval, share])
        if regret.unsolved:
            wanted.append([regret.agent, "not solved", "7", "", "", ""])
    assert regrets == wanted
    assert len({row[0] for row in regrets}) == 2
    (one,) = found.regret_differences
    assert differences == [
        [
            "greedy",
            "random",
            f"{one.mean:+.2f}",
            f"{one.interval[0]:+.2f} to {one.interval[1]:+.2f}",
            f"{one.first_better}/{one.second_better}/{one.positions}",
        ]
    ]


class Candlemas(date):
    """Fix the date during a test."""

    @classmethod
    def today(cls):
        return cls(2031, 2, 2)


def test_a_report_says_what_was_played_with_which_seed_and_when(tmp_path, monkeypatch):
    monkeypatch.setattr("mancala_env.evaluation.html_page.date", Candlemas)
    evaluation = evaluate(
        ["greedy", "random"], RULESET, games=4, seed=7, rounds="match", ladder=False, regret=False
    )
    text = write_report(evaluation, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "balanced openings, whole matches</title>" in text
    assert "2031-02-02, seed 7</footer>" in text
    assert (evaluation.as_dict()["rounds"], evaluation.as_dict()["seed"]) == ("match", 7)


def test_an_interval_of_a_few_positions_does_not_hide_the_bars():
    fixed = measure_regret("minimax:6", RULESET)
    phases = [replace(part, interval=(0.0, 96.0)) if part.phase == "end" else part for part in fixed.phases]
    axes = plot_regret([replace(fixed, phases=phases)]).axes[0]
    highest = max(part.mean_regret for part in phases)
    assert axes.get_ylim()[1] == pytest.approx(2.5 * highest)
    assert [text.get_text() for text in axes.texts] == ["↑ 96.0"]
    as_they_are = [replace(part, interval=(part.mean_regret / 2, 2 * part.mean_regret)) for part in phases]
    shown = plot_regret([replace(fixed, phases=as_they_are)]).axes[0]
    assert not shown.texts


def test_the_worst_moves_come_first_and_the_earlier_of_equal_ones():
    shipped = positions(RULESET)
    regret = measure_regret(Best(RULESET, sign=-1), RULESET)
    order = sorted(range(len(shipped.games)), key=lambda n: -regret.regrets[n])[:MOST_MISTAKES]
    assert [move.regret for move in regret.worst] == regret.regrets[order].tolist()
    assert [move.position.games.tobytes() for move in regret.worst] == [
        shipped.games[n].tobytes() for n in order
    ]


def test_a_report_names_positions_that_were_not_solved():
    regret = measure_regret("greedy", RULESET)
    for unsolved in (0, 7):
        page = Page("Regret")
        add_regret(page, [replace(regret, unsolved=unsolved)])
        rows = re.findall(r"<tr><td>greedy</td><td>not solved[^<]*</td><td>(\d+)</td>", page.html())
        assert rows == (["7"] if unsolved else [])


@pytest.mark.parametrize(
    ("rounds", "told"),
    [(1, ""), (2, ", 2 rounds a game"), (3, ", 3 rounds a game"), ("match", ", whole matches")],
)
def test_the_title_of_a_report_names_the_rounds(rounds, told, tmp_path):
    found = Evaluation("leyla", ("greedy", "random"), [], None, [], opening_set="balanced", rounds=rounds)
    text = write_report(found, tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<title>greedy, random: leyla, balanced openings{told}</title>" in text


def test_where_nothing_was_measured_a_picture_is_empty_and_the_notes_tell_why(tmp_path):
    found = evaluate("greedy", rulesets.Ruleset(name="mine", row_width=3), ladder=False)
    assert (found.matches, found.ratings, found.regrets) == ([], None, [])
    assert [note for note in found.notes if "mine" in note and "positions" in note]
    assert write_report(found, tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_notes_tell_what_the_numbers_leave_out(evaluation, monkeypatch):
    left_out = {"perfect": "too slow"}
    stored = replace(stored_ladder(RULESET), excluded=left_out)
    monkeypatch.setattr("mancala_env.evaluation.agent_evaluation.stored_ladder", lambda ruleset: stored)
    (note,) = evaluate("greedy", RULESET, games=2, regret=False).notes
    assert "perfect" in note
    assert "too slow" in note
    without_random = evaluate(["greedy", "minimax:1"], RULESET, games=2, ladder=False, regret=False)
    assert not without_random.notes
    assert "games only" in without_random.scale
    assert not evaluate(["greedy", "random"], RULESET, games=2, ladder=False, regret=False).notes
    assert evaluation.notes == [
        f"anchor {name} is excluded: {why}" for name, why in stored_ladder(RULESET).excluded.items()
    ]


def test_an_evaluation_as_plain_data_is_the_same_after_a_trip_through_json(evaluation):
    found = evaluation.as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for regret, one in zip(found["regrets"], evaluation.regrets, strict=True):
        assert regret["overall"]["mean_regret_interval"] == list(one.overall.interval)
        assert regret["overall"]["optimal_share_interval"] == list(one.overall.optimal_interval)


def test_a_report_goes_into_a_folder_that_exists(tmp_path):
    folder = tmp_path / "folder.html"
    folder.mkdir()
    for wrong in (folder, tmp_path / "none" / "r.html", tmp_path / "r.pdf", tmp_path / "html"):
        with pytest.raises(InvalidMatch) as caught:
            check_report_path(wrong)
        assert wrong.name in str(caught.value)
    for right in (tmp_path / "r.HTML", folder / "r.png"):
        assert check_report_path(str(right)) == right


def test_ratings_are_plotted_strongest_on_top_on_a_named_scale():
    ratings = fit_ratings([PairCounts("a", "random", (0, 0, 1, 0, 9)), PairCounts("b", "a", (0, 0, 1, 0, 9))])
    axes = plot_ratings(ratings, ("a",)).axes[0]
    assert axes.get_xlabel() == "Elo (random = 0)"
    low, high = axes.get_ylim()
    assert low < 0 < 2 < high
    labels = zip(axes.get_yticks(), (label.get_text() for label in axes.get_yticklabels()), strict=True)
    assert list(labels) == [(0, "random"), (1, "a"), (2, "b")]
    dots: list[Any] = [line for line in axes.lines if line.get_marker() == "o"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in dots] == [
        (pytest.approx(ratings.of(name)[0]), row) for row, name in enumerate(("random", "a", "b"))
    ]
    assert [line.get_color() == ASKED for line in dots] == [False, True, False]
    assert [text.get_text() for text in axes.texts] == [
        f"{ratings.of(name)[0]:z.0f}" for name in ("random", "a", "b")
    ]
    without = fit_ratings([PairCounts("a", "b", (0, 0, 1, 0, 9))])
    assert plot_ratings(without).axes[0].get_xlabel() == "Elo (mean = 0)"


def test_bars_of_regret_start_at_nothing_and_have_their_intervals():
    regret = measure_regret("greedy", RULESET)
    axes = plot_regret([regret]).axes[0]
    assert axes.get_ylim()[0] == 0
    assert all(line.get_visible() for line in axes.get_ygridlines())
    assert not any(line.get_visible() for line in axes.get_xgridlines())
    parts = [part for part in (*regret.phases, regret.overall) if part.positions]
    bars: Any = axes.containers[-1]
    assert [bar.get_height() for bar in bars] == [part.mean_regret for part in parts]
    ends = [tuple(segment[:, 1]) for segment in bars.errorbar.lines[2][0].get_segments()]
    assert ends == [pytest.approx(part.interval) for part in parts]


def test_bars_of_several_agents_stand_side_by_side_around_their_phase():
    one = measure_regret("greedy", RULESET)
    others = [replace(one, agent=name) for name in ("greedy", "b", "an agent with a very long name.zip")]
    axes = plot_regret(others).axes[0]
    groups: list[Any] = axes.containers[1::2]  # after the error bars of each
    assert len(groups) == 3
    num_phases = len([part for part in one.phases if part.positions]) + 1
    for k, bars in enumerate(groups):
        middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        assert middles == pytest.approx(np.arange(num_phases) + (k - 1) * 0.8 / 3)
        assert [bar.get_width() for bar in bars] == pytest.approx([0.92 * 0.8 / 3] * num_phases)
        assert bars[0].get_facecolor() == to_rgba(BARS[k])
    legend = axes.get_legend()
    assert legend is not None
    labels = [text.get_text().replace("\n", " ") for text in legend.get_texts()]  # long ones are wrapped
    assert labels == ["greedy", "b", "…gent with a very long name.zip"[:1] + others[2].agent[-27:]]
    assert axes.get_xlim() == pytest.approx((-0.6, num_phases - 0.4))
    assert axes.get_xticks().tolist() == list(range(num_phases))
    assert [label.get_text() for label in axes.get_xticklabels()][-1] == "all"
    assert axes.get_ylabel() == "mean regret (seeds per move)"
    assert one.source in axes.get_title()
    seven = plot_regret([one] * 7).axes[0].containers
    assert seven[13][0].get_facecolor() == seven[1][0].get_facecolor()  # six colours, then the first again


def test_the_title_of_a_picture_fits_its_width(tmp_path, monkeypatch):
    drawn: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    names = tuple(f"runs/{run}/checkpoints/0000200000.zip" for run in "abcd")
    write_report(Evaluation("leyla", names, [], None, []), tmp_path / "report.png")
    lines = drawn[0].get_suptitle().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(name[-28:] in " ".join(lines) for name in names)


@pytest.mark.parametrize(("length", "is_cut"), [(28, False), (29, True)])
def test_a_long_name_is_cut_to_its_end(length, is_cut):
    name = "a" + "b" * (length - 1)
    assert short_names([name, "c"]) == {name: "…" + name[-27:] if is_cut else name, "c": "c"}


def test_names_with_equal_ends_are_told_apart():
    """Checkpoints of two runs had one label, and the legend lacked one of them."""
    names = [f"runs/{run}/checkpoints/0000200000.zip" for run in ("a", "b")]
    assert list(short_names(names).values()) == ["…" + name[-28:] for name in names]
    one = measure_regret("greedy", RULESET)
    legend = plot_regret([replace(one, agent=name) for name in names]).axes[0].get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 2
    assert short_names(["\x07", "\x07", "?" * 50 + "\x08", "?" * 50 + "\x09"])  # ends, whatever is printed


def test_a_plot_over_environment_steps_has_points_intervals_and_a_legend_where_there_are_labels():
    axes = new_axes(5, 3)
    assert figure_of(axes).get_size_inches().tolist() == [5, 3]
    draw_intervals(axes, [], [], [], [])
    assert not axes.containers
    draw_intervals(axes, [1e5, 2e6], [1.0, 2.0], [0.5, 2.5], [1.25, 3.0])
    finish(axes, "a title", None)
    assert axes.get_legend() is None
    bars: Any = axes.containers[0]
    assert bars.lines[0].get_xydata().tolist() == [[1e5, 1.0], [2e6, 2.0]]
    segments = [segment[:, 1].tolist() for segment in bars.lines[2][0].get_segments()]
    assert segments == [[0.5, 1.25], [2.0, 3.0]]  # an interval that excludes its own mean ends there
    assert axes.xaxis.get_major_formatter()(1.5e6) == "1.5 M"
    assert (axes.get_title(), axes.get_xlabel()) == ("a title", "environment steps")
    assert all(line.get_visible() for line in [*axes.get_xgridlines(), *axes.get_ygridlines()])
    line: Any = bars.lines[0]
    assert (line.get_color(), line.get_linestyle(), line.get_marker()) == (ASKED, "-", "o")
    axes.plot([3e5], [1.0], label="named")
    finish(axes, "a title", (-1.0, 4.0))
    assert axes.get_ylim() == (-1, 4)
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["named"]


def test_regrets_and_their_differences_are_plain_data():
    one, other = (replace(measure_regret("greedy", RULESET), agent=name) for name in ("a", "b"))
    none = replace(one.overall, positions=0)
    found = replace(one, unsolved=3, overall=none, worst=one.worst[:1]).as_dict()
    move = one.worst[0]
    assert {name: found[name] for name in ("agent", "ruleset", "source", "unsolved")} == {
        "agent": "a",
        "ruleset": RULESET,
        "source": "fixed positions",
        "unsolved": 3,
    }
    nothing = dict.fromkeys(
        ("mean_regret", "mean_regret_interval", "optimal_share", "optimal_share_interval"), None
    )
    assert found["overall"] == {"phase": "all", "positions": 0, **nothing}
    for part, plain in zip(one.phases, found["phases"], strict=True):
        assert plain == {
            "phase": part.phase,
            "positions": part.positions,
            "mean_regret": part.mean_regret,
            "mean_regret_interval": list(part.interval),
            "optimal_share": part.optimal_share,
            "optimal_share_interval": list(part.optimal_interval),
        }
    assert found["worst"] == [
        {
            "position": move.position.to_text(),
            "action": move.action,
            "regret": max(move.values.values()) - move.values[move.action],
            "values": {str(action): value for action, value in move.values.items()},
        }
    ]
    regrets = one.regrets.copy()
    regrets[:3] += 2
    worse = regret_difference(replace(other, regrets=regrets), one)
    assert worse.as_dict() == {
        "first": "b",
        "second": "a",
        "ruleset": RULESET,
        "source": "fixed positions",
        "positions": len(regrets),
        "mean_difference": pytest.approx(6 / len(regrets)),
        "mean_difference_interval": list(worse.interval),
        "first_better": 0,
        "second_better": 3,
    }


def test_long_intervals_of_small_regrets_are_cut_too():
    fixed = measure_regret("greedy", RULESET)
    phases = [
        replace(part, mean_regret=0.2, interval=(0.0, 0.3 if part.positions else 0.0))
        for part in fixed.phases
    ]
    overall = replace(fixed.overall, mean_regret=0.2, interval=(0.1, 4.0))
    axes = plot_regret([replace(fixed, phases=phases, overall=overall)]).axes[0]
    assert axes.get_ylim()[1] == pytest.approx(0.5)
    assert [text.get_text() for text in axes.texts] == ["↑ 4.0"]


@pytest.mark.slow
def test_the_worst_moves_are_those_that_gave_most_away():
    regret = measure_regret(agents.make("random", RULESET, seed=1), RULESET)
    assert [move.regret for move in regret.worst] == sorted(regret.regrets.tolist(), reverse=True)[
        :MOST_MISTAKES
    ]
    for move in regret.worst:
        assert set(move.values) == set(move.position.legal_actions)
    assert len(regret.worst) == MOST_MISTAKES > 3
    for move in regret.worst[3:]:  # the first ones take longer to solve
        bounds = solve(move.position, time_limit=60).action_bounds  # exact unless the machine is very busy
        assert all(lower <= move.values[action] <= upper for action, (lower, upper) in bounds.items())
    told = regret.as_dict()["worst"][0]
    assert Position.from_text(told["position"]) == regret.worst[0].position
    assert told["regret"] == regret.worst[0].regret
    assert measure_regret(Best(RULESET), RULESET).worst == ()


def test_worst_moves_of_own_games_are_told_with_their_values():
    small = rulesets.Ruleset(name="small", row_width=3, seeds_per_hole=3)
    regret = own_games_regret(agents.make("random", small, seed=1), games=20, opening_turns=1, memory_mb=16)
    assert regret.worst[0].regret == regret.regrets.max() > 0
    assert [move.regret for move in regret.worst] == sorted(regret.regrets.tolist(), reverse=True)[
        :MOST_MISTAKES
    ]
    for move in regret.worst:
        assert move.action in move.position.legal_actions
        assert solve(move.position).action_values == move.values


def test_a_worst_move_is_drawn_with_what_each_hole_is_worth():
    regret = measure_regret(Best(RULESET, sign=-1), RULESET)
    page = Page("Worst moves")
    page.boards(regret.worst[:1])
    (move,) = regret.worst[:1]
    text = page.html()
    assert f"{move.regret} seeds lost." in text
    badges = re.findall(r">([+-]\d+|0)</text>", text)
    for value in move.values.values():
        assert (f"{value:+d}" if value else "0") in badges


def test_no_plot_is_drawn_where_no_position_was_solved():
    agent = agents.make("random", "layli_goobalay_long", seed=1)
    nothing = own_games_regret(agent, games=2, max_positions=1, time_limit=1e-6, memory_mb=16, seed=1)
    assert nothing.overall.positions == 0
    page = Page("Nothing")
    add_regret(page, [nothing])
    assert "<svg" not in page.html()
    assert "None of the positions was solved in time." in page.html()


def test_phases_without_positions_have_no_place_in_the_plot():
    regret = measure_regret(agents.make("random", "gabata_3", seed=1), "gabata_3")
    assert [part.phase for part in regret.phases if not part.positions] == ["start", "early"]
    labels = [label.get_text() for label in plot_regret([regret]).axes[0].get_xticklabels()]
    assert labels == ["middle", "late", "end", "all"]


def test_an_anchor_that_is_evaluated_does_not_meet_itself():
    evaluation = evaluate("minimax:2", RULESET, games=2, regret=False)
    assert evaluation.ratings is not None
    assert {match.second for match in evaluation.matches} == set(evaluation.ratings.names) - {
        "minimax:2",
        *SLOW_ANCHORS,
    }


def test_own_games_are_as_many_against_another_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against itself each opening is played once, against another agent from both seats."""
    played: list[int] = []

    class Counted(MatchGames):
        def __init__(self, first: Agent, second: Agent, games: np.ndarray, **options: Any) -> None:
            played.append(len(games))
            super().__init__(first, second, games, **options)

    monkeypatch.setattr("mancala_env.evaluation.regret.MatchGames", Counted)
    greedy = agents.make("greedy", RULESET)
    for opponent in (None, "random"):
        own_games_regret(greedy, opponent, games=6, max_positions=1, time_limit=0.01, memory_mb=16)
    assert played == [6, 6]


@pytest.mark.parametrize("name", ["$5_{ and $6", "_first"])
def test_a_name_is_drawn_as_it_is(name, tmp_path):
    agent = agents.from_function(lambda position: position.legal_actions[0], "leyla", name=name)
    found = evaluate(agent, "leyla", games=2, max_anchors=1)
    write_report(found, tmp_path / "report.png")
    legend = plot_regret(found.regrets).axes[0].get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 1
