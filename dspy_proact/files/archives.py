"""Zip archives of others: members read one at a time, within bounds, and nothing unpacked to disk.

What no honest archive holds is refused before anything of it is read: paths that lead elsewhere, links, two members of
one name, encryption, and ways to compress whose memory the archive decides.
"""

import copy
import lzma
import stat
import struct
import threading
import zipfile
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import opened
from dspy_proact.plain_text import printable

_ZSTANDARD = 93
"""How a file is compressed, by APPNOTE 6.3.8 of zip; Python's zipfile reads it from 3.14 on."""
_LONGEST_SHOWN = 300
"""Characters of a name that a message repeats."""
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # of which NotImplementedError is one
    ValueError,
    OverflowError,
)
"""What zipfile raises at bytes that somebody has broken."""


class Archive:
    """A zip that is open; several threads may read from it at a time.

    Raises a `CorpusError`, which says what was `wanted`, where it is no zip, a part of one, or holds what the module's
    docstring refuses.
    """

    def __init__(self, path: Path, wanted: str):
        self.source, self._lock = str(path), threading.Lock()
        with opened(self.source, wanted):
            pass  # refuses what is no file; a ValueError of zipfile in here would be taken for one of the path
        try:
            self._zip = zipfile.ZipFile(path)  # its own destructor closes it
        except _DAMAGED as error:
            problem = f"not a complete zip: {error}; give {wanted}, and download a truncated one again"
            raise CorpusError(problem, source=self.source) from None
        members = [member for member in self._zip.infolist() if not member.filename.endswith("/")]
        self._members = {member.filename: member for member in members}
        self.sizes: Mapping[str, int] = {name: member.file_size for name, member in self._members.items()}
        """Bytes of its files when unpacked, as it says, by their names and in its order."""
        for member in members:
            if fault := self._fault(member):
                raise CorpusError(fault, source=self.source_of(member.filename))

    def source_of(self, name: str) -> str:
        """Where a file of it stands, as messages name it."""
        return f"{self.source}, {printable(name[:_LONGEST_SHOWN])}"

    @contextmanager
    def opened(self, name: str, largest: int) -> Generator[IO[bytes]]:
        """A file of it, while which no other is read; raises a `CorpusError` where it is damaged or too large."""
        member = self._members[name]
        if member.file_size > largest:
            raise CorpusError(f"larger than {largest:,} bytes when unpacked", source=self.source_of(name))
        try:
            if member.compress_type == _ZSTANDARD:
                yield BytesIO(self._decompressed(member))
                return
            with self._lock, self._zip.open(member) as file:
                yield file
        except _DAMAGED as error:
            problem = f"cannot be unpacked: {error}; download the zip again"
            raise CorpusError(problem, source=self.source_of(name)) from None

    def read(self, name: str, largest: int) -> bytes:
        """The contents of a file; raises as `opened` does."""
        with self.opened(name, largest) as file:
            # One byte more than it says there are, so that the end is seen and the checksum verified.
            return file.read(self.sizes[name] + 1)

    def _decompressed(self, member: zipfile.ZipInfo) -> bytes:
        """The contents of a file in Zstandard frames, whose window zstd bounds by 128 MiB."""
        import pyarrow

        # As zipfile reads what is stored as it is; the checksum is that of the contents.
        packed = copy.copy(member)
        packed.compress_type, packed.file_size = zipfile.ZIP_STORED, member.compress_size
        del packed.CRC
        arrow: Any = pyarrow
        with (
            self._lock,
            self._zip.open(packed) as file,
            arrow.CompressedInputStream(arrow.PythonFile(file, "r"), "zstd") as stream,
        ):
            data = bytes(stream.read(member.file_size + 1))
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise zipfile.BadZipFile("Bad CRC-32, or another size than it says")
        return data

    def _fault(self, member: zipfile.ZipInfo) -> str:
        if _strays(member.filename):
            return "its path leads out of the archive; take it out"
        if stat.S_ISLNK(member.external_attr >> 16):
            return "is a link; put the file in its place"
        if self._members[member.filename] is not member:
            return "is in the archive twice"
        if member.flag_bits & 1:
            return "is encrypted; make the zip without a password"
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD):
            return "is compressed in a way that is not read; make the zip with deflate"
        return ""


class ZippedFolder:
    """A folder whose files lie in zips in it, or below it.

    The path of a file may begin with the name of its zip, without its ending, where its path in the zip does not, and
    the other way round.
    """

    def __init__(self, folder: Path, archives: Sequence[Archive]):
        self._folder, self._archives = folder, archives

    def source_of(self, path: str) -> str:
        """Where a file stands, as messages name it."""
        member = self._member(path)
        return member[0].source_of(member[1]) if member else str(self._folder / path)

    @contextmanager
    def opened(self, path: str, largest: int) -> Generator[IO[bytes]]:
        """A file, as `Archive.opened`; a `CorpusError` also where it is missing, or lies elsewhere by way of a link."""
        if member := self._member(path):
            with member[0].opened(member[1], largest) as file:
                yield file
            return
        target = self._folder / path
        try:
            if _strays(path) or not target.resolve().is_relative_to(self._folder.resolve()):
                raise CorpusError("leads out of the folder", source=str(target))
            if not target.is_file():
                raise CorpusError("is missing", source=str(target))
            if target.stat().st_size > largest:
                raise CorpusError(f"larger than {largest:,} bytes", source=str(target))
        except (OSError, ValueError) as error:
            raise CorpusError(f"cannot be read: {error}", source=str(target)) from None
        with opened(str(target), "a file of a folder") as file:
            yield file

    def _member(self, path: str) -> tuple[Archive, str] | None:
        for archive in self._archives:
            stem = Path(archive.source).stem
            for name in (path, f"{stem}/{path}", path.removeprefix(f"{stem}/")):
                if name in archive.sizes:
                    return archive, name
        return None


def _strays(path: str) -> bool:
    """Whether a path leads out of where it stands."""
    return PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts
