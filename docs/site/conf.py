"""Sphinx's configuration; make_site.py calls Sphinx with the pages it has written."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from pages import REPOSITORY, ROOT

from mancala_env.version import __version__

project = "mancala-env"
author = "the mancala-env contributors"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "study_links"]
pygments_style, pygments_dark_style = "xcode", "monokai"
highlight_language = "default"  # Python where it is, without a warning where it is not

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # notebooks/execute.py runs them, and the tests

html_theme = "furo"
html_title = f"mancala-env {__version__}"
html_static_path = ["static"]
html_favicon = str(ROOT / "mancala_env" / "web" / "icon.svg")
html_logo = html_favicon
html_css_files = ["site.css", "start.css"]
html_show_sphinx = html_copy_source = False
html_theme_options = {
    "footer_icons": [{"name": "GitHub", "url": REPOSITORY, "html": "", "class": ""}],
    "light_css_variables": {"color-brand-primary": "#a5462c", "color-brand-content": "#a5462c"},
    "dark_css_variables": {"color-brand-primary": "#e79a72", "color-brand-content": "#e79a72"},
}
