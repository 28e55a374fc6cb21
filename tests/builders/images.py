"""Drawn images, and images as requests hold them."""

import base64
import io
import struct
import zlib
from typing import Any

from fakes.server import Sent
from PIL import Image, ImageDraw

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def quarters(width: int = 40, height: int = 20) -> Image.Image:
    """Red and green above blue and white."""
    image = Image.new("RGB", (width, height), "white")
    draw, middle, half = ImageDraw.Draw(image), width // 2 - 1, height // 2 - 1
    draw.rectangle((0, 0, middle, half), fill="red")
    draw.rectangle((middle + 1, 0, width, half), fill="lime")
    draw.rectangle((0, half + 1, middle, height), fill="blue")
    return image


def saved(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    """The file of an image."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **more)
    return buffer.getvalue()


def png_chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk as a PNG has it, with its length and its sum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims any size."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + png_chunk(b"IDAT", zlib.compress(b"")) + png_chunk(b"IEND", b"")


def decoded(uri: str) -> tuple[Image.Image, str]:
    """The image in a data URI, and its type."""
    head, _, payload = uri.partition(";base64,")
    return Image.open(io.BytesIO(base64.b64decode(payload, validate=True))), head.removeprefix("data:")


def corners(image: Image.Image) -> list[Any]:
    """Colours of the four corners, row by row."""
    image = image.convert("RGB")
    right, bottom = image.width - 1, image.height - 1
    return [image.getpixel(location) for location in ((0, 0), (right, 0), (0, bottom), (right, bottom))]


def shown(sent: Sent) -> list[str | Image.Image]:
    """Texts and images of the last message of a request, in their order."""
    content = sent.messages[-1]["content"]
    if isinstance(content, str):
        return [content]
    return [part["text"] if part["type"] == "text" else decoded(part["image_url"]["url"])[0] for part in content]


def images_of(sent: Sent) -> list[Image.Image]:
    """The images of a request."""
    return [part for part in shown(sent) if isinstance(part, Image.Image)]
