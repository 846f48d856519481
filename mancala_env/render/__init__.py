"""Pictures of positions and turns.

| module | content |
|---|---|
| `scene` | a position as plain shapes, from which all formats are drawn |
| `motion` | the events of a turn with their times; events in words |
| `colours` | light and dark palettes |
| `svg` | SVG documents, still and animated |
| `pixels` | images and frames, drawn with pillow |
| `window` | a window in a process of its own, with pygame-ce |
| `text` | plain text for a terminal |
"""
