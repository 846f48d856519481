"""How this package was installed, and the command that adds an extra to it.

The package is on no index, so `pip install mancala-env[train]` fails. pip records where a package came from
(PEP 610, ``direct_url.json``); the command names that place, and works in every folder.
"""

import json
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "mancala-env"


def pip_command(extra: str) -> str:
    """Return the command that installs an extra from where this package came from.

    Without a record, such as on a copied package, it is the command for a checkout.
    """
    origin = _origin()
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f'pip install {editable}"{url2pathname(urlsplit(url).path)}[{extra}]"'
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f'pip install "{_NAME}[{extra}] @ {vcs["vcs"]}+{url}@{vcs["commit_id"]}"'
    if "archive_info" in origin:
        return f'pip install "{_NAME}[{extra}] @ {url}"'
    return f'pip install ".[{extra}]"'


def _origin() -> dict[str, Any]:
    """Return pip's record of the imported package's origin; empty without one."""
    try:
        installed = metadata.distribution(_NAME)
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return {}
    # A copy on PYTHONPATH may hide an installed package.
    package = Path(__file__).resolve().parents[1]
    is_editable = origin.get("dir_info", {}).get("editable", False)
    place = url2pathname(urlsplit(origin.get("url", "")).path) if is_editable else installed.locate_file("")
    return origin if package.is_relative_to(Path(str(place)).resolve()) else {}
