"""Training of self-play agents; `python training/train.py --help`."""
