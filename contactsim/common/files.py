"""Files written whole or not at all, and folders with a single writer."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError, StorageError
from .telling import tell

SEAL = b"contactsim sha256"  # between a content and its digest
SEALED = len(SEAL) + 32  # bytes of both
PIECE = 1 << 20  # bytes that are read at once
HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)  # what a lock says that another process has


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside `path` and move it there: who reads `path` finds what was there before, or all of this.

    A link stays: the file that it leads to is written.

    Raises:
        InputError: `path` is a device, a pipe or a socket, which a file would take the place of.
        StorageError: the disk is full, or does not let write; what was there before is kept.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write {path}: it is no file, but a folder or a device; give a file")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
        os.replace(unfinished, target)
    except OSError as error:
        raise StorageError(f"cannot write {path} ({reason(error)}); make room there, or give another place") from error
    finally:
        unfinished.unlink(missing_ok=True)


def sealed(content: bytes) -> bytes:
    """Content with a seal behind it, by which `is_broken` tells that some of it was changed; formats let it stand."""
    return content + SEAL + hashlib.sha256(content).digest()


def unsealed(content: bytes) -> bytes:
    """Content without its seal, where it has one."""
    return content[:-SEALED] if content[-SEALED:].startswith(SEAL) else content


def is_broken(path: Path) -> bool:
    """True where a file has a seal that its content does not fit; of one without a seal nothing is known."""
    size = path.stat().st_size - SEALED
    if size < 0:
        return False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(size)
        seal = file.read()
        if not seal.startswith(SEAL):
            return False
        file.seek(0)
        while size and (piece := file.read(min(size, PIECE))):
            digest.update(piece)
            size -= len(piece)
    return digest.digest() != seal[len(SEAL) :]


def reason(error: OSError) -> str:
    """The reason of an error, in the words of the operating system."""
    return error.strerror or str(error)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder for this process alone; one that ends, in whatever way, lets go of it.

    Raises:
        InputError: another process holds it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        tell(f"this system cannot lock {folder}: let no other run write there")
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in HELD:
                raise InputError(
                    f"another run is writing to the folder {folder}; wait for it, or give another with --out"
                ) from error
            tell(f"cannot lock {folder} ({reason(error)}): let no other run write there")
        yield
    finally:
        os.close(handle)
