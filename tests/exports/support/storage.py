"""Places for releases to lie in, as QUORUM_RELEASES names them."""

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import httpx
import pytest
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from config.settings import _storage_at

BUCKET = "quorum-releases"
IN_THE_BUCKET = f"s3://{BUCKET}/in/a/folder"
ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def lie_at(place: str, settings: Settings) -> None:
    settings.STORAGES = settings.STORAGES | {"releases": _storage_at("QUORUM_RELEASES", place)}


@contextmanager
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """moto's, on this machine, with an empty bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    httpx.post(f"http://{host}:{port}/moto-api/reset")  # it keeps its state as long as the process
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()
