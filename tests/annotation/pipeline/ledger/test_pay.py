import pytest

from annotation.pipeline.ledger.pay import pay_an_hour


@pytest.mark.parametrize(
    ("cents", "measured", "estimated", "words"),
    [
        (0, 60, 60, ""),
        (15, 50, 60, "about $10.80 an hour, by the time that it took others"),
        (15, None, 60, "about $9.00 an hour, by an estimate of the time that it takes"),
        (15, None, None, "at least $0.90 an hour, even if you use all the time that you have"),
    ],
)
def test_what_work_pays_an_hour_is_said_by_what_is_known_of_its_time(
    cents: int, measured: float | None, estimated: float | None, words: str
) -> None:
    assert pay_an_hour(cents, measured=measured, estimated=estimated, limit=600) == words
