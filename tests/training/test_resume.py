"""Resuming a run: without unpickling, with its learning rate, as the only process in its folder."""

import io
import json
import math
import pickle
import shutil
import zipfile
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from checkpoints import Planted
from error_checks import names, raises
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from mancala_env.engine.state import STALL_COLUMN
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.rulesets import lookup
from mancala_env.training import run as command
from mancala_env.training import run_plots
from mancala_env.training.config import CONFIGS, PPOConfig, TrainConfig, read_config
from mancala_env.training.hooks import TrainingRun
from mancala_env.training.rollout import SelfPlayEnv
from mancala_env.training.run import train_or_resume
from mancala_env.training.run_folder import RunFolder, RunFolderError
from mancala_env.training.schedule import CheckpointTimes, Clock, LearningRate
from mancala_env.training.selfplay_metrics import figures
from mancala_env.training.training_state import read_learned

OLD_RUN = Path(__file__).parents[1] / "data" / "run_of_format_1"
UPDATE = 256  # environment steps: 64 games, 4 steps each


def words(folder: Path, *more: str) -> list[str]:
    """Return the arguments of a run whose updates take milliseconds."""
    return [
        "smoke", "--folder", str(folder), "--name", "run", "--selfplay.games", "64", "--ppo.steps", "4",
        "--ppo.batch_size", "128", "--network.hidden", "4", "--network.observation", "board",
        "--evaluation.games", "2", "--evaluation.opponents", "[random]", "--environment_steps", "512", *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two updates; copy it before you change it."""
    folder = tmp_path_factory.mktemp("runs")
    assert command.main(words(folder)) == 0
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def resume(run: Path, steps: int, *more: str) -> int:
    return command.main(["--resume", str(run), "--environment_steps", str(steps), *more])


def lines_of(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def repacked(path: Path, **changed: bytes | None) -> None:
    """Rewrite a checkpoint with changed members, or without those that are None."""
    with zipfile.ZipFile(path) as archive:
        content: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (content | changed).items():
            if data is not None:
                archive.writestr(name, data)


def test_a_run_that_starts_over_in_its_folder_has_no_figures_twice(run: Path) -> None:
    before = lines_of(run)
    for path in RunFolder(run).saved():
        path.unlink()
    config, _ = read_config(words(run.parent))
    train_or_resume(config, Console(quiet=True))
    steps = [line["environment_steps"] for line in before]
    assert [line["environment_steps"] for line in lines_of(run)] == steps


# Without unpickling


def traps(marker: Path) -> dict[str, bytes]:
    """A planted object in the kinds of file that a program might unpickle."""
    torch_file, legacy_file = io.BytesIO(), io.BytesIO()
    torch.save({"state": Planted(marker), "param_groups": Planted(marker)}, torch_file)
    torch.save(Planted(marker), legacy_file, _use_new_zipfile_serialization=False)
    return {
        "pickle": pickle.dumps(Planted(marker)),
        "torch": torch_file.getvalue(),
        "legacy": legacy_file.getvalue(),
    }


@pytest.mark.filterwarnings("ignore:Detected pickle protocol", "ignore:'torch.load' received a zip file")
def test_nothing_planted_in_any_member_runs_on_resume(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker, honest = tmp_path / "ran", (run / "final.zip").read_bytes()
    config, _ = read_config(["--resume", str(run)])
    outcomes = {}
    with zipfile.ZipFile(run / "final.zip") as archive:
        members = archive.namelist()
    assert {"data", "policy.pth", "policy.optimizer.pth", "pytorch_variables.pth", "progress.json"} <= set(
        members
    )
    for member in [*members, "extra.pkl"]:
        for kind, trap in traps(marker).items():
            (run / "final.zip").write_bytes(honest)
            repacked(run / "final.zip", **{member: trap})
            folder = RunFolder(run)
            try:
                checkpoint = command.newest_checkpoint(config, folder, Console(quiet=True))
                command.make_model(config, command.make_env(config, folder, 1), checkpoint)
                outcomes[member, kind] = checkpoint.name
            except RunFolderError:
                outcomes[member, kind] = "refused"
            assert not marker.exists(), (member, kind)
    refused = {member for (member, _), outcome in outcomes.items() if outcome == "refused"}
    assert refused == {"policy.pth", "policy.optimizer.pth", "progress.json", "identity.json"}
    # Run the whole program on the file that Stable-Baselines3 would unpickle. The trap works.
    (run / "final.zip").write_bytes(honest)
    repacked(run / "final.zip", data=traps(marker)["pickle"])
    assert resume(run, 768) == 0
    assert not marker.exists()
    pickle.loads(traps(marker)["pickle"])
    assert marker.exists()
    assert "Traceback" not in capsys.readouterr().err


def test_what_was_learned_is_what_the_model_continues_with(run: Path) -> None:
    config, _ = read_config(["--resume", str(run)])
    model = command.make_model(config, command.make_env(config, RunFolder(run), 1), run / "final.zip")
    theirs = MaskablePPO.load(run / "final.zip", device="cpu")
    assert [model.num_timesteps, theirs.num_timesteps] == [512, 512]
    assert model._n_updates == theirs._n_updates > 0
    for name, value in theirs.policy.state_dict().items():
        assert torch.equal(model.policy.state_dict()[name], value)
    ours, saved = (each.policy.optimizer.state_dict() for each in (model, theirs))
    assert len(ours["state"]) == len(saved["state"]) > 0
    for number, state in saved["state"].items():
        assert all(torch.equal(ours["state"][number][key], value) for key, value in state.items())
    assert model.clock.seconds >= read_learned(run / "final.zip").progress.seconds > 0


def test_a_run_resumed_from_a_seed_repeats_bit_for_bit(run: Path, tmp_path: Path) -> None:
    again = Path(shutil.copytree(run, tmp_path / "again"))
    for folder in (run, again):
        assert resume(folder, 1024) == 0
    first, second = (read_learned(folder / "final.zip") for folder in (run, again))
    assert all(torch.equal(value, second.weights[name]) for name, value in first.weights.items())


@pytest.mark.parametrize(
    "state",
    [
        [1, 2],
        {"state": {0: {"step": 1}}, "param_groups": [{"lr": 0.1}]},
        {"state": {}, "param_groups": [{"lr": math.nan}]},
        {"state": {}, "param_groups": [{"lr": -1.0}]},
        {
            "state": {0: {key: torch.zeros(3) for key in ("step", "exp_avg", "exp_avg_sq")}},
            "param_groups": [{"lr": 0.1}],
        },
    ],
)
def test_an_invalid_optimizer_state_is_refused(
    run: Path, state: object, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = io.BytesIO()
    torch.save(state, packed)
    repacked(run / "final.zip", **{"policy.optimizer.pth": packed.getvalue()})
    assert resume(run, 1024) == 2
    said = capsys.readouterr().err
    assert names(said, run / "final.zip")
    assert "optimizer" in said
    assert read_identity(run / "final.zip").environment_steps == 512


@pytest.mark.parametrize(
    "said", [b"{}", b"[]", b'{"seconds": 1e999, "updates": 1}', b'{"seconds": -1, "updates": 1}']
)
def test_progress_that_is_none_is_refused(run: Path, said: bytes) -> None:
    repacked(run / "final.zip", **{"progress.json": said})
    with raises(InvalidCheckpoint, "progress.json"):
        read_learned(run / "final.zip")


def test_a_run_of_an_earlier_version_continues(tmp_path: Path) -> None:
    run = Path(shutil.copytree(OLD_RUN, tmp_path / "old"))
    (run / "checkpoints").mkdir()
    learned = read_learned(run / "final.zip")
    assert learned.progress.updates == 4
    assert 0 < learned.progress.seconds < 60
    assert resume(run, 1024) == 0
    assert read_identity(run / "final.zip").environment_steps == 1024
    with zipfile.ZipFile(run / "final.zip") as archive:
        assert "progress.json" in archive.namelist()
    assert "turns" in lines_of(run)[0]
    assert lines_of(run)[-1]["environment_steps"] == 1024
    assert [line["environment_steps"] for line in run_plots.read_metrics(run / "metrics.jsonl")] == [
        256,
        512,
        768,
        1024,
    ]


# The learning rate


@pytest.mark.slow
def test_the_rate_of_a_longer_run_resumes_from_where_it_was(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, _ = read_config(["--resume", str(run)])
    assert resume(run, 2048) == 0
    rates = [line["train/learning_rate"] for line in lines_of(run) if "train/learning_rate" in line]
    assert len(rates) > 4
    assert rates == sorted(rates, reverse=True), "it never rises"
    assert rates[-1] == pytest.approx(config.ppo.final_learning_rate)
    # New rates on the command line start at their first value.
    assert resume(run, 2560, "--ppo.learning_rate", "0.5", "--ppo.final_learning_rate", "0.25") == 0
    assert 0.25 <= lines_of(run)[-1]["train/learning_rate"] <= 0.5


def test_a_run_resumed_half_way_keeps_to_the_same_line() -> None:
    ppo = PPOConfig(learning_rate=0.01, final_learning_rate=0.002)
    whole = LearningRate.of(ppo)
    resumed = LearningRate.resumed(ppo, ppo, whole.at(0.5), 0.5)
    for done in (0.5, 0.625, 0.75, 1.0):
        assert resumed.at(done) == pytest.approx(whole.at(done))
    finished = LearningRate.resumed(ppo, ppo, 0.002, 1.0)
    assert finished.at(1.0) == 0.002
    longer = LearningRate.resumed(ppo, ppo, 0.002, 1 / 6)
    assert [longer.at(done) for done in (1 / 6, 0.5, 1.0)] == pytest.approx([0.002] * 3)


def test_checkpoints_that_a_long_wait_missed_are_not_made_up_for() -> None:
    now = [0.0]
    config = TrainConfig(minutes=10.0, checkpoint_minutes=1.0)
    times, due = CheckpointTimes(config, Clock(config, 0.0, lambda: now[0]), 0), []
    for second in range(450, 610):  # distillation took 7.5 minutes
        now[0] = float(second)
        due += [second] * times.is_due(second)
    assert due == [450, 480, 540, 600]


# One process per folder


def hold(run: Path, pipe: Connection) -> None:
    with RunFolder(run).locked():
        pipe.send("held")
        pipe.recv()


@pytest.mark.slow
def test_a_second_process_on_a_run_is_refused_and_a_killed_one_holds_nothing(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = Pipe()
    holder = get_context("fork").Process(target=hold, args=(run, there))
    holder.start()
    try:
        assert here.poll(60)
        (run / ".half.part").write_text("the first one's", encoding="utf-8")
        before = (run / "config.yaml").read_bytes()
        assert resume(run, 1024) == 2
        assert f"process {holder.pid} on " in capsys.readouterr().err
        assert (run / ".half.part").exists(), "what the first one writes is left alone"
        assert (run / "config.yaml").read_bytes() == before
    finally:
        holder.kill()
        holder.join()
    assert resume(run, 768) == 0
    assert not (run / ".half.part").exists()


# Its best checkpoint


def test_the_best_checkpoint_is_kept_beside_the_last(tmp_path: Path) -> None:
    more = ("--checkpoint_minutes", "0", "--evaluation.checkpoint_games", "20", "--environment_steps", "1024")
    assert command.main(words(tmp_path, *more)) == 0
    run = tmp_path / "run"
    best = json.loads((run / "best.json").read_text(encoding="utf-8"))
    rates = [line["evaluation/random"] for line in lines_of(run) if "evaluation/random" in line]
    assert best["score"] >= max(rates)
    kept = run / best["checkpoint"]
    if not kept.exists():
        kept = run / "checkpoints" / best["checkpoint"]
    assert (run / "best.zip").read_bytes() == kept.read_bytes()


def test_lines_that_hold_no_figures_are_passed_over_and_damaged_starts_are_named(run: Path) -> None:
    figures_before = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(b"garbage\n\xff\n[1]\n" + figures_before)
    assert command.main(["--resume", str(run), "--environment_steps", "768"]) == 0
    assert len(run_plots.read_metrics(run / "metrics.jsonl")) == len(figures_before.splitlines()) + 1
    (run / "run.json").write_text("{", encoding="utf-8")
    with raises(RunFolderError, "run.json"):
        RunFolder(run).note_start()


def test_a_checkpoint_is_the_best_only_above_the_best_before(run: Path) -> None:
    folder, final = RunFolder(run), run / "final.zip"
    (run / "best.json").unlink(missing_ok=True)
    assert folder.keep_best(final, 0.5, ["random"])
    assert not folder.keep_best(final, 0.5, ["random"])
    assert not folder.keep_best(final, 0.4, ["random"])
    assert folder.keep_best(final, 0.6, ["random"])
    assert folder.keep_best(final, 0.1, ["greedy"]), "against others, scores before say nothing"
    (run / "best.json").write_text("{}", encoding="utf-8")
    with raises(RunFolderError, "best.json"):
        folder.keep_best(final, 0.7, ["greedy"])


def kill_keep_best(folder: RunFolder, checkpoint: Path, after: str, monkeypatch) -> None:
    """Kill the process that stores a best checkpoint after it has written a file."""

    def kill_after(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        if path.name == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mancala_env.training.run_folder.write_atomically", kill_after)
        with pytest.raises(KeyboardInterrupt):
            folder.keep_best(checkpoint, 0.9, ["random"])


@pytest.mark.parametrize("after", ["best.json", "best.zip"])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_worse_checkpoint_never_follows_a_kill_while_the_best_was_written(
    run: Path, after: str, is_first: bool, monkeypatch
) -> None:
    folder = RunFolder(run)
    early, good, late = (folder.checkpoints / f"{name}.zip" for name in ("early", "good", "late"))
    for path in (early, good, late):
        path.write_bytes(path.name.encode())
    for name in ("best.json", "best.zip"):
        (run / name).unlink(missing_ok=True)
    if not is_first:
        assert folder.keep_best(early, 0.5, ["random"])
    kill_keep_best(folder, good, after, monkeypatch)
    assert not folder.keep_best(late, 0.7, ["random"])
    assert (run / "best.zip").read_bytes() == b"good.zip"
    assert folder.keep_best(late, 0.95, ["random"])
    assert (run / "best.zip").read_bytes() == b"late.zip"


@pytest.mark.parametrize("after", ["best.json", "best.zip"])
def test_a_kill_while_the_last_checkpoint_became_the_best_is_repaired(
    run: Path, after: str, monkeypatch
) -> None:
    """A longer run overwrites final.zip, so best.zip cannot be repaired from it."""
    folder, final = RunFolder(run), run / "final.zip"
    early = folder.checkpoints / "early.zip"
    for path in (early, final):
        path.write_bytes(path.name.encode())
    for name in ("best.json", "best.zip"):
        (run / name).unlink(missing_ok=True)
    assert folder.keep_best(early, 0.5, ["random"])
    kill_keep_best(folder, final, after, monkeypatch)
    folder.keep_best(final, 0.9, ["random"])  # a run that resumes at its end evaluates it again
    assert (run / "best.zip").read_bytes() == b"final.zip"
    assert json.loads((run / "best.json").read_text())["checkpoint"] == "final.zip"


def test_a_resumed_checkpoint_is_evaluated_again(tmp_path: Path) -> None:
    """The metrics with its win rates follow it, so they were removed or never written."""
    more = ("--checkpoint_minutes", "0", "--evaluation.checkpoint_games", "20", "--environment_steps", "1280")
    assert command.main(words(tmp_path, *more)) == 0
    run = tmp_path / "run"

    def rates() -> dict[float, float | None]:
        return {line["environment_steps"]: line.get("evaluation/random") for line in lines_of(run)}

    before = rates()
    (run / "final.zip").unlink()
    resumed, *later = sorted((run / "checkpoints").glob("*.zip"))[1:]
    for path in later:
        path.unlink()
    (run / "best.json").unlink()
    steps = read_identity(resumed).environment_steps
    assert resume(run, int(steps) + UPDATE) == 0
    assert before[steps + UPDATE] is not None
    assert rates() == {at: rate for at, rate in before.items() if at <= steps + UPDATE}
    assert (run / "best.json").is_file()


# Custom callbacks


class Twice(BaseCallback):
    """Ends training after the first update, and again after the second."""

    def _on_training_start(self) -> None:
        self._start = self.model.num_timesteps

    def _on_step(self) -> bool:
        return self.model.num_timesteps == self._start or self.model.num_timesteps > 5000


def test_the_clock_stands_still_between_pieces_and_the_folder_stays_locked(tmp_path: Path) -> None:
    config, _ = read_config(
        ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--environment_steps", "8192",
         "--evaluation.checkpoint_games", "0"]
    )  # fmt: skip
    run, hours = RunFolder.create(config), [0.0]
    steps, ended = [], []
    with command.started(
        config, run, Console(quiet=True), callbacks=[Twice()], now=lambda: 3600 * hours[0]
    ) as training:
        for _ in range(3):
            checkpoint, stopped_by = command.train_further(training)
            learned = read_learned(checkpoint)
            assert learned.progress.seconds == 0
            steps.append(read_identity(checkpoint).environment_steps)
            ended.append(stopped_by)
            with training.paused():
                hours[0] += 1
            with pytest.raises(RunFolderError), run.locked():
                pass
    assert ended == ["a callback", "a callback", None]
    assert steps == [2048, 4096, 8192]
    with run.locked():
        pass


def test_a_run_in_pieces_that_is_left_is_free(tmp_path: Path) -> None:
    config, _ = read_config(
        ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--environment_steps", "8192"]
    )
    run = RunFolder.create(config)
    with command.started(config, run, Console(quiet=True), callbacks=[Twice()]) as training:
        command.train_further(training)
    with run.locked():
        pass


def test_a_custom_callback_logs_and_ends_a_run(tmp_path: Path) -> None:
    class Mine(BaseCallback):
        def _on_step(self) -> bool:
            self.logger.record("mine/steps", self.model.num_timesteps)
            return self.model.num_timesteps < 512

    config, _ = read_config(words(tmp_path, "--environment_steps", "100000"))
    run = RunFolder.create(config)
    _, stopped_by = command.train(config, run, Console(quiet=True), callbacks=[Mine()])
    assert stopped_by == "a callback"
    assert read_identity(run.path / "final.zip").environment_steps == 512
    assert [line["mine/steps"] for line in lines_of(run.path)] == [0, 256]


def test_callbacks_are_an_argument_of_train_too(tmp_path: Path) -> None:
    class Counting(BaseCallback):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[int] = []

        def _on_step(self) -> bool:
            self.seen.append(self.model.num_timesteps)
            return True

    config, _ = read_config(words(tmp_path))
    counting = Counting()
    command.train(config, RunFolder.create(config), Console(quiet=True), callbacks=[counting])
    assert counting.seen == [0, 256, 512]


def test_hooks_are_called_before_each_rollout_and_can_stop_a_run(tmp_path: Path) -> None:
    steps: list[int] = []

    def hook(run: TrainingRun) -> None:
        steps.append(run.model.num_timesteps)
        if len(steps) == 3:
            run.stop("my hook")

    config, _ = read_config(words(tmp_path, "--environment_steps", "100000"))
    final, stopped_by = command.train(config, RunFolder.create(config), Console(quiet=True), hooks=[hook])
    assert steps == [0, 256, 512]
    assert stopped_by == "my hook"
    assert read_identity(final).environment_steps == 512


# What self-play looks like


def test_the_games_of_self_play_are_counted_as_they_are() -> None:
    """Count independently from the arrays of a step, without games against the pool."""
    ruleset = lookup("gabata_i")
    env = SelfPlayEnv(ruleset, "board", 32, pool=["random"], pool_share=0.5, seed=1, num_threads=1)
    env.reset()
    lengths, ended, south = [0] * 16, [], 0
    for _ in range(300):
        players = env.players.copy()
        _, rewards, dones, _ = env.step(env.action_masks().argmax(axis=1))
        for b in range(16):
            lengths[b] += 1
            if dones[b]:
                south += (rewards[b] > 0) if players[b] == 0 else (rewards[b] < 0)
                ended.append(lengths[b])
                lengths[b] = 0
    counts = env.statistics.take()
    assert counts["games"] == len(ended) > 16
    assert counts["turns"] == sum(ended)
    assert counts["south"] == south
    assert counts["south"] + counts["north"] + counts["draws"] == len(ended)
    shown = figures(counts)
    assert shown["selfplay/turns_per_game"] == pytest.approx(sum(ended) / len(ended))
    assert figures(env.statistics.take()) == {}


@pytest.mark.parametrize(("stall", "figure"), [(0, "endless_relay_rate"), (STALL_LIMIT - 3, "stall_rate")])
def test_ends_by_rule_are_among_the_figures(stall: int, figure: str) -> None:
    env = SelfPlayEnv(
        lookup("layli_goobalay"), "board", 512, opening_turns=4, opening_share=1, seed=1, num_threads=1
    )
    env.reset()
    env._parts[0][1].games[:, STALL_COLUMN] = stall
    rng = torch.Generator().manual_seed(1)
    for _ in range(80):
        masks = torch.from_numpy(env.action_masks()).float()
        env.step(torch.multinomial(masks, 1, generator=rng).squeeze(1).numpy())
    assert 0 < figures(env.statistics.take())[f"selfplay/{figure}"] < 1


# The report


def test_a_run_that_is_at_its_end_says_so(run: Path, capsys) -> None:
    assert resume(run, 256) == 0
    assert "Its end of 256 environment steps is reached: set a later" in capsys.readouterr().out
