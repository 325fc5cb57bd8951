"""Prolific's participants at our desk: a running emulator, its adapter, and people."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.assignments import give_back, submit, take
from annotation.crowd.inhouse.models import Assignment, Member, PanelLink, PostedHit, Visit
from annotation.crowd.inhouse.models.panels import new_code
from annotation.crowd.port import HitTypeSpec
from annotation.crowd.prolific.adapter import ProlificCrowd, prolific_site
from annotation.crowd.prolific.links import ProlificStudies
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.studies import LEAVE
from annotation.crowd.prolific.submissions import screen_out
from tests.annotation.crowd.inhouse.team import SPEC, YES
from tests.annotation.crowd.prolific.world import Person, Prolific

SPEC_THERE: HitTypeSpec = replace(SPEC, reward_cents=100)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shut(link: PanelLink, *, now: datetime) -> None:
    """As its page closes it."""
    visits.close_link(link, now=now)
    ProlificStudies().closed(link)


@dataclass
class Desk:
    """One clock for Prolific and for us."""

    prolific: Prolific
    tasks: int = 1
    hook_url: str = ""
    screen_out_cents: int = 0
    project_id: str = ""
    people: dict[str, Person] = field(default_factory=dict)
    _number: int = 0
    _link: PanelLink | None = None

    @property
    def crowd(self) -> ProlificCrowd:
        site, client = prolific_site(self.prolific.url), self.prolific.client
        return ProlificCrowd(
            site, client, project_id=self.project_id, hook_url=self.hook_url, clock=self.now
        )

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.prolific.clock.now)

    def publish(
        self, *, hits: int = 1, max_assignments: int = 2, spec: HitTypeSpec = SPEC_THERE
    ) -> list[str]:
        """The HITs; and with the first of them a link, and a study that is open."""
        hit_type = self.crowd.create_hit_type(spec)
        made = [self._post(hit_type, max_assignments) for _ in range(hits)]
        if not visits.links_to(hit_type).exists():
            self.open(hit_type)
        self.tend()
        return made

    def _post(self, hit_type: str, max_assignments: int) -> str:
        self._number += 1
        return self.crowd.create_hit(
            hit_type_id=hit_type,
            url="",
            max_assignments=max_assignments,
            lifetime_seconds=90 * 86_400,
            token=f"token {self._number}",
            annotation=f"key {self._number}",
        )

    def open(self, hit_type: str) -> PanelLink:
        link = visits.open_link(
            hit_type,
            "prolific",
            tasks=self.tasks,
            code=new_code(),
            return_url=LEAVE,
            now=self.now(),
        )
        Study.objects.create(
            link=link,
            minutes=5,
            screen_out_cents=self.screen_out_cents,
            screen_out_code=new_code() if self.screen_out_cents else "",
        )
        return link

    @property
    def link(self) -> PanelLink:
        """The one that people come by: the only one, or that of `open_to`."""
        return PanelLink.objects.get(pk=self._link.pk) if self._link else PanelLink.objects.get()

    def tend(self) -> None:
        """As two passes do it: the second finds the study published."""
        for _ in range(2):
            self.crowd.tend(PostedHit.objects.latest("pk").hit_type.type_id)
            self.prolific.clock.forward(3)

    @property
    def study_id(self) -> str:
        return self.link.study.study_id

    def places(self) -> int:
        return self.prolific.client.studies.get(self.study_id).total_available_places

    def come(self, name: str) -> Visit:
        """Takes a place, opens it, and comes in by the address that Prolific makes."""
        person = self.people.setdefault(name, self.prolific.person())
        return self.arrive(person.open(person.take(self.study_id)))

    def arrive(self, address: str) -> Visit:
        parts = urlsplit(address)
        link = PanelLink.objects.get(key=parts.path.rpartition("/")[2])
        return visits.arrive(
            link, visits.person_in(link, dict(parse_qsl(parts.query))), now=self.now()
        )

    def member(self, name: str) -> Member:
        return Member.objects.get(participant__external_id=self.people[name].id)

    def open_to(self, hit_id: str, name: str) -> None:
        """A study that leads to the HIT, and that the participant has taken no part in."""
        hit_type = PostedHit.objects.get(hit_id=hit_id).hit_type.type_id
        links = visits.links_to(hit_type).filter(closed_at=None)
        unseen = links.exclude(visits__member__participant__external_id=self.people[name].id)
        if (link := unseen.first()) is None:
            for one in links:  # for as long as that has places, another one gets none
                shut(one, now=self.now())
            self.crowd.tend(hit_type)
            link = self.open(hit_type)
        self._link = link
        self.crowd.tend(hit_type)
        self.prolific.clock.forward(3)
        self.crowd.tend(hit_type)

    def offered(self, name: str) -> bool:
        """Whether Prolific shows the participant a place."""
        return self.study_id in self.people[name].offers()

    def take(self, visit: Visit, hit_id: str = "") -> str | None:
        """One task of the visit, the one of this HIT where it is named."""
        skipped: set[int] = set()
        while (taken := take(visit.member, now=self.now())) is not None:
            if not hit_id or taken.posted_hit.hit_id == hit_id:
                return taken.assignment_id
            give_back(visit.member, taken.assignment_id, now=self.now())
            if taken.posted_hit_id in skipped:
                return None
            skipped.add(taken.posted_hit_id)
        return None

    def work(self, visit: Visit, hit_id: str = "") -> str | None:
        taken = self.take(visit, hit_id)
        if taken is not None:
            submit(visit.member, taken, YES, now=self.now())
        return taken

    def leave(self, name: str, visit: Visit) -> None:
        """With the code, by which Prolific knows that it is done."""
        assert visits.finish(visit, now=self.now())
        self.people[name].complete(visit.session_id, visit.code)

    def leave_without_a_task(self, name: str) -> Visit:
        """Comes, finds none, and says so at Prolific."""
        visit = self.come(name)
        assert screen_out(visit, now=self.now())
        self.people[name].complete(visit.session_id, visit.link.study.screen_out_code)
        return visit

    def do(self, name: str, *hit_ids: str) -> list[str]:
        """A whole visit; the assignments."""
        visit = self.come(name)
        done = [self.work(visit, hit_id) for hit_id in hit_ids or [""] * self.tasks]
        self.leave(name, visit)
        return [one for one in done if one is not None]

    def paid(self, name: str) -> int:
        """Cents that the participant got, bonuses included."""
        ((cents,),) = self.prolific.rows(
            "SELECT COALESCE(SUM(p.cents), 0) FROM payments p"
            " JOIN submissions s USING (submission_id) WHERE s.participant_id = ?",
            self.people[name].id,
        )
        return int(cents)

    def status(self, assignment_id: str) -> str:
        return str(Assignment.objects.get(assignment_id=assignment_id).status)
