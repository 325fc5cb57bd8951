"""A small real selector: the share of the query's words that a candidate has."""

from collections.abc import Sequence

from core.text.clean import clean_text


class OverlapSelector:
    """Reads the answer as well unless the form is QQ."""

    def __init__(self, form: str = "QQA", name: str = "overlap") -> None:
        self.name = name
        self.form = form
        self.fingerprint = form

    def score(self, query: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self.score_all([(query, question, answer) for question, answer in pairs])

    def score_all(self, triplets: Sequence[tuple[str, str, str]]) -> list[float]:
        found = []
        for query, question, answer in triplets:
            wanted = words(query)
            read = words(question) | (words(answer) if "A" in self.form else set())
            found.append(len(wanted & read) / len(wanted))
        return found


def words(text: str) -> set[str]:
    return {word.strip("?.,!") for word in clean_text(text).lower().split()}
