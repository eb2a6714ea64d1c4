"""Goal: the pictures of the docs show what the code does now, and their text is text."""

from xml.etree import ElementTree

import pytest

from tools.pictures import FOLDER, PICTURES
from tools.tables import DOCS


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_script_draws(name: str) -> None:
    drawn = PICTURES[name]()
    assert (FOLDER / name).read_text() == drawn, f"run: python tools/pictures.py ({name} is out of date)"
    texts = [each.text for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("}text")]
    assert len(texts) > 5
    assert all(texts)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_shown_on_a_page(name: str) -> None:
    assert any(f"(pictures/{name})" in page.read_text() for page in DOCS.glob("*.md"))
