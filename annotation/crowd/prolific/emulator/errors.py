"""What the emulator refuses, on each of its faces; Prolific's numbers of errors are not known."""

from collections.abc import Mapping, Sequence

Detail = str | Sequence[str] | Mapping[str, Sequence[str]]
TITLES = {
    400: "Validation error",
    401: "Authentication error",
    403: "Permission denied",
    404: "Not found",
    405: "Method not allowed",
    429: "Too many requests",
}


class ApiError(Exception):
    """A refusal to the researcher."""

    def __init__(self, status: int, detail: Detail) -> None:
        super().__init__(str(detail))
        self.status = status
        self.detail = detail

    def body(self) -> dict[str, object]:
        return {
            "status": self.status,
            "error_code": 100_000 + self.status,  # invented
            "title": TITLES.get(self.status, "Request refused"),
            "detail": self.detail,
            "additional_information": "/api/v1/errors/",
            "traceback": None,
            "interactive": False,
        }


class Refused(Exception):
    """A participant cannot do this: an HTTP status and the sentence that says why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def invalid(name: str, sentence: str) -> ApiError:
    return ApiError(400, {name: [sentence]})


def unknown(what: str, key: object) -> ApiError:
    return ApiError(404, f"No {what} has the id {key}.")


def unsupported(what: str) -> ApiError:
    return ApiError(400, f"{what} is not supported by the Prolific emulator.")
