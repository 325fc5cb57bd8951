"""Who may work, in MTurk's terms."""

from typing import TYPE_CHECKING

from annotation.crowd.port import HitTypeSpec

if TYPE_CHECKING:
    from mypy_boto3_mturk.type_defs import QualificationRequirementTypeDef

# MTurk's own qualifications
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
PERCENT_APPROVED = "000000000000000000L0"
HITS_APPROVED = "00000000000000000040"


def qualification_requirements(
    spec: HitTypeSpec, *, sandbox: bool
) -> "list[QualificationRequirementTypeDef]":
    """Who may work; who may not, does not even see the HITs. A least of 0 asks nothing.

    Who has only not taken the test yet sees them, with the way to the qualification test.
    """
    wanted: list[QualificationRequirementTypeDef] = []
    if spec.masters:
        masters = MASTERS_SANDBOX if sandbox else MASTERS
        wanted.append({"QualificationTypeId": masters, "Comparator": "Exists"})
    leasts = {PERCENT_APPROVED: spec.min_approval_percent, HITS_APPROVED: spec.min_approved}
    for kind, least in leasts.items():
        if least:
            wanted.append(
                {
                    "QualificationTypeId": kind,
                    "Comparator": "GreaterThanOrEqualTo",
                    "IntegerValues": [least],
                }
            )
    if spec.exclusion_id:
        wanted.append({"QualificationTypeId": spec.exclusion_id, "Comparator": "DoesNotExist"})
    if spec.known_id and spec.excluded_workers:
        # MTurk lets in nobody who does not hold the qualification at all.
        wanted.append(
            {
                "QualificationTypeId": spec.known_id,
                "Comparator": "NotIn",
                "IntegerValues": list(spec.excluded_workers),
            }
        )
    for requirement in wanted:
        requirement["ActionsGuarded"] = "DiscoverPreviewAndAccept"
    if spec.qualified_id:
        wanted.append(
            {
                "QualificationTypeId": spec.qualified_id,
                "Comparator": "Exists",
                "ActionsGuarded": "Accept",
            }
        )
    return wanted
