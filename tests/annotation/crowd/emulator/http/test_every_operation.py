from dataclasses import dataclass

from tests.annotation.crowd.emulator.turk import Turk, Worker
from tests.annotation.crowd.turk.every_operation import Face, call_every_operation


@dataclass(frozen=True)
class AtTheEmulator:
    worker: Worker

    @property
    def id(self) -> str:
        return self.worker.id

    def ask(self, type_id: str) -> None:
        self.worker.browser.post(f"/worker/{self.id}/qualifications/{type_id}/request")

    def pass_test(self, type_id: str, **answers: str) -> None:
        begun = self.worker.browser.post(f"/worker/{self.id}/qualifications/{type_id}/request")
        self.worker.browser.post(begun.headers["Location"], data=answers)

    def work(self, hit_id: str, **answers: str) -> None:
        answer = self.worker.submit(self.worker.take(hit_id), **answers)
        assert answer.status_code == 200


def test_the_emulator_answers_every_operation(turk: Turk, ada: Worker, bob: Worker) -> None:
    judges = AtTheEmulator(ada), AtTheEmulator(bob)
    topic = "arn:aws:sns:us-east-1:1:t"
    call_every_operation(Face(turk.api, judges, destination=topic, balance="9999.58"))
