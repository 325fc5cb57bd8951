"""Requesters with packages for Mechanical Turk, as they are on the index: of each the class that
speaks to MTurk, told the site's address and nothing else.

    python packages.py psiturk post URL
    python packages.py psiturk review URL HIT

It runs in the packages' own environment, and prints one line of JSON.
"""

import json
import os
import sys
from datetime import timedelta
from typing import Any

KEYS = {"region_name": "us-east-1"}
AD = "https://example.org/ad"


def psiturk(url: str) -> Any:
    from psiturk.amt_services import MTurkServices
    from psiturk.psiturk_config import PsiturkConfig

    class Here(MTurkServices):  # type: ignore[misc]
        def setup_mturk_connection(self) -> bool:
            super().setup_mturk_connection()
            self.mtc = self.session.client("mturk", endpoint_url=url)
            return True

    config = PsiturkConfig()
    config.load_config()
    return Here(config)


def done(answer: Any) -> Any:
    """psiTurk catches what goes wrong."""
    assert answer.success, answer.exception
    return answer.data


def psiturk_post(url: str) -> dict[str, object]:
    services = psiturk(url)
    wanted = {
        "title": "psiTurk's",
        "description": "An experiment.",
        "keywords": "colour",
        "reward": 0.25,
        "duration": timedelta(hours=1),
        "lifetime": timedelta(days=1),
        "max_assignments": 2,
        "ad_location": AD,
        "approve_requirement": 0,
        "number_hits_approved": 0,
        "require_master_workers": False,
        "us_only": True,
        "require_qualification_ids": [],
        "block_qualification_ids": [],
        "advanced_qualifications": [],
    }
    hit_id = done(services.create_hit(wanted))["HITId"]
    assert [one.options["hitid"] for one in done(services.get_all_hits())] == [hit_id]
    assert done(services.list_qualification_types()) == []
    done(services.extend_hit(hit_id, assignments_increment=1, expiration_increment=60))
    about = done(services.get_hit(hit_id)).options
    assert (about["max_assignments"], about["is_expired"]) == (3, False)
    return {"hit": hit_id, "balance": done(services.check_balance())}


def psiturk_review(url: str, hit_id: str) -> dict[str, object]:
    services = psiturk(url)
    first, second = done(services.get_assignments("Submitted", [hit_id]))
    done(services.approve_assignment(first["assignmentId"]))
    done(services.bonus_assignment(first["assignmentId"], None, 0.10, "Thank you."))
    done(services.reject_assignment(second["assignmentId"]))
    done(services.unreject_assignment(second["assignmentId"]))
    statuses = [
        done(services.get_assignment(one["assignmentId"]))["status"] for one in (first, second)
    ]
    done(services.expire_hit(hit_id))
    done(services.delete_hit(hit_id))
    return {"statuses": statuses, "balance": done(services.check_balance())}


def dallinger(url: str) -> Any:
    from dallinger.mturk import MTurkService

    class Here(MTurkService):  # type: ignore[misc]
        host = url

    key, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    return Here(key, secret, "us-east-1")


def dallinger_post(url: str) -> dict[str, object]:
    from dallinger.mturk import MTurkQualificationRequirements as Requirements
    from dallinger.mturk import MTurkQuestions

    service = dallinger(url)
    assert service.check_credentials()
    seen = service.create_qualification_type("seen it", "Took part before.")
    assert service.get_qualification_type_by_name("seen it")["id"] == seen["id"]
    hit = service.create_hit(
        experiment_id="colours",
        title="Dallinger's",
        description="An experiment.",
        keywords=["colour"],
        reward=0.25,
        duration_hours=1,
        lifetime_days=1,
        question=MTurkQuestions.external(AD),
        max_assignments=2,
        annotation="colours",
        qualifications=[
            Requirements.min_approval(0),
            Requirements.restrict_to_countries(["US"]),
            Requirements.must_not_have(seen["id"]),
        ],
        do_subscribe=False,  # Amazon's SNS is another service
    )
    assert [one["id"] for one in service.get_hits()] == [hit["id"]]
    assert service.extend_hit(hit["id"], 1, duration_hours=1)["max_assignments"] == 3
    return {"hit": hit["id"], "balance": service.account_balance()}


def dallinger_review(url: str, hit_id: str) -> dict[str, object]:
    service = dallinger(url)
    seen = service.get_qualification_type_by_name("seen it")["id"]
    work = service.mturk.list_assignments_for_hit(HITId=hit_id)["Assignments"]
    for one in work:  # approved by themselves: Dallinger's HITs leave no time for a review
        assert service.assign_qualification(seen, one["WorkerId"], 1)
    first, worker = work[0]["AssignmentId"], work[0]["WorkerId"]
    assert service.grant_bonus(first, 0.10, "Thank you.")
    assert service.increment_qualification_score(seen, worker)["score"] == 2
    assert service.current_qualification_score(seen, worker) == 2
    assert len(list(service.get_workers_with_qualification(seen))) == len(work)
    assert service.revoke_qualification(seen, worker)
    assert service.expire_hit(hit_id)
    statuses = [service.get_assignment(one["AssignmentId"])["status"] for one in work]
    assert service.dispose_qualification_type(seen)
    return {"statuses": statuses, "balance": service.account_balance()}


if __name__ == "__main__":
    package, step, *arguments = sys.argv[1:]
    print(json.dumps(globals()[f"{package}_{step}"](*arguments)))
