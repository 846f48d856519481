"""The games in a terminal: a board to click and type on, and a plain program that talks in lines."""
