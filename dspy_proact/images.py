"""Images: what names one, and how the bytes of a stranger become an image that can be sent or shown.

Nothing of an image is kept. A `Picture` names one, and that alone stands in views, answers, events and manifests; an
`Upload` holds what is sent for as long as it is sent, and prints none of it.

What is sent is made anew from the colours: turned as the file says it is to be seen, on white where it is transparent,
scaled down, and without profile, place or comment. It is a JPEG of quality 95 where the file was one, else a PNG, and
the same bytes give the same upload wherever the same version of Pillow makes it. Animations are refused: which of their
frames a model was shown could not be told.
"""

import asyncio
import base64
import hashlib
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from dspy_proact.errors import ContentError, CorpusError
from dspy_proact.plain_text import printable, shortened
from dspy_proact.types import Frozen

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels of an image as it is seen; what lies outside of the image is black."""
LONGEST = 1024
"""Pixels of the longer side of an upload, unless more or fewer are asked for."""
MOST_BYTES, MOST_PIXELS = 64 << 20, 40_000_000
"""Of an image: a screen of 7680 x 4320 has 33 million pixels. So many are decoded at a time, of all images together."""
_BLOCK = 64 << 20
"""Bytes: above 32 MiB, up to which glibc keeps what is freed."""
_MOST_SCANS = 200
"""Scans of a JPEG; decoding each of them takes as long as the whole image."""
_ENDINGS = {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "webp": "WEBP", "gif": "GIF", "bmp": "BMP"}
_FORMATS = tuple(dict.fromkeys(_ENDINGS.values()))
_TOO_LARGE = f"has more than {MOST_PIXELS // 10**6} megapixels; scale it down"
_ORIENTATION = 0x0112
_TURNS = "FLIP_LEFT_RIGHT ROTATE_180 FLIP_TOP_BOTTOM TRANSPOSE ROTATE_270 TRANSVERSE ROTATE_90".split()  # noqa: SIM905
"""What undoes the values of EXIF's orientation from 2 to 8, in Pillow's words."""
_DESCRIPTION = "Description"
"""Keyword of a PNG's text, as its specification has it."""


class Picture(Frozen):
    """An image by its name, without its bytes."""

    name: str
    """As people find it, such as the member of an archive."""
    sha256: str
    """Of the file, in hexadecimal."""
    width: int
    """In pixels, as the image is seen; likewise the height."""
    height: int


@dataclass(frozen=True)
class Upload:
    """An image as it is sent."""

    picture: Picture
    uri: str = field(repr=False)
    """A data URI; `dspy.Image(uri)` makes it an input of a program."""
    size: tuple[int, int]
    """Width and height in pixels, as sent."""

    @property
    def sha256(self) -> str:
        """Of the bytes that are sent, in hexadecimal."""
        return hashlib.sha256(base64.b64decode(self.uri.partition(",")[2])).hexdigest()


def scaled(width: int, height: int, longest: int = LONGEST) -> tuple[int, int]:
    """Width and height after scaling down to a longest side; they stay where they are within it."""
    share = min(1.0, longest / max(width, height))
    return max(1, round(width * share)), max(1, round(height * share))


def measured(file: IO[bytes], name: str, source: str) -> tuple[int, int]:
    """Width and height of an image, from the beginning of its file alone, before it is turned.

    The file is open at its beginning; `name` and `source` are as `prepare` takes them. Raises a `CorpusError` where it
    is no image that `prepare` takes, as far as that is seen there.
    """
    with _opened(file, name, source) as image:
        return image.size


def prepare(
    data: bytes, name: str, source: str, *, longest: int = LONGEST, crop: Box | None = None, description: str = ""
) -> Upload:
    """An image as it is sent.

    Args:
        data: The file.
        name: That its `Picture` has; its ending names the format that is expected, if any.
        source: Where the image stands, as a message names it.
        longest: Pixels of the longer side, to which it is scaled down.
        crop: The area that is sent, before scaling; all of it without one.
        description: Of what is seen, which `described` reads back: for images of our own and the embedded model, which
            sees nothing. The upload is a PNG then. Descriptions of strangers are not sent.

    Raises:
        CorpusError: It is no image, or one that is not taken; the message says why, in a sentence.
    """
    with _decoded(data, name, source, crop) as (image, seen, lossy):
        small = _shrunk(image, longest)
        uri = _encoded(small, lossy and not description, description=description)
        picture = Picture(name=name, sha256=hashlib.sha256(data).hexdigest(), width=seen[0], height=seen[1])
        return Upload(picture, uri, small.size)


def prepared_now(load: Callable[[], bytes], name: str, source: str, **more: Any) -> Upload:
    """The upload of one case, whose file `load` reads; the rest is as `prepare` takes it.

    Raises a `ContentError` where there is no such image, or it is not taken: nothing may be asked about it.
    """
    try:
        return prepare(load(), name, source, **more)
    except CorpusError as error:
        raise ContentError("image", str(error)) from error


async def prepared(load: Callable[[], bytes], name: str, source: str, **more: Any) -> Upload:
    """Async version of `prepared_now`, in a thread."""
    return await asyncio.to_thread(prepared_now, load, name, source, **more)


def thumbnail(data: bytes, name: str, source: str, *, longest: int = 160, crop: Box | None = None) -> str:
    """A small JPEG of an image, as a data URI, for a page; raises as `prepare` does."""
    with _decoded(data, name, source, crop) as (image, _, _):
        return _encoded(_shrunk(image, longest), lossy=True, quality=60)


