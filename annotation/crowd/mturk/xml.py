"""The two XML documents of MTurk's API: the question we send, the answers we get."""

from lxml import etree

from annotation.crowd.port import CrowdError

MAX_QUESTION_BYTES = 65_535
VALUES = ("FreeText", "SelectionIdentifier", "OtherSelectionText")  # of an answer
# FrameHeight 0: MTurk sizes the frame to the worker's window.
_EXTERNAL_QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/'
    '2006-07-14/ExternalQuestion.xsd"><ExternalURL/><FrameHeight>0</FrameHeight></ExternalQuestion>'
)


def external_question(url: str) -> str:
    """The question that frames our page at `url`; CrowdError when MTurk cannot take it."""
    root = etree.fromstring(_EXTERNAL_QUESTION)
    try:
        root[0].text = url
    except ValueError as error:  # a control character, which XML cannot hold
        raise CrowdError(
            f"The HIT page's address {url!r} is not a URL.", permanent=False
        ) from error
    xml = etree.tostring(root, encoding="utf-8")
    if len(xml) > MAX_QUESTION_BYTES:
        raise CrowdError(
            f"The question of the HIT takes {len(xml):,} bytes, MTurk takes {MAX_QUESTION_BYTES:,}:"
            " shorten the HIT page's address.",
            permanent=False,
        )
    return xml.decode()


def read_answers(xml: str) -> dict[str, str]:
    """Form field -> value of a QuestionFormAnswers document; ValueError when it is none.

    A field sent twice keeps both values, joined by "|": none of the two is preferred in silence.
    So does a choice of several.
    """
    # Workers type what is in here: no entities, no network. `encoding` overrules the declaration,
    # which speaks of bytes that the JSON around it has already decoded. `recover` drops the control
    # characters that a browser can send and XML cannot hold: they must not stop a collection.
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, recover=True
    )
    try:
        root = etree.fromstring(xml.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"no XML ({error})") from error
    if root is None or etree.QName(root).localname != "QuestionFormAnswers":
        raise ValueError("not a QuestionFormAnswers document")
    if root.getroottree().docinfo.internalDTD is not None:
        raise ValueError("a document type declaration has no place in answers")
    answers: dict[str, str] = {}
    for answer in root.iterfind("{*}Answer"):
        field = answer.findtext("{*}QuestionIdentifier") or ""
        texts = answer.iterchildren(*(f"{{*}}{name}" for name in VALUES))
        value = "|".join(text.text or "" for text in texts)
        answers[field] = f"{answers[field]}|{value}" if field in answers else value
    return answers
