"""Code that several packages share; not part of the public interface.

| module | content |
|---|---|
| `checks` | argument checks of the public API: arrays, numbers, choices, masks, seeds, swapped arguments |
| `command_line` | the parser of all commands, one-line errors and exit statuses |
| `settings` | settings with ranges as fields of dataclasses |
| `files` | atomic writes and locks of files |
| `archives`, `tensors` | zip and npz files, and safetensors files, read within size limits |
| `package_data` | paths of the bundled data files, and of files prepared for a ruleset of your own |
| `tabular` | results as pandas frames and CSV |
| `installation` | the pip command that adds an extra |
| `output_streams`, `stop_signals` | output to a closed pipe; SIGTERM and SIGHUP handled like Ctrl-C |
"""
