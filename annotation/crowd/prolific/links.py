"""The studies at Prolific of links, as pages and operations ask of them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from django.db.models import Q

from annotation.crowd.inhouse.models import HitType, PanelLink, Queue, Visit
from annotation.crowd.inhouse.models.panels import new_code
from annotation.crowd.port import NotSent, Studies, Terms
from annotation.crowd.prolific.events import HookEvent, read_event
from annotation.crowd.prolific.models import Hook, Study
from annotation.crowd.prolific.studies import LEAVE, known_in
from annotation.crowd.prolific.submissions import screen_out
from annotation.crowd.prolific.tokens import check_sent


class ProlificStudies(Studies):
    def terms(self, links: Iterable[PanelLink]) -> Mapping[int, Terms]:
        return {
            study.link_id: Terms(
                minutes=study.minutes,
                screen_out_cents=study.screen_out_cents,
                screen_out_code=study.screen_out_code,
                is_signed=study.is_secure,
                known_only=study.known_from_id is not None,
                held=study.held,
                strays=study.strays,
                promised=study.promised,
                to_ask_back=study.to_ask_back,
            )
            for study in Study.objects.filter(link__in=[link.pk for link in links])
        }

    def open(
        self,
        open_link: Callable[..., PanelLink],
        *,
        minutes: int,
        screen_out_cents: int,
        known_from: Queue | None,
    ) -> PanelLink:
        link = open_link(code=new_code(), return_url=LEAVE)
        Study.objects.create(
            link=link,
            minutes=minutes,
            known_from=known_from,
            screen_out_cents=screen_out_cents,
            screen_out_code=new_code() if screen_out_cents else "",
        )
        return link

    def closed(self, link: PanelLink) -> None:
        Study.objects.filter(link=link).update(at_rest=False, coming=0)

    def check_sent(self, link: PanelLink, given: Mapping[str, str], now: datetime) -> None:
        study = Study.objects.get(link=link)
        if not study.study_id:
            raise NotSent("the study is not at Prolific yet, so that nobody is sent to it.")
        if study.is_secure:
            check_sent(study, given, now)

    def leave(self, visit: Visit, now: datetime) -> bool:
        return screen_out(visit, now)

    def ask_back(self, link: PanelLink, reason: str) -> int:
        study = Study.objects.get(link=link)
        if study.to_ask_back:
            study.return_reason = reason
            study.save(update_fields=["return_reason"])
        return study.to_ask_back

    def has_known(self, queue: Queue) -> bool:
        return known_in(queue).exists()

    def restless(self) -> Iterable[str]:
        return _types(Q(at_rest=False))

    def heard(self, body: bytes, headers: Mapping[str, str]) -> Iterable[str]:
        """Events come more than once and in any order: what has changed is read by the pass."""
        event = _read(body, headers)
        named = Q(study_id=event.resource_id) | Q(link__visits__session_id=event.resource_id)
        studies = list(Study.objects.filter(named).values_list("pk", flat=True))
        Study.objects.filter(pk__in=studies).update(at_rest=False)
        return _types(Q(pk__in=studies))


def _types(which: Q) -> Iterable[str]:
    queues = Study.objects.filter(which).values("link__queue")
    return HitType.objects.filter(queue__in=queues).values_list("type_id", flat=True)


def _read(body: bytes, headers: Mapping[str, str]) -> HookEvent:
    """By whichever workspace's secret fits."""
    fault = NotSent("This site expects no events of Prolific's.")
    for secret in Hook.objects.exclude(secret="").values_list("secret", flat=True):
        try:
            return read_event(body, headers, secret)
        except NotSent as error:
            fault = error
    raise fault
