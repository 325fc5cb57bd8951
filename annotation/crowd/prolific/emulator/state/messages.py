"""Messages between the researcher and participants."""

from annotation.crowd.prolific.emulator.session import Session, new_id


def send(
    session: Session, *, sender_id: str, recipient_id: str, body: str, study_id: str | None
) -> None:
    session.insert(
        "messages",
        message_id=new_id(),
        sender_id=sender_id,
        recipient_id=recipient_id,
        study_id=study_id,
        body=body,
        sent_at=session.now,
    )


def researcher_id(session: Session) -> str:
    row = session.row("SELECT value FROM meta WHERE name = 'researcher'")
    assert row is not None  # written with the file
    return str(row["value"])
