"""Tasks for language models: prompts, replies, exact rewards, splits and seeds."""

import itertools
import random
from typing import Any, get_args

import numpy as np
import pytest
from error_checks import raises
from hypothesis import given
from hypothesis import strategies as st

from mancala_env import Position, Ruleset, agents
from mancala_env.engine.holdout import rows_in_set
from mancala_env.envs import prompts, text
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidRuleset
from mancala_env.evaluation import measure_regret, text_tasks
from mancala_env.rulesets import CHOICES, names
from mancala_env.rulesets.in_words import rules_in_words
from mancala_env.rulesets.requirements import broken_requirement
from mancala_env.solver import fresh_positions
from mancala_env.solver.fresh_positions import draw_position, fresh_ruleset

START = Position("leyla")
ONE_HOLE = [
    "Answer: 3", "answer: S3", "Answer: s3.", "**Answer:** S3", "**Answer: 3**", "Answer: hole 3",
    "Answer = 3", "The answer is 3", "<answer>3</answer>", "<answer>S3</answer> done", r"so \boxed{3}",
    r"$\boxed{\text{S3}}$", "3", " S3\n", "Answer: 1\nNo.\nAnswer: 3", "<think>Answer: 5</think>Answer: 3",
    "Answer:\n3", "Answer: `S3`", "ANSWER: [3]", "Answer: 03", "Answer: 3 (it captures 4 seeds)",
    "Final answer: S3\n\nI sow 4 seeds.", "Answer\uff1aS3", r"Answer: $S_{3}$", "Answer: hole: 3",
    "**Answer**\n\nS3", "### Answer\nS3", "Answer \u2014 S3", "The answer is hole number 3",
    "Answer: S3\n\nThis is my answer\n",
    "Answer: S3</s>", '{"answer": "S3"}', "Answer: S3<|im_end|>",
]  # fmt: skip
NO_HOLE = [
    "", "I pass", "Answer:", "Answer: none", "Answer: 1 or 3", "Answer: 1, 2, 3", "Answer: S1/S3",
    "Answer: 3.5", "Answer: -3", "Answer: three", "Answer: <hole>", "Answer: 3\nAnswer: I do not know",
    "<think>Answer: 3", "Sow hole 3, it is the best hole of all", "Answer: 1 2 3", "Answer: 1-6",
    "Answer: 1 and 3", r"\boxed{}",
]  # fmt: skip


def _score(position: Position, reply: str, values: dict[int, int]) -> text.Score:
    return text.Task("move", position, "", "", values).score(reply)


@pytest.mark.parametrize("reply", ONE_HOLE)
def test_tolerant_replies_name_hole_3(reply: str) -> None:
    assert _score(START, reply, dict.fromkeys(range(6), 0)) == (0.0, "S3", 0, "")


@pytest.mark.parametrize("reply", NO_HOLE)
def test_other_replies_are_invalid(reply: str) -> None:
    score = _score(START, reply, dict.fromkeys(range(6), 0))
    assert score.reward == text.INVALID_REWARD
    assert score.error


def test_error_of_a_reply_has_its_answer() -> None:
    with raises(InvalidArgument, "maybe"):
        prompts.parse_answer("move", "Answer: maybe")
    with raises(InvalidArgument, "rather not say"):
        prompts.parse_answer("move", "I would rather not say")
    number: Any = 7
    with raises(InvalidArgument, "7"):
        prompts.parse_answer("move", number)
    kind: Any = "play"
    with raises(InvalidArgument, "play"):
        prompts.parse_answer(kind, "Answer: 3")


@pytest.mark.parametrize(
    ("reply", "why"),
    [("Answer: N3", "not in your row"), ("Answer: 7", "not in your row"), ("Answer: 0", "not in your row")],
)
def test_illegal_hole_says_why(reply: str, why: str) -> None:
    score = _score(START, reply, {})
    assert score.reward == text.INVALID_REWARD
    assert why in score.error
    assert "S6" in score.error


def test_empty_hole_says_why() -> None:
    position = START.copy()
    position.play(0)
    empty = next(a for a in range(6) if a not in position.legal_actions)
    assert position.why_illegal(empty) in _score(position, f"Answer: N{empty + 1}", {}).error


@pytest.mark.parametrize(
    "reply",
    ["Answer: N2 5 0", "answer: N2, 5, 0", "Answer: hole=N2 laps=5 captured=0",
     "**Answer:** hole N2, laps 5, captured 0", r"\boxed{N2 5 0}", "N2 5 0",
     "Answer: N2, 5 laps, 0 captured"],
)  # fmt: skip
def test_tolerant_sowing(reply: str) -> None:
    assert prompts.parse_answer("sow", reply) == "N2 5 0"


