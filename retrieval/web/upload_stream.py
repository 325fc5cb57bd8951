"""What a browser sends goes straight to the folder of its import, and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest

from core.errors import UserError
from core.text.clean import clean_text
from retrieval.corpus.uploads import (
    MOST_BYTES,
    MOST_FILES,
    UploadedFile,
    ending_of,
    new_folder,
    no_room,
    require_room,
    throw_away,
)

FIELD = "files"
MOST_NAME = 120
TOO_MUCH = f"More than {MOST_BYTES / 1e9:,.0f} GB were sent: split the file; nothing was imported."


class Received(FileUploadHandler):
    """What cannot be kept is read to its end, so that the browser hears why, in `fault`."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.files: list[UploadedFile] = []
        self.fault = ""
        self.kept = False  # the import has taken the folder over
        self._folder: Path | None = None
        self._file: BinaryIO | None = None
        self._bytes = 0

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = new_folder()
        return self._folder

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, *args: Any, **kwargs: Any
    ) -> None:
        try:
            require_room(content_length)
        except UserError as error:
            self.fault = str(error)

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, file_name, *args, **kwargs)
        if field_name != FIELD or self.fault:
            raise SkipFile
        if len(self.files) == MOST_FILES:
            self._refuse(f"At most {MOST_FILES} files are imported at once: send fewer.")
        name = clean_text(file_name)[-MOST_NAME:]
        stored = f"{len(self.files) + 1}{ending_of(name)}"
        try:
            self._file = (self.folder / stored).open("wb")
        except UserError as error:
            self._refuse(str(error))
        except OSError as error:
            self._refuse(no_room(error))
        self.files.append(UploadedFile(stored, name, 0))

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._bytes += len(raw_data)
        if self._bytes > MOST_BYTES:
            self._refuse(TOO_MUCH)
        try:
            if self._file is not None:
                self._file.write(raw_data)
        except OSError as error:
            self._refuse(no_room(error))

    def file_complete(self, file_size: int) -> None:
        self._close()
        last = self.files[-1]
        self.files[-1] = UploadedFile(last.stored, last.name, file_size)

    def throw_away(self) -> None:
        self._close()
        if self._folder is not None:
            throw_away(self._folder)

    def _refuse(self, sentence: str) -> None:
        self.fault = sentence
        self.throw_away()  # at once: the rest of what is sent may take long
        raise SkipFile

    def _close(self) -> None:
        """What is left in the buffer is written here, and the disk may be full only then."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                self.fault = no_room(error)


@contextmanager
def receiving(request: HttpRequest) -> Iterator[Received]:
    """Nothing of the request may have been read before. Whatever happens, only an import that has
    been asked for leaves a folder."""
    received = Received(request)
    request.upload_handlers = [received]
    try:
        yield received
    finally:
        if not received.kept:
            received.throw_away()
