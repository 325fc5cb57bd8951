"""What is sent to the site: told at once where it is no data, and kept within bounds."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadhandler import SkipFile
from django.http import HttpRequest

from core.errors import UserError
from retrieval.corpus import uploads
from retrieval.corpus.uploads import (
    UploadedFile,
    check_sent,
    ending_of,
    new_folder,
    require_room,
    sweep,
)
from retrieval.web.upload_stream import Received

GIB = 2**30


def zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("a.csv", "question,answer\n")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"\xef\xbb\xbf \n<!DOCTYPE html><html>", "is a web page"),
        ("a.csv", b"<HTML><body>Sign in", "is a web page"),
        ("a.csv", zipped(), "is a zip archive or an Excel workbook"),
        ("a.csv", b"%PDF-1.7", "is a PDF"),
        ("a.jsonl", b"\x28\xb5\x2f\xfd\x00", "is compressed by zstd"),
        ("a.csv", "question,answer\n".encode("utf-16"), "is in UTF-16 or UTF-32"),
        ("a.csv", b"\x1f\x8b\x08", "is compressed by gzip: rename it to end in .gz"),
        ("a.csv.gz", b"question,answer\n", "is not compressed by gzip"),
        ("a.csv", b"PAR1....PAR1", "is Parquet"),
        ("a.parquet", b"question,answer\n", "is not a Parquet file"),
        ("a.xlsx", zipped(), "is a zip archive or an Excel workbook"),
        ("a.xls", b"question,answer\n", "its name must end in .jsonl, .csv, .tsv, .parquet"),
        ("a.json", b"[]", "otherwise choose the format"),
    ],
)
def test_what_is_no_data_is_told_in_one_sentence(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    file = UploadedFile(f"1{ending_of(name)}", name, len(content))
    (tmp_path / file.stored).write_bytes(content)
    with pytest.raises(UserError) as refusal:
        check_sent(tmp_path, [file], plain=True)
    assert sentence in str(refusal.value)
    assert str(refusal.value).startswith(name)
    assert str(tmp_path) not in str(refusal.value)


def test_a_published_format_may_have_any_ending(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"q: why?\ta: so")
    check_sent(tmp_path, [UploadedFile("1", "clusters-part-01", 13)], plain=False)


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("PAIRS.CSV", ".csv"),
        ("pairs.jsonl.GZ", ".jsonl.gz"),
        ("../../etc/passwd", ""),
        ("pairs.csv/../../x.tsv", ".tsv"),
        ("pairs.csv\x00.exe", ""),
        ("part-07.gz", ".gz"),
    ],
)
def test_of_a_name_nothing_is_kept_but_a_known_ending(name: str, ending: str) -> None:
    assert ending_of(name) == ending


def test_more_than_the_site_takes_is_refused_before_it_is_sent() -> None:
    with pytest.raises(UserError, match="the limit is 10 GB"):
        require_room(uploads.MOST_BYTES + 1)
    require_room(0)


def test_a_disk_that_is_nearly_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "RESERVE", 2**60)
    with pytest.raises(UserError, match=r"too little for 0\.5 GB"):
        require_room(500_000_000)


def received(folder: Path) -> Received:
    one = Received(HttpRequest())
    one._folder = folder
    return one


def test_a_disk_that_fills_up_meanwhile_is_told_and_nothing_stays(tmp_path: Path) -> None:
    folder = tmp_path / "upload"
    folder.mkdir()
    (folder / "1.csv").symlink_to("/dev/full")
    one = received(folder)
    one.new_file("files", "a.csv", "text/csv", None)
    with pytest.raises(SkipFile):
        one.receive_data_chunk(b"x" * 2**20, 0)
    assert "No space left on device" in one.fault
    assert not folder.exists()
    with pytest.raises(SkipFile):  # and the next file is not begun
        one.new_file("files", "b.csv", "text/csv", None)


def test_what_says_it_is_small_and_is_not_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.web.upload_stream.MOST_BYTES", 100)
    folder = tmp_path / "upload"
    folder.mkdir()
    one = received(folder)
    one.new_file("files", "a.csv", "text/csv", None)
    one.receive_data_chunk(b"x" * 100, 0)
    with pytest.raises(SkipFile):
        one.receive_data_chunk(b"x", 100)
    assert "were sent" in one.fault
    assert not folder.exists()


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.web.upload_stream.MOST_FILES", 1)
    one = received(tmp_path)
    one.new_file("files", "a.csv", "text/csv", None)
    one.file_complete(0)
    with pytest.raises(SkipFile):
        one.new_file("files", "b.csv", "text/csv", None)
    assert "At most 1 files" in one.fault


def test_folders_of_long_ago_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_folder()
    sweep()
    assert folder.is_dir()
    monkeypatch.setattr(uploads, "KEPT_SECONDS", -1)
    sweep()
    assert not folder.exists()


def test_a_data_folder_that_cannot_be_written_is_told(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "uploads").write_text("a file stands in the way")
    with pytest.raises(UserError, match="could not save the upload"):
        new_folder()


def test_another_field_s_file_is_not_kept(tmp_path: Path) -> None:
    one: Any = received(tmp_path)
    with pytest.raises(SkipFile):
        one.new_file("avatar", "a.csv", "text/csv", None)
    assert not list(tmp_path.iterdir())