def described(data: bytes) -> str:
    """The description in a PNG that `prepare` or a drawing of ours wrote; empty without one."""
    text: Any = ""
    with suppress(Exception), _pillow().open(BytesIO(data), formats=("PNG",)) as image:  # of any kind, as below
        text = image.info.get(_DESCRIPTION, "")
    return str(text)


@cache
def _pillow() -> Any:
    """Pillow, imported at its first use, with its limits kept: too large an image is an error and no warning."""
    from PIL import Image

    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
    # So large a block goes back to the system when it is freed. One of Pillow's 16 MiB stays with the thread that freed
    # it, so that several threads would hold the memory of several large images.
    Image.core.set_block_size(_BLOCK)
    return Image


@contextmanager
def _opened(file: IO[bytes], name: str, source: str) -> "Generator[Image]":
    """The image in a file, which is one that is taken; raises a `CorpusError` for whatever goes wrong with it."""
    pillow = _pillow()
    if not file.read(1):
        raise CorpusError("is empty: 0 bytes", source=source)
    file.seek(0)
    try:
        with pillow.open(file, formats=_FORMATS) as image:
            kind = "JPEG" if image.format == "MPO" else image.format  # a telephone's, with a second image behind it
            named = _ENDINGS.get(name.rpartition(".")[2].lower(), kind)
            if named != kind:
                raise CorpusError(f"is a {kind}, and no {named} as its name says", source=source)
            if kind != "JPEG" and getattr(image, "is_animated", False):
                raise CorpusError("is animated; give still images", source=source)
            if image.width * image.height > MOST_PIXELS:
                raise CorpusError(_TOO_LARGE, source=source)
            yield image
    except CorpusError:
        raise
    except pillow.UnidentifiedImageError:
        raise CorpusError(f"is no image of {', '.join(_FORMATS)}", source=source) from None
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning, MemoryError):
        raise CorpusError(_TOO_LARGE, source=source) from None
    except Exception as error:  # decoders raise any kind at bytes that somebody has broken
        problem = shortened(printable(str(error))) or type(error).__name__
        raise CorpusError(f"the image is damaged: {problem}", source=source) from None


@contextmanager
def _decoded(data: bytes, name: str, source: str, crop: Box | None) -> "Generator[tuple[Image, tuple[int, int], bool]]":
    """The colours of an image as it is seen, or of an area; its whole size; and whether its file is a JPEG."""
    if len(data) > MOST_BYTES:
        raise CorpusError(f"has more than {MOST_BYTES >> 20} MiB", source=source)
    left, top, right, bottom = (round(edge) for edge in crop or (0, 0, 1, 1))
    area, pixels = (left, top, right, bottom), (right - left) * (bottom - top)
    if right <= left or bottom <= top or pixels > MOST_PIXELS:
        raise CorpusError(f"its area {area} must hold a pixel, and at most {MOST_PIXELS:,}", source=source)
    with _opened(BytesIO(data), name, source) as image:
        lossy = image.format in ("JPEG", "MPO")
        if lossy and data.count(b"\xff\xda") > _MOST_SCANS:
            raise CorpusError(f"is a JPEG of more than {_MOST_SCANS} scans", source=source)
        with _room.held(max(image.width * image.height, pixels)):
            seen = _turned(_plain(image), image)
            yield seen.crop(area) if crop else seen, seen.size, lossy


def _plain(image: "Image") -> "Image":
    """The image in red, green and blue; decoding happens here."""
    if image.mode.startswith("I"):
        image = image.point(lambda level: level / 256).convert("L")  # 16 bits a pixel, which Pillow would clip
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    image = image.convert("RGBA")
    white = _pillow().new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _turned(plain: "Image", image: "Image") -> "Image":
    """The colours of an image as its EXIF says that they are seen; as they are where that cannot be read."""
    orientation: Any = 1
    with suppress(Exception):  # what is wrong with a note beside the colours does not concern them
        orientation = image.getexif().get(_ORIENTATION, 1)
    return plain.transpose(_pillow().Transpose[_TURNS[orientation - 2]]) if orientation in range(2, 9) else plain


def _shrunk(image: "Image", longest: int) -> "Image":
    size = scaled(*image.size, longest)
    return image if size == image.size else image.resize(size, _pillow().Resampling.LANCZOS)


def _encoded(image: "Image", lossy: bool, *, quality: int = 95, description: str = "") -> str:
    """A data URI of the image; a description is written into a PNG."""
    from PIL.PngImagePlugin import PngInfo

    buffer, notes = BytesIO(), PngInfo()
    image.info = {}  # of which Pillow would write profile and comment
    if description:
        notes.add_itxt(_DESCRIPTION, description)
    if lossy:
        image.save(buffer, "JPEG", quality=quality, subsampling=0)
    else:
        image.save(buffer, "PNG", pnginfo=notes)
    return f"data:image/{'jpeg' if lossy else 'png'};base64,{base64.b64encode(buffer.getvalue()).decode()}"


class _Room:
    """Pixels that may be decoded at a time, which bounds the memory; whoever needs more than are free waits."""

    def __init__(self, pixels: int):
        self._free, self._changed = pixels, threading.Condition()

    @contextmanager
    def held(self, pixels: int) -> Generator[None]:
        """Hold so many, at most as many as there are."""
        with self._changed:
            self._changed.wait_for(lambda: self._free >= pixels)
            self._free -= pixels
        try:
            yield
        finally:
            with self._changed:
                self._free += pixels
                self._changed.notify_all()


_room = _Room(MOST_PIXELS)
