from __future__ import annotations

import pytest

from exports.card.licences import known, named, of_the_release


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("CC-BY-SA-4.0", "cc-by-sa-4.0"),
        ("cc by-sa 4.0", "cc-by-sa-4.0"),
        ("CC0-1.0", "cc0-1.0"),
        ("MIT", "mit"),
        ("ODC-By-1.0", "odc-by"),
        ("Apache 2.0", "apache-2.0"),
        ("our own terms", None),
        ("", None),
        ("CC-BY-SA", None),
    ],
)
def test_a_licence_is_known_by_the_hubs_name(stated: str, name: str | None) -> None:
    assert known(stated) == name


def source(licence: str | None) -> dict[str, object]:
    return {"source": "x", "license": licence, "pairs": 1}


def test_one_known_licence_of_all_sources_is_the_releases() -> None:
    assert of_the_release([source("MIT"), source("MIT")]) == {"license": "mit"}


def test_spellings_of_one_licence_are_one() -> None:
    assert of_the_release([source("CC-BY-4.0"), source("cc-by 4.0")]) == {"license": "cc-by-4.0"}


def test_several_licences_are_all_named() -> None:
    assert of_the_release([source("MIT"), source(""), source("CC0-1.0")]) == {
        "license": "other",
        "license_name": "of-the-sources",
        "license_details": "not stated, CC0-1.0, MIT",
    }


def test_a_licence_that_the_hub_does_not_know_is_named() -> None:
    assert of_the_release([source("our own terms")])["license_details"] == "our own terms"


@pytest.mark.parametrize("sources", [[], [source("")], [source(None), source("  ")]])
def test_no_licence_is_never_taken_for_a_free_one(sources: list[dict[str, object]]) -> None:
    assert of_the_release(sources) == {"license": "unknown"}


def test_one_source_without_a_licence_keeps_the_others_from_speaking_for_it() -> None:
    assert of_the_release([source("MIT"), source("")])["license"] == "other"


def test_licences_are_named_once_in_their_order() -> None:
    assert named([source("b"), source("a"), source("b ")]) == ["a", "b"]
