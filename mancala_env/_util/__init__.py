"""Code that several packages share; not part of the public interface.

| module | content |
|---|---|
| `checks` | argument checks of the public API: whole numbers, choices, masks, seeds |
| `command_line` | the parser of all commands, one-line errors and exit statuses |
| `settings` | settings with ranges as fields of dataclasses |
| `files` | atomic writes of files |
| `archives`, `tensors` | zip and npz files, and safetensors files, read within size limits |
| `package_data` | paths of the bundled data files |
| `output_streams`, `stop_signals` | output to a closed pipe; SIGTERM and SIGHUP handled like Ctrl-C |
"""
