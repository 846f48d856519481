"""Draw the picture of docs/guides/terminal.md: python tests/support/terminal_picture.py."""

import asyncio
import re
from pathlib import Path

from mancala_env._util.command_line import Parser
from mancala_env.terminal.app import PlayApp
from mancala_env.terminal.game import InteractiveGame

PICTURE = Path(__file__).parent.parent.parent / "docs" / "img" / "play.svg"


async def drawn() -> str:
    """Return the terminal in the middle of a turn, as SVG, without links to fonts.

    It carries the position before the turn, which the site links to.
    """
    game = InteractiveGame("gabata_i", "human:Amina", "minimax:6", seed=1)
    for _ in range(8):
        agent = game.agent_to_move
        game.play(game.position.legal_actions[-1] if agent is None else agent.choose(game.position))
    before = game.position.to_text()
    app = PlayApp(game, 0.1)
    async with app.run_test(size=(112, 25)) as pilot:
        await pilot.press("space", str(game.position.legal_actions[-1] + 1), *["full_stop"] * 12)
        picture = app.export_screenshot(title="mancala play --ruleset gabata_i --north minimax:6")
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)
    return picture.replace("<svg ", f'<svg data-position="{before}" ', 1)


if __name__ == "__main__":
    Parser(prog="python tests/support/terminal_picture.py", description=__doc__).parse_args()
    PICTURE.write_text(asyncio.run(drawn()), encoding="utf-8")