def test_one_lap_may_be_named() -> None:
    assert prompts.parse_answer("sow", "Answer: N2, 1 lap, 0 captured") == "N2 1 0"


@pytest.mark.parametrize(
    "reply", ["Answer: N2", "Answer: N2 5", "Answer: 2 5 0", "Answer: N2 5 0 or N3 4 0", "Answer: N250", "x"]
)
def test_other_sowing_is_invalid(reply: str) -> None:
    with raises(InvalidArgument, reply.removeprefix("Answer: ")):
        prompts.parse_answer("sow", reply)


@given(st.text(max_size=300) | st.text("Answer: 123SN<>{}*\\boxed\n.,", max_size=80))
def test_any_text_gets_a_reward_in_range(reply: str) -> None:
    score = _score(START, reply, {a: a for a in range(6)})
    assert score.reward is not None
    assert -1 <= score.reward <= 0
    assert bool(score.error) == (score.regret is None)


def _all_rulesets() -> list[Ruleset]:
    found = []
    for values in itertools.product(*CHOICES.values()):
        options = dict(zip(CHOICES, values, strict=True))
        if options["match"] == "single" and broken_requirement({**Ruleset().options, **options}) is None:
            found.append(Ruleset(**options))
    return found


def test_rules_have_at_most_200_words_and_differ_where_rules_differ() -> None:
    texts: dict[str, Ruleset] = {}
    for ruleset in _all_rulesets():
        words = rules_in_words(ruleset)
        assert len(words.split()) <= 200, (len(words.split()), ruleset.options)
        other = texts.setdefault(words, ruleset)
        differs = {k for k, v in ruleset.options.items() if other.options[k] != v}
        # Drawing changes nothing, and the opening of Gabata 3 is over before the first question.
        assert differs <= {"direction", "opening"}, differs
    assert len(texts) > 20


def test_prompt_has_every_hole_store_and_owner() -> None:
    task = text.make_task("move", 3)
    position = task.position
    for hole, seeds in enumerate(position.seeds.tolist()):
        name = f"{'SN'[hole // position.ruleset.row_width]}{hole % position.ruleset.row_width + 1}={seeds}"
        assert name in task.prompt
    assert task.prompt.count("(owned by ") == (position.owner >= 0).sum()
    assert f"South {position.stores[0]}, North {position.stores[1]}" in task.prompt


def test_reward_of_each_move_is_minus_its_exact_regret() -> None:
    for seed in range(8):
        task = text.make_task("move", seed)
        best = max(task.values.values())
        for action in range(task.position.ruleset.row_width):
            score = task.score(f"Answer: {action + 1}")
            if action in task.values:
                regret = best - task.values[action]
                assert score.regret == regret
                assert score.reward == -regret / (2 * task.position.ruleset.total_seeds)
            else:
                assert score.reward == -1.0
                assert score.error
        assert task.score(f"Answer: {task.solution}").reward == 0.0


def test_sowing_is_what_the_engine_plays() -> None:
    for level, seed in itertools.product(range(1, 6), range(4)):
        task = text.make_task("sow", seed, level=level)
        hole = task.question.split(" sows ")[1].split(".")[0]
        turn = task.position.copy().play(int(hole[1:]) - 1)
        end, laps, captured = task.solution.split()
        assert (int(laps), int(captured)) == (turn.laps, turn.captured)
        assert end[0] in "SN"
        assert turn.laps in text._LAPS[level - 1]
        assert task.score(f"Answer: {task.solution}").reward == 0.0
        assert task.score(f"Answer: {end} {turn.laps + 1} {captured}").reward == -1.0


def test_last_hole_of_a_turn_by_a_second_implementation() -> None:
    """Sow by hand: a lap is a handful, so its last hole follows from seeds alone."""
    for seed in range(30):
        task = text.make_task("sow", seed, level=1)
        position = task.position
        start = task.question.split(" sows ")[1].split(".")[0]
        hole = int(start[1:]) - 1 + (position.ruleset.row_width if start[0] == "N" else 0)
        end = (hole + int(position.seeds[hole])) % position.ruleset.num_holes
        row, number = divmod(end, position.ruleset.row_width)
        assert task.solution.split()[0] == f"{'SN'[row]}{number + 1}"


