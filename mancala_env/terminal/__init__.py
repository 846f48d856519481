"""Playing in a terminal: on a board with keys and mouse, or as plain lines of text.

| module | content |
|---|---|
| `game` | `InteractiveGame`: players, turns played, undo and recording, without a screen |
| `hints` | `Analyst`: exact values and hints, computed in a thread |
| `app` | `PlayApp`: the Textual program |
| `widgets` | its widgets: the board, the status line, the help screen |
| `board_drawing` | the board drawn in character cells |
| `plain` | `PlainPlay`: the game as lines of text, also for screen readers |
"""
