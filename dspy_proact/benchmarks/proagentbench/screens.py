"""Screenshots: what names one, and its bytes, which are got when a program asks.

No view and no answer holds an image, or the name of its file, which may tell what is on it.
"""

import textwrap
from io import BytesIO

from pydantic import Field

from dspy_proact.files.rows import read_bytes
from dspy_proact.types import Frozen

FOLDER = "screenshots"
"""Beside the database."""
DRAWN = (640, 360)
"""Width and height of the sample's, in pixels."""


class Screenshot(Frozen):
    """The last image of the screen that was taken during an event."""

    name: str
    """Person and event."""
    width: int
    """In pixels, likewise the height."""
    height: int
    file: str = Field(default="", exclude=True, repr=False)
    """Its path, which nothing keeps; empty where it is drawn."""

    def contents(self, title: str, text: str) -> bytes:
        """The file, or a drawing of a window with a title and a text; raises `CorpusError` where it cannot be read."""
        if self.file:
            return read_bytes(self.file, "the screenshot")
        from PIL import Image, ImageDraw

        image, buffer = Image.new("RGB", DRAWN, "white"), BytesIO()
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, DRAWN[0], 30), fill="#20304a")
        draw.text((10, 10), title, fill="white")
        draw.multiline_text((10, 50), textwrap.fill(text, 90), fill="black")
        image.save(buffer, "PNG")
        return buffer.getvalue()
