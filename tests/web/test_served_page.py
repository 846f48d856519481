"""The page from `mancala serve`: a checkpoint plays, and a server that is started again is found again."""

from pathlib import Path

import pytest
from test_page import Open, open_page, status, wait_for_you  # noqa: F401
from test_server import CHECKPOINT, served

pytest.importorskip("torch", reason="a checkpoint plays with torch")


class _At:
    """What the fixture of the page asks of a server of files."""

    def __init__(self, address: str) -> None:
        self.address = address


@pytest.fixture
def site(tmp_path: Path):
    (tmp_path / "small.zip").write_bytes(CHECKPOINT.read_bytes())
    with served(checkpoints=tmp_path, memory_mb=64) as address:
        yield _At(f"http://{address}/")


def test_a_checkpoint_plays(open_page: Open) -> None:  # noqa: F811
    page = open_page()
    page.get_by_label("Opponent").select_option("served:small.zip")
    page.get_by_role("button", name="Start").click()
    for key in "123456":
        page.keyboard.press(key)
        assert wait_for_you(page)
    page.get_by_role("link", name="Study").click()
    page.get_by_label("The position as text").fill("layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("All values are exact").wait_for(timeout=120_000)  # kernels may be compiled
