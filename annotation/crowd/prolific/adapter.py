"""Prolific as the pipeline sees it: it sends and pays people, who work on this site."""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import partial

from django.conf import settings
from django.utils import timezone

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.errors import missing, refused, translated
from annotation.crowd.inhouse.models import Notice, Participant, Visit
from annotation.crowd.inhouse.visits import links_to
from annotation.crowd.port import CrowdError, CrowdSite
from annotation.crowd.prolific.api.submissions import (
    RejectionCategory,
    StudySubmission,
)
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.connection import PRODUCTION
from annotation.crowd.prolific.errors import OutcomeUnknown
from annotation.crowd.prolific.events import keep_subscribed
from annotation.crowd.prolific.models import BonusPayment, Study
from annotation.crowd.prolific.studies import UNDECIDED, Tender, refused_in_part
from annotation.crowd.prolific.submissions import OUTCOMES, OVER, UNPAID, follow, move
from annotation.protocol.policy.crowds import PROLIFIC
from annotation.protocol.screening.control import RejectionReason

log = logging.getLogger(__name__)

SETTING = "QUORUM_PROLIFIC"
# Bonuses are made in the minutes after they are asked for; one that a day later is not there was
# never made.
PATIENCE = timedelta(days=1)
CATEGORIES: Mapping[RejectionReason, RejectionCategory] = {
    RejectionReason.UNANSWERED: "FAILED_INSTRUCTIONS",
    RejectionReason.MISSED: "FAILED_CHECK",
    RejectionReason.MANUAL: "OTHER",
}
# Of the rules of a check, whose sentence alone is shorter than Prolific wants it. A person writes
# a reason that is long enough.
PADDING: Mapping[RejectionReason, str] = {
    RejectionReason.UNANSWERED: " The instructions ask for an answer to every question of a task,"
    " and tasks in which one was left out are rejected.",
    RejectionReason.MISSED: " Some questions in each task have a known answer, and the instructions"
    " say that tasks are rejected where these are answered wrong.",
    RejectionReason.MANUAL: "",
}


def prolific_site(endpoint: str) -> CrowdSite:
    real = endpoint.rstrip("/") == PRODUCTION
    return CrowdSite(
        endpoint,
        name="Prolific" if real else "an emulator of Prolific",
        setting=SETTING,
        money="Publishing there spends real money." if real else "No real money is spent there.",
        is_production=real,
        is_local=True,
        is_slow=True,  # some of its calls wait for Prolific
        is_public=True,
    )


