"""What the emulator refuses, on each of its faces."""


class RequestError(Exception):
    """MTurk's RequestError: `code` is the part of TurkErrorCode after AWS.MechanicalTurk.

    Codes that MTurk documents or that its users have published: AssignmentDoesNotExist,
    HITDoesNotExist, HitAlreadyExists, InsufficientFunds, InvalidAssignmentState, InvalidHITState,
    InvalidMaximumAssignmentsIncrease, InvalidParameterValue, InvalidQualificationState,
    PermissionDeniedException, QualificationDoesNotExist, QualificationTypeAlreadyExists,
    QualificationTypeDoesNotExist, XMLParseError. Assumed here: HITTypeDoesNotExist,
    WorkerDoesNotExist, QualificationRequestDoesNotExist, InvalidQualificationRequestState,
    IdempotencyTokenAlreadyProcessed (only its message is known from MTurk) and
    NotSupported, which MTurk cannot have.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = f"AWS.MechanicalTurk.{code}"


class Refused(Exception):
    """A worker cannot do this: an HTTP status and the sentence that says why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def invalid(message: str) -> RequestError:
    return RequestError("InvalidParameterValue", message)


def unsupported(what: str) -> RequestError:
    message = f"{what} is not supported here."
    return RequestError("NotSupported", message)
