"""Addresses of positions on the browser page; `address.js` reads them."""

import re
from urllib.parse import quote

from mancala_env._util.checks import one_of
from mancala_env.games.position import Position
from mancala_env.games.records import options_of

VIEWS = ("play", "study")
"""Views of the page that open a position."""


def page_address(position: Position, view: str = "play") -> str:
    """Return the part of the page's address that opens a position, from `#` on.

    >>> from mancala_env import Position
    >>> page_address(Position("leyla"), view="study")
    '#study/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S'

    Args:
        position: The position. Rule options of a ruleset of your own become part of the address.
        view: "play" to continue the game, or "study" to analyse it.

    Raises:
        InvalidArgument: `view` is unknown.
    """
    one_of("view", view, VIEWS)
    ruleset = position.ruleset
    dials = [] if ruleset.is_bundled else options_of(ruleset)
    # A name may contain these letters. They are encoded twice, because the page decodes the address
    # before it splits it.
    text = re.sub("[%+;]", lambda found: quote(quote(found[0], safe=""), safe=""), position.to_text())
    return f"#{view}/" + ";".join((text.replace(" ", "+"), *dials))