@pytest.mark.parametrize("kind", ["sow", "move"])
def test_tasks_are_deterministic_by_seed_and_differ_between_seeds(kind: prompts.Kind) -> None:
    first = [text.make_task(kind, seed) for seed in range(6)]
    assert text_tasks.hash_of(first) == text_tasks.hash_of(
        reversed([text.make_task(kind, s) for s in reversed(range(6))])
    )
    assert len({task.prompt for task in first}) == 6


def _is_held_out(position: Position) -> bool:
    return bool(rows_in_set(position.ruleset, position.games, "evaluation")[0])


def test_splits_are_disjoint() -> None:
    splits: tuple[text.Split, text.Split] = ("training", "evaluation")
    for split, seed in itertools.product(splits, range(10)):
        drawn = [text.make_task(kind, seed, split=split).position for kind in get_args(prompts.Kind)]
        drawn.append(text.Round(seed, split=split, opponent=None).position)
        assert {_is_held_out(position) for position in drawn} == {split == "evaluation"}


def test_a_fifth_is_held_out_whatever_direction_is_drawn() -> None:
    rng, held_out = random.Random(1), []
    for _ in range(400):
        ruleset = fresh_ruleset(rng)
        if position := draw_position(rng, ruleset, "all"):
            held_out.append(_is_held_out(position))
            options = {**ruleset.options, "name": "mirrored"}
            options["direction"] = "clockwise" if ruleset.direction == "anticlockwise" else "anticlockwise"
            assert _is_held_out(Position.from_games(Ruleset(**options), position.games)) is held_out[-1]
    assert 0.12 < np.mean(held_out) < 0.28


def test_empty_ruleset_is_no_fresh_one() -> None:
    made = [text.make_task("sow", 1, {}), text.Round(1, {})]
    assert all(task.position.ruleset.options == Ruleset().options for task in made)
    with raises(InvalidRuleset, "''"):
        text.make_task("sow", 1, "")
    with raises(InvalidRuleset, "''"):
        text.Round(1, "")


def test_level_of_sow_has_no_effect_on_move() -> None:
    assert text.make_task("move", 3, level=2) == text.make_task("move", 3)


def test_catalogue_ruleset_and_unknown_arguments() -> None:
    assert text.make_task("sow", 1, "gabata_i").position.ruleset.name == "gabata_i"
    for name in names():
        assert text.make_task("sow", 1, name, level=1).position.ruleset.name == name
    unknown: Any = "solve"
    with raises(InvalidArgument, "solve"):
        text.make_task(unknown, 1)
    with raises(InvalidArgument, "-1"):
        text.make_task("sow", -1)
    with raises(InvalidArgument, "6"):
        text.make_task("sow", 1, level=6)
    with raises(InvalidArgument, "solve"):
        text.make_task("sow", 1, split=unknown)
    with raises(InvalidArgument, "9"):
        text.Round(1, opponent=9)


def test_summary_counts_invalid_replies_and_known_regrets() -> None:
    scores = [
        text.Score(-0.25, "S1", 6),
        text.Score(None, "S2"),
        text.Score(-1.0, error="no answer"),
    ]
    assert text_tasks.summary(iter(scores)) == {"tasks": 3, "reward": -0.625, "regret": 6, "invalid": 0.3333}
    with raises(InvalidArgument, "[]"):
        text_tasks.summary([])
    assert text_tasks.summary([text.Score(None, "S2")])["reward"] is None


def test_tasks_of_your_own_check_position_and_values() -> None:
    late = Position.from_text("layli_goobalay 1,3,1,4,0,2/1,0,2,1,0,0 17-16 S")
    for values in ({0: 1}, {4: 3}, {9: 1}, dict.fromkeys(range(6), 0)):
        with raises(InvalidArgument, str(values)):
            text.move_task(late, values)
    assert text.move_task(late, dict.fromkeys(late.legal_actions, 0)).score("S1").regret == 0
    assert text.move_task(late, {}).solution == ""
    illegal: tuple[Any, ...] = (4, -1, "S1")
    for action in illegal:
        with raises(IllegalMove, repr(action)):
            text.sow_task(late, action)
    unknown: Any = "leyla"
    with raises(InvalidArgument, "leyla"):
        text.move_task(unknown, {})
    with raises(InvalidArgument, "leyla"):
        text.sow_task(unknown, 0)


def test_missing_answer_shows_the_form_of_the_kind() -> None:
    with raises(InvalidArgument, "N2 5 0"):
        prompts.parse_answer("sow", "It ends in N3 after 15 laps.")


