import statistics
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from core.text.clean import clean_text, normalise_question, pair_key, question_key
from retrieval.corpus.ingest import insert_pairs
from retrieval.corpus.pair_reader import Pair
from retrieval.corpus.sources.counts import SourceCounts, Words, source_counts
from retrieval.models import QaPair
from tests.support.examples import examples

Made = tuple[str, str, str, str]


def make(*rows: Made) -> None:
    insert_pairs(
        [
            Pair(source, str(number), q, a, license, question_key(q), pair_key(q, a))
            for number, (source, q, a, license) in enumerate(rows)
        ]
    )


@pytest.mark.django_db
def test_a_table_by_hand() -> None:
    make(
        ("faq", "What is rain?", "Water from clouds.", "CC0"),
        ("faq", "what is  rain".replace("  ", " "), "Wet.", "CC0"),
        ("faq", "How?", "So it goes on and on and on.", ""),
        ("forum", "What is rain", "Caf\xe9 \U0001f327 na\xefve", "MIT"),
    )
    QaPair.objects.filter(source="faq", question="How?").update(withdrawn_at="2026-01-01T00:00Z")
    [faq, forum], total = source_counts()
    assert faq == SourceCounts(
        source="faq",
        pairs=3,
        questions=2,
        question_words=Words(7 / 3, pytest.approx((8 / 9) ** 0.5)),
        answer_words=Words(12 / 3, pytest.approx((26 / 3) ** 0.5)),
        withdrawn=1,
        licenses={"CC0": 2, "": 1},
    )
    assert forum.question_words == Words(3.0, 0.0)
    assert forum.answer_words == Words(3.0, 0.0)
    # The two sources ask the same question.
    assert (total.source, total.pairs, total.questions, total.withdrawn) == ("total", 4, 2, 1)
    assert total.licenses == {"CC0": 2, "MIT": 1, "": 1}


@pytest.mark.django_db
def test_an_empty_database_has_no_counts() -> None:
    none = Words(0.0, 0.0)
    assert source_counts() == ([], SourceCounts("total", 0, 0, none, none, 0, {}))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).map(clean_text)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        TEXTS.filter(normalise_question),
        TEXTS.filter(bool),
        st.sampled_from(["", "MIT"]),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[1:3],
)


class CountsOfAnything(TestCase):
    @settings(max_examples=examples(25), deadline=None)
    @given(rows=ROWS)
    def test_the_database_counts_as_python_does(self, rows: list[Made]) -> None:
        make(*rows)
        counts, total = source_counts()
        by_source = {one.source: one for one in counts}
        assert set(by_source) == {source for source, *_ in rows}
        for name, found in [*by_source.items(), (None, total)]:
            own = [row for row in rows if name in (row[0], None)]
            assert found.pairs == len(own)
            assert found.questions == len({normalise_question(row[1]) for row in own})
            assert found.licenses == Counter(row[3] for row in own)
            for place, words in ((1, found.question_words), (2, found.answer_words)):
                lengths = [len(row[place].split()) for row in own]
                assert words.mean == pytest.approx(statistics.fmean(lengths))
                assert words.sd == pytest.approx(statistics.pstdev(lengths))
