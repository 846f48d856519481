"""The page can be installed: its manifest, and icons that show what `icon.svg` shows."""

import json
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mancala_env.render.colours import PALETTES
from tools import make_icons
from tools.make_icons import FOLDER


@pytest.fixture
def manifest() -> dict[str, Any]:
    return json.loads((FOLDER / "manifest.webmanifest").read_text(encoding="utf-8"))


def test_the_manifest_has_what_browsers_need_to_install_a_page(manifest: dict[str, Any]) -> None:
    # https://web.dev/articles/install-criteria
    assert manifest["name"]
    assert 0 < len(manifest["short_name"]) <= 12
    assert manifest["display"] == "standalone"
    assert manifest["start_url"] == manifest["scope"] == manifest["id"] == "./"
    purposes = {(icon["sizes"], icon.get("purpose", "any")) for icon in manifest["icons"]}
    assert {("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")} <= purposes


def test_the_colours_are_those_of_the_page(manifest: dict[str, Any]) -> None:
    assert manifest["theme_color"] == manifest["background_color"] == PALETTES["light"]["paper"]
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'"theme-color" content="(\S+)" media="\(prefers-color-scheme: (\w+)\)">', page)
    assert named == [(palette["paper"], theme) for theme, palette in PALETTES.items()]


def test_icons_have_their_size_and_are_small(manifest: dict[str, Any]) -> None:
    images = [icon for icon in manifest["icons"] if icon["type"] == "image/png"]
    assert sorted(icon["src"] for icon in images) == sorted(make_icons.FILES)
    for icon in images:
        file = FOLDER / icon["src"]
        with Image.open(file) as image:
            assert f"{image.width}x{image.height}" == icon["sizes"]
        assert file.stat().st_size < 16_000


@pytest.mark.generated
@pytest.mark.parametrize("name", make_icons.FILES)
def test_icons_are_drawn_from_the_svg(name: str) -> None:
    size, is_maskable = make_icons.FILES[name]
    with Image.open(FOLDER / name) as image:
        found = np.asarray(image.convert("RGBA"), dtype=int)
    wanted = np.asarray(make_icons.drawn(size, is_maskable=is_maskable), dtype=int)
    # Versions of pillow differ in rounding, and the files have few colours.
    assert np.abs(found - wanted)[wanted[:, :, 3] == 255].mean() < 3
    corner = 255 if is_maskable else 0
    assert found[0, 0, 3] == wanted[0, 0, 3] == corner