def test_legal_text_of_a_finished_round() -> None:
    over = Position.from_text("leyla 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S")
    assert prompts.legal_text(over) == "legal holes: none"


def test_perfect_opponent_gets_solved_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    game = text.Round(2, opponent=8)
    assert text.Round(2, opponent="perfect").prompt == game.prompt
    monkeypatch.setattr(text.Solver, "action_values_within", lambda *_: None)
    monkeypatch.setattr(fresh_positions, "_MOST_DRAWS", 5)
    with raises(InvalidArgument, "None"):
        text.Round(2, opponent=8)
    assert text.Round(2, opponent=2).position.ruleset == game.position.ruleset


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sow", "move"])
def test_fixed_tasks_have_their_hash(kind: prompts.Kind) -> None:
    assert len(text_tasks.fixed_tasks(kind)) == text_tasks.FIXED_SIZE


def test_fixed_tasks_with_another_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tasks, "FIXED_SIZE", 2)
    with raises(InvalidArgument, text_tasks.FIXED_HASHES["sow"]):
        text_tasks.fixed_tasks("sow")


def test_regret_of_an_agent_by_text_is_that_of_the_regret_tables() -> None:
    agent = agents.make("greedy", "leyla", seed=1)
    scores = [
        task.score(f"Answer: {agent.choose(task.position) + 1}") for task in text_tasks.solved_tasks("leyla")
    ]
    measured = measure_regret(agents.make("greedy", "leyla", seed=1), "leyla").overall
    assert np.mean([float(score.regret or 0) for score in scores]) == pytest.approx(measured.mean_regret)


def _play(game: text.Round) -> list[text.Score]:
    scores = []
    while not game.is_over:
        scores.append(game.step(f"Answer: {game.position.legal_actions[0] + 1}"))
    return scores


def test_round_against_an_agent_ends_with_the_count() -> None:
    for seed in range(6):
        game = text.Round(seed, opponent=2)
        assert game.position.player == game.player
        assert _play(game)
        south, north = game.position.counts
        assert game.rewards == ((south - north) / (south + north), (north - south) / (south + north))
        assert game.reward == game.rewards[game.player]
        assert game.forfeit is None


def test_round_is_deterministic_by_seed() -> None:
    first, second = (text.Round(5, opponent=1) for _ in range(2))
    assert first.prompt == second.prompt
    assert _play(first) == _play(second)
    assert first.rewards == second.rewards


def test_perfect_replies_to_a_perfect_opponent_keep_the_value() -> None:
    game = text.Round(2, opponent=8)
    while not game.is_over:
        best = agents.make("perfect", game.position.ruleset).choose(game.position)
        assert game.step(f"Answer: {best + 1}").regret == 0


def test_self_play_asks_both_players_in_turn() -> None:
    game = text.Round(1, opponent=None)
    asked = []
    while not game.is_over:
        asked.append(game.player)
        assert f"You are {('South', 'North')[game.player]}." in game.prompt
        game.step(f"Answer: {game.position.legal_actions[-1] + 1}")
    assert set(asked) == {0, 1}


def test_update_tells_the_turns_of_the_opponent() -> None:
    game = text.Round(3, opponent=1)
    before = game.position.copy()
    game.step(f"Answer: {before.legal_actions[0] + 1}")
    assert " sows " in game.update
    assert "Rules" in game.prompt
    assert "Rules" not in game.update


def test_step_after_the_end_is_refused() -> None:
    game = text.Round(3, opponent=1)
    game.step("no")
    reply: Any
    for reply in ("Answer: 2", None):
        with raises(IllegalMove, str(reply)):
            game.step(reply)


def test_rounds_that_are_too_short_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_positions, "draw_position", lambda *_, **__: None)
    with raises(InvalidArgument, "leyla"):
        text.Round(1, "leyla")


def test_an_error_names_the_split_that_has_no_round() -> None:
    tiny = {"row_width": 2, "seeds_per_hole": 63}
    assert not text.Round(1, tiny, split="all").is_over
    with raises(InvalidArgument, "evaluation"):
        text.Round(1, tiny)


def test_a_hole_of_your_territory_in_the_other_row_may_be_sown() -> None:
    position = Position("gabata_i", [4] * 12, territory=[0] * 6 + [0, 0, 1, 1, 1, 1], round=2)
    task = text.move_task(position, {a: int(a == 6) for a in position.legal_actions})
    assert task.score(f"Answer: {task.solution}").reward == 0.0