class ProlificCrowd(InhouseCrowd):
    def __init__(
        self,
        site: CrowdSite,
        client: ProlificClient,
        *,
        project_id: str = "",
        hook_url: str = "",
        clock: Callable[[], datetime] = timezone.now,
    ) -> None:
        super().__init__(site, clock)
        self._client = client
        self._project_id = project_id or None
        self._hook_url = hook_url
        self._workspace: str | None = None

    @property
    def kind(self) -> str:
        return PROLIFIC.kind

    def balance_cents(self) -> int:
        return self._client.workspaces.balance(self._workspace_id()).available_cents

    def _workspace_id(self) -> str:
        """That of the project; without one, the account's first."""
        if self._workspace is None:
            workspaces = [one.workspace_id for one in self._client.workspaces.list()]
            if not workspaces:
                raise CrowdError("The account at Prolific has no workspace.", permanent=False)
            self._workspace = next(filter(self._has_project, workspaces), None)
            if self._workspace is None:
                raise CrowdError(
                    f"The account at Prolific has no project {self._project_id}: set"
                    " QUORUM_PROLIFIC_PROJECT to one of its own.",
                    permanent=False,
                )
            self._check_currency(self._workspace)
        return self._workspace

    def _check_currency(self, workspace_id: str) -> None:
        currency = self._client.workspaces.balance(workspace_id).currency
        if currency != settings.CURRENCY:
            raise CrowdError(
                f"The workspace {workspace_id} at Prolific pays in {currency}, and this site "
                f"counts in {settings.CURRENCY}: set QUORUM_PROLIFIC_PROJECT to a project of a "
                f"workspace in {settings.CURRENCY}.",
                permanent=False,
            )

    def _has_project(self, workspace_id: str) -> bool:
        if self._project_id is None:
            return True
        projects = self._client.workspaces.projects(workspace_id)
        return any(one.project_id == self._project_id for one in projects)

    def tend(self, hit_type_id: str, *, may_grow: bool = True) -> None:
        """The studies of its links; one that cannot be tended keeps no other waiting."""
        fault: CrowdError | None = None
        self._subscribe()
        for study in Study.objects.filter(link__in=links_to(hit_type_id)).select_related(
            "link__queue"
        ):
            tender = Tender(
                self._client,
                self._workspace_id,
                self._project_id,
                study,
                self._clock(),
                may_grow=may_grow,
            )
            try:
                with translated():
                    tender.tend()
            except CrowdError as error:
                fault = fault or error
                if error.permanent:  # it brings nobody: other links may
                    Study.objects.filter(pk=study.pk).update(coming=0)
        if fault is not None:
            raise fault

    def surplus(self, hit_type_id: str) -> Mapping[str, int]:
        links = links_to(hit_type_id)
        studies = Study.objects.filter(link__in=links).exclude(passed_on=[], approved_unseen=[])
        paid = Visit.objects.filter(link__in=links, surplus_cents__gt=0, surplus_booked=False)
        return {
            **{f"visit {pk}": cents for pk, cents in paid.values_list("pk", "surplus_cents")},
            **{
                f"submission {submission}": cents
                for study in studies.select_related("link__queue")
                for submission, cents in study.paid_unseen.items()
            },
        }

    def surplus_booked(self, names: Iterable[str]) -> None:
        """Of visits, which are many; the strays of a study come with it."""
        booked = [one.removeprefix("visit ") for one in names if one.startswith("visit ")]
        Visit.objects.filter(pk__in=booked).update(surplus_booked=True)

    def billed_cents(self, hit_type_id: str) -> int | None:
        studies = Study.objects.filter(link__in=links_to(hit_type_id)).exclude(study_id="")
        bills = studies.values_list("at_rest", "billed")
        known = [billed for at_rest, billed in bills if at_rest and billed is not None]
        if not known or len(known) < len(bills):
            return None
        return int(sum(known, Decimal()).quantize(Decimal(1), ROUND_HALF_UP))

    def _subscribe(self) -> None:
        """Without events, passes see the same a little later."""
        try:
            with translated():
                keep_subscribed(self._client, self._workspace_id, self._hook_url, self._clock())
        except CrowdError as error:
            log.warning("Prolific's events are not subscribed to: %s", error)

    def approve(self, assignment_id: str) -> None:
        """And with it the visit: Prolific pays all of its tasks at once."""
        visit = self._visit(assignment_id)
        if visit.outcome in UNDECIDED:
            approve = partial(self._client.submissions.approve, visit.session_id)
            self._decide_visit(visit, Visit.Outcome.APPROVED, approve)
        super().approve(assignment_id)

    def reject(self, assignment_id: str, *, reason: str, why: RejectionReason) -> None:
        visit = self._visit(assignment_id)
        if visit.link.tasks > 1:
            raise refused_in_part(visit.link.tasks)
        if visit.outcome in UNDECIDED:
            reject = partial(
                self._client.submissions.reject,
                visit.session_id,
                category=CATEGORIES[why],
                message=reason + PADDING[why] if len(reason) < PROLIFIC.shortest_reason else reason,
            )
            self._decide_visit(visit, Visit.Outcome.REJECTED, reject)
        super().reject(assignment_id, reason=reason, why=why)

    def _decide_visit(
        self, visit: Visit, outcome: Visit.Outcome, call: Callable[[], StudySubmission]
    ) -> None:
        """Somebody may have been quicker there: then it is as they decided."""
        try:
            theirs = call()
        except CrowdError as error:
            if not error.permanent:
                raise
            theirs = self._client.submissions.get(visit.session_id)
            if theirs.status not in OVER:
                raise
        if theirs.status not in OVER:
            raise CrowdError(
                f"Prolific has not carried out a decision on submission {visit.session_id} yet: it"
                f" is {theirs.status}.",
                permanent=False,
            )
        with translated():
            if OUTCOMES.get(theirs.status) == outcome:
                move(visit, outcome)
            else:
                follow(theirs, visit, self._clock())

    def overturn(self, assignment_id: str) -> None:
        """Prolific lists the call, and does not say whom it lets do so."""
        visit = self._visit(assignment_id)
        if visit.outcome in UNPAID:
            raise refused(
                f"Assignment {assignment_id} is of a visit that was {visit.outcome} at Prolific, "
                "which pays no task of it."
            )
        if visit.outcome == Visit.Outcome.REJECTED:
            # Where an earlier call came so far, it is not rejected any more.
            if self._client.submissions.get(visit.session_id).status == "REJECTED":
                self._client.submissions.unreject(visit.session_id)
            approve = partial(self._client.submissions.approve, visit.session_id)
            self._decide_visit(visit, Visit.Outcome.APPROVED, approve)
        super().overturn(assignment_id)

    def bonus(
        self, worker_id: str, assignment_id: str, *, cents: int, reason: str, token: str
    ) -> None:
        """Each step is written down before it is taken, for to pay again is to pay twice."""
        visit = self._visit(assignment_id)
        if visit.member.worker_id != worker_id:
            raise missing("assignment", f"{assignment_id} of {worker_id}")
        with translated():
            payment, _ = BonusPayment.objects.get_or_create(
                token=token, defaults={"visit": visit, "cents": cents}
            )
        if payment.paid_at is None and not self._was_paid(payment):
            self._pay(payment)
        super().bonus(worker_id, assignment_id, cents=cents, reason=reason, token=token)

    def _was_paid(self, payment: BonusPayment) -> bool:
        """Whether a payment whose answer was lost was made. CrowdError: nobody can know yet."""
        if payment.sent_at is None:
            return False
        theirs = self._client.submissions.get(payment.visit.session_id)
        others = BonusPayment.objects.filter(visit=payment.visit, cents=payment.cents)
        known = others.exclude(paid_at=None).count()
        if theirs.bonus_cents.count(payment.cents) > known:
            self._mark(payment)
            return True
        if self._clock() < payment.sent_at + PATIENCE:
            raise CrowdError(
                f"The answer to a bonus of {payment.cents} cents got lost: it is looked for at"
                " Prolific, and paid again only if it is not there a day later.",
                permanent=False,
            )
        return False

    def _pay(self, payment: BonusPayment) -> None:
        if not payment.bulk_id:
            study = payment.visit.link.study.study_id
            made = self._client.bonuses.set_up(study, [(payment.visit.session_id, payment.cents)])
            payment.bulk_id = made.bulk_id
        # Of two processes that have come so far, one pays: a bulk that is set up costs nothing.
        before = BonusPayment.objects.filter(pk=payment.pk, sent_at=payment.sent_at, paid_at=None)
        payment.sent_at = self._clock()
        if not before.update(bulk_id=payment.bulk_id, sent_at=payment.sent_at):
            raise CrowdError("Another process pays this bonus now.", permanent=False)
        try:
            self._client.bonuses.pay(payment.bulk_id)
        except OutcomeUnknown as error:
            raise CrowdError(str(error), permanent=False) from error
        except CrowdError:  # refused: nothing was paid
            payment.sent_at = None
            payment.save(update_fields=["sent_at"])
            raise
        self._mark(payment)

    def _mark(self, payment: BonusPayment) -> None:
        payment.paid_at = self._clock()
        payment.save(update_fields=["paid_at"])
        Study.objects.filter(link=payment.visit.link_id).update(at_rest=False, billed=None)

    def notify(self, worker_id: str, *, subject: str, text: str, token: str) -> None:
        """In a message at Prolific; where its answer is lost, it may arrive twice."""
        if Notice.objects.filter(token=token).exists():
            return
        visit = Visit.objects.filter(member__worker_id=worker_id).order_by("-pk").first()
        person = Participant.objects.filter(member__worker_id=worker_id).first()
        if visit is None or person is None:
            raise missing("participant", worker_id)
        study = visit.link.study.study_id
        self._client.messages.send(person.external_id, f"{subject}\n\n{text}", study_id=study)
        super().notify(worker_id, subject=subject, text=text, token=token)

    def _visit(self, assignment_id: str) -> Visit:
        with translated():
            visits = Visit.objects.select_related("link__study", "member")
            visit = visits.filter(assignments__assignment_id=assignment_id).first()
        if visit is None:
            raise missing("visit of the assignment", assignment_id)
        return visit
