"""Signed by boto3, at the address that requesters are given; members work on the site's pages."""

from dataclasses import dataclass
from typing import Any

from annotation.crowd.turk.workers import worker_id_of
from tests.annotation.crowd.turk.conftest import Join, Person
from tests.annotation.crowd.turk.every_operation import Face, call_every_operation


@dataclass(frozen=True)
class AtTheSite:
    person: Person

    @property
    def id(self) -> str:
        return worker_id_of(self.person.member)

    def ask(self, type_id: str) -> None:
        self._post(f"{self.person.home}/lab/qualifications/{type_id}")

    def pass_test(self, type_id: str, **answers: str) -> None:
        self._post(self._post(f"{self.person.home}/lab/qualifications/{type_id}"), **answers)

    def work(self, hit_id: str, **answers: str) -> None:
        self._post(self._post(f"{self.person.home}/lab/hits/{hit_id}"), **answers)

    def _post(self, page: str, **answers: str) -> str:
        """Where it leads."""
        fields = self.person.fields(f"{self.person.home}/qualifications")
        answer = self.person.http.post(page, data=fields | answers)
        assert answer.status_code == 200, answer.text
        return str(answer.url)


def test_the_site_answers_every_operation_that_is_signed(join: Join, labs: Any) -> None:
    judges = AtTheSite(join("ada")), AtTheSite(join("bob"))
    hook = "https://203.0.114.1/hook"
    call_every_operation(Face(labs, judges, destination=hook, balance="9999.65"))
