"""Id that a database and a state folder share, so that neither is used with another one by mistake.

A process with another folder would not find the files of the rows, and would delete its own files as garbage.
"""

import os
import uuid
from contextlib import suppress
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.database import SessionFactory, lock, writing
from app.storage.orm import Base

FILE_NAME = "store_id"


class StoreRow(Base):
    """Id of the store, in the only row of this table."""

    __tablename__ = "store"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)


class OtherStore(Exception):
    """The database and the folder belong to different stores. The message says what to do."""


def join_store(sessions: SessionFactory, home: Path, file_folders: tuple[Path, ...]) -> uuid.UUID:
    """Return the id that database and folder share. The first process that opens a new pair makes it.

    file_folders: the folders of stored files inside of `home`.

    Raises:
        OtherStore: they have different ids, or one of them was used with another one before.
    """
    # The file is written inside of the transaction: no other process joins between the two, and the file comes first,
    # so that what a killed process leaves behind is a file without a row.
    with writing(sessions) as session:
        lock(session, "store id")
        stored, in_folder = session.scalar(select(StoreRow.id)), _read(home / FILE_NAME)
        if stored is None:
            if in_folder is not None and any(_has_files(folder) for folder in file_folders):
                raise OtherStore(_new_database(home, in_folder))
            stored = in_folder or _written(home / FILE_NAME, uuid.uuid4())
            session.add(StoreRow(id=stored))
        elif stored != in_folder:
            raise OtherStore(_other_folder(home, stored, in_folder))
        return stored


def _read(path: Path) -> uuid.UUID | None:
    with suppress(FileNotFoundError):
        try:
            return uuid.UUID(path.read_text().strip())
        except ValueError:
            raise OtherStore(f"{path} does not hold a store id; restore it from a backup, or delete it") from None
    return None


def _written(path: Path, store_id: uuid.UUID) -> uuid.UUID:
    """Write the id and return it; if another process has written one meanwhile, return that."""
    staged = path.with_name(f".{path.name}-{store_id}")
    with staged.open("w") as file:
        file.write(f"{store_id}\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(staged, path)
    except FileExistsError:
        return _read(path) or store_id
    except OSError:  # a file system without hard links
        os.replace(staged, path)
    finally:
        staged.unlink(missing_ok=True)
    return store_id


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _new_database(home: Path, in_folder: uuid.UUID) -> str:
    return (
        f"the folder BRISTLECONE_HOME={home} holds files of another database: its {FILE_NAME} is {in_folder}, and this "
        f"database has none yet; correct BRISTLECONE_HOME or DATABASE_URL, or delete {home / FILE_NAME} if the two "
        "belong together, as after a restore"
    )


def _other_folder(home: Path, stored: uuid.UUID, in_folder: uuid.UUID | None) -> str:
    own = "has none" if in_folder is None else f"has {in_folder}"
    return (
        f"BRISTLECONE_HOME={home} is not the folder of this database, whose store id is {stored}: the folder {own}; "
        "use the folder of the other processes, on shared storage if they run on other machines, or correct "
        f"DATABASE_URL, or write {stored} to {home / FILE_NAME} if the two belong together, as after a restore"
    )
