"""Runs that are repeated: each is named after its configuration, and resumes in its folder."""

from pathlib import Path

from rich.console import Console

from mancala_env._util.settings import flat
from mancala_env.training.config import CONFIG_FILE, InvalidConfig, TrainConfig, read_file
from mancala_env.training.run import train
from mancala_env.training.run_folder import RunFolder

# Settings that may change when a run is resumed.
_MAY_DIFFER = ("minutes", "checkpoint_minutes", "checkpoint_steps", "folder", "name")


def train_or_resume(config: TrainConfig, console: Console) -> tuple[RunFolder, Path, str | None]:
    """Train in the folder of the configuration's name; a run that exists there is resumed.

    Returns:
        The run's folder, and what :func:`train` returns.

    Raises:
        InvalidConfig: The folder holds a run with other settings.
    """
    place = Path(config.folder) / str(config.name)
    if (place / CONFIG_FILE).is_file():
        before = flat(TrainConfig().as_dict()) | read_file(place / CONFIG_FILE)
        for name, value in flat(config.as_dict()).items():
            if name not in _MAY_DIFFER and not name.startswith("evaluation.") and before[name] != value:
                raise InvalidConfig(
                    f"{place} holds a run with {name} {before[name]}, not {value}; name another --folder"
                )
    run = RunFolder(place) if place.is_dir() else RunFolder.create(config)
    checkpoint, stopped_by = train(config, run, console, resume=bool(run.saved()))
    return run, checkpoint, stopped_by
