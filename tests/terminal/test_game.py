"""A game without a screen: seats, turns, taking back, records."""

import re
import time

import pytest
from error_checks import raises

from mancala_env import IllegalMove, InvalidRuleset, MancalaError, Position
from mancala_env.agents import InvalidSpec
from mancala_env.errors import InvalidArgument
from mancala_env.games import records
from mancala_env.terminal.game import InteractiveGame
from mancala_env.terminal.hints import Analyst

NEAR_THE_END = "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"


def finish(game):
    """Play the first legal hole for people, and let agents choose."""
    while not game.is_over:
        agent = game.agent_to_move
        game.play(game.position.legal_actions[0] if agent is None else agent.choose(game.position))


def test_a_game_is_recorded_as_it_was_played():
    game = InteractiveGame("leyla", "human:Amina", "greedy", rounds=2, seed=5)
    finish(game)
    record = game.record()
    assert (record.south, record.north, record.rounds, record.seed) == ("Amina", "greedy", 2, 5)
    assert record.verify() == game.outcome()
    assert game.outcome().is_over
    assert [step.number for step in game.steps] == list(range(1, len(game.steps) + 1))
    assert len(game.timelines) == len(game.steps)
    again = InteractiveGame("leyla", "human:Amina", "greedy", rounds=2, seed=5)
    finish(again)
    assert again.record() == record


def test_undo_goes_back_to_where_a_person_chose():
    game = InteractiveGame("gabata_i", "human", "greedy", seed=1)
    assert game.undo() == 0
    before = game.position
    game.play(2)
    while game.agent_to_move is not None:
        game.play(game.agent_to_move.choose(game.position))
    played = len(game.steps)
    assert played >= 2
    assert game.undo() == played
    assert game.position == before
    assert game.steps == []
    assert game.timelines == []


def test_undo_works_across_the_end_of_a_round_and_of_the_game():
    game = InteractiveGame("leyla", rounds=2)
    finish(game)
    boards = [step.before for step in game.steps]
    while boards:
        assert game.undo() == 1
        assert game.position == boards.pop()
    assert not game.is_over


def test_two_agents_leave_nothing_to_take_back():
    game = InteractiveGame("leyla", "random", "greedy", seed=1)
    finish(game)
    assert not game.has_human
    assert game.undo() == 0
    assert game.is_over


def test_a_game_from_a_later_round_goes_up_to_that_round_unless_told():
    later = Position.from_text("layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 22-22 S round=3")
    assert InteractiveGame(later).rounds == 3
    study = Position.from_text("layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 0-0 S round=3")
    assert InteractiveGame(study).rounds == 3  # no round follows that would want the missing seeds
    for rounds in (1, 2):
        with raises(InvalidArgument, "round 3", "rounds", rounds):
            InteractiveGame(later, rounds=rounds)
    game = InteractiveGame(later, rounds=4)
    finish(game)
    assert game.outcome().rounds == 4


def test_an_error_is_reported():
    with pytest.raises(InvalidRuleset):
        InteractiveGame("leila")
    with pytest.raises(InvalidSpec):
        InteractiveGame("leyla", "gready")
    with raises(MancalaError, "seed"):
        InteractiveGame("leyla", seed=-1)
    game = InteractiveGame(Position.from_text(NEAR_THE_END))
    with pytest.raises(IllegalMove):
        game.play(0)
    finish(game)
    with raises(IllegalMove, "stuck"):
        game.play(0)


def test_a_game_is_added_to_a_file(tmp_path):
    file = tmp_path / "games.txt"
    game = InteractiveGame(Position.from_text(NEAR_THE_END))
    game.save(file)
    game.play(2)
    game.save(file)
    first, second = records.read_games(file)
    assert (len(first.turns), len(second.turns)) == (0, 1)
    assert second.start == NEAR_THE_END


@pytest.mark.parametrize(("rounds", "said"), [(1, ""), (3, ", up to round 3"), ("match", ", a match")])
def test_the_title_says_who_plays_what(rounds, said):
    game = InteractiveGame("leyla", "human:Amina", "human", rounds=rounds)
    assert game.title == f"Leyla (Wegi){said}: Amina (South) - human (North)"


def test_the_result_is_said():
    game = InteractiveGame(Position.from_text(NEAR_THE_END), "human:Amina")
    assert game.result() == "The game is not over."
    finish(game)
    assert re.fullmatch(r"(South \(Amina\)|North) wins by \d+\.|The game is a draw\.", game.result())


# Exact values of a position


def test_leads_are_what_the_rounds_end_with():
    position = Position.from_text(NEAR_THE_END)
    found = Analyst(position.ruleset, 60).solve(position)
    assert found.is_done
    assert len(found.leads) == len(position.legal_actions)
    for action, lead in found.leads.items():
        after = InteractiveGame(position)
        after.play(action)
        while not after.is_over:  # best play from there
            best = Analyst(position.ruleset, 60).solve(after.position).best
            after.play(best[0])
        south, north = after.position.counts
        assert south - north == lead
    assert max(found.leads.values()) == found.lower == found.upper
    assert found.best


def test_a_question_is_answered_from_a_thread_and_the_latest_one_wins():
    answers = []
    start, late = Position("layli_goobalay_long"), Position("layli_goobalay_long")
    late = Position.from_text("layli_goobalay_long 1,0,0,0,0,0,0,0,0,0,0,2/0,1,0,0,0,0,0,0,0,0,0,0 40-52 S")
    analyst = Analyst(start.ruleset, 600, answers.append)
    analyst.ask(start)  # takes very long
    analyst.ask(late)
    deadline = time.monotonic() + 60
    while not any(found.is_done for found in answers):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    done = [found for found in answers if found.is_done]
    assert [found.position for found in done] == [late]
    assert len(done[0].leads) == len(late.legal_actions)


def test_a_hint_is_proved_where_it_can_be_and_says_where_not():
    late = Position.from_text(NEAR_THE_END)
    analyst = Analyst(late.ruleset, 600)
    analyst.hint_seconds = 600
    action, why = analyst.hint(late)
    assert action in Analyst(late.ruleset, 60).solve(late).best
    assert why.startswith("With best play South ends the round")
    start = Position("layli_goobalay_long")
    action, why = Analyst(start.ruleset, 0.05).hint(start)
    assert action in start.legal_actions
    assert "minimax:0.5s" in why
