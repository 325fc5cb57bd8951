"""One small file in each published format, with made-up texts in the exact shape."""

import json
from pathlib import Path
from typing import Any, NamedTuple

Pair = tuple[str, str, str]


class Shape(NamedTuple):
    name: str
    content: bytes
    # Question, answer and id; empty where the content is the id.
    pairs: set[Pair]
    skipped: dict[str, int]
    license: str = ""


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def document(value: Any) -> bytes:
    return json.dumps(value).encode()


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


NO_ANSWER = "the question has no answer"
REMOVED = "the answer was removed by its writer or a moderator"

GOOAQ = [
    {
        "id": 11,
        "question": "how tall is a barn door?",
        "short_answer": None,
        "answer": "Most barn doors are 84 inches tall.",
        "answer_type": "feat_snip",
        "answer_url": "https://example.org/doors",
    },
    {
        "id": 12,
        "question": "two pints are how many cups?",
        "short_answer": "4",
        "answer": None,
        "answer_type": "unit_conv",
        "answer_url": None,
    },
    {
        "id": 13,
        "question": "how to make tea?",
        "short_answer": None,
        "answer": "['Boil water. ... ', \"Don't stir.\", 'Say \\'ah\\'.', 'Caf\\xe9.']",
        "answer_type": "collection",
        "answer_url": None,
    },
    {
        "id": 14,
        "question": "is it raining now?",
        "short_answer": None,
        "answer": None,
        "answer_type": None,
        "answer_url": None,
    },
]
HOTPOT = [
    {
        "_id": "5a8b",
        "answer": "Lena Marsh",
        "question": "Who wrote the novel on which The Long Pier is based?",
        "supporting_facts": [["The Long Pier", 0], ["Lena Marsh", 1]],
        "context": [["The Long Pier", ["It is a film.", " It is long."]], ["Lena Marsh", ["Her."]]],
        "type": "bridge",
        "level": "hard",
    },
    {
        "_id": "5a8c",
        "question": "Which of the two rivers is longer?",
        "context": [["River", ["It flows."]]],
    },
]
SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "Bridge",
            "paragraphs": [
                {
                    "context": "The bridge opened in 1931 in the spring.",
                    "qas": [
                        {
                            "question": "When did the bridge open?",
                            "id": "q1",
                            "answers": [
                                {"text": "1931", "answer_start": 21},
                                {"text": "in 1931", "answer_start": 18},
                                {"text": "1931", "answer_start": 21},
                            ],
                            "is_impossible": False,
                        },
                        {
                            "plausible_answers": [{"text": "spring", "answer_start": 33}],
                            "question": "Who closed the bridge?",
                            "id": "q2",
                            "answers": [],
                            "is_impossible": True,
                        },
                    ],
                }
            ],
        },
        {
            "title": "Ferry",
            "paragraphs": [
                {"context": "", "qas": [{"question": "Why?", "id": "q3", "answers": []}]}
            ],
        },
    ],
}
COVIDQA = {
    "data": [
        {
            "paragraphs": [
                {
                    "qas": [
                        {
                            "question": "What spreads the cough?",
                            "id": 262,
                            "answers": [{"text": "droplets", "answer_start": 3}],
                            "is_impossible": False,
                        }
                    ],
                    "context": "By droplets.",
                    "document_id": 630,
                }
            ]
        }
    ]
}
ELI5 = [
    {
        "q_id": "5x1",
        "title": "Why do cats purr?",
        "selftext": "I have one.",
        "document": "",
        "subreddit": "explainlikeimfive",
        "answers": {
            "a_id": ["d1", "d2", "d3"],
            "text": ["A muscle in the throat trembles.", "[deleted]", "They are content."],
            "score": [12, 3, 2],
        },
        "title_urls": {"url": []},
    },
    {"q_id": "5x2", "title": "Why?", "selftext": "", "document": "", "answers": {"text": []}},
]
ELI5_POSTS = [
    [
        "6y1",
        {
            "id": "6y1",
            "score": 40,
            "url": "https://example.org/r/explainlikeimfive/6y1",
            "title": ["Why is the sea salty ?", []],
            "selftext": ["", []],
            "comments": [
                {"id": "c1", "score": 9, "body": ["Rivers carry salt to it .", []]},
                {"id": "c2", "score": 2, "body": ["", []]},
            ],
        },
    ]
]
ELI5_FINISHED = [
    {
        "id": "7z1",
        "question": "How do kites fly ? --T-- Mine does not .",
        "document": "<P> Wind .",
        "answer": "The wind pushes them up .",
    }
]
NATURAL_QUESTIONS = [
    {
        "example_id": -901,
        "question_text": "who dug the old canal",
        "document_url": "https://example.org/canal",
        "document_text": "<H1> Canal </H1> <P> Two brothers , Ann and Bo , dug it . </P>",
        "long_answer_candidates": [{"start_token": 3, "end_token": 15, "top_level": True}],
        "annotations": [
            {
                "annotation_id": 1,
                "long_answer": {"start_token": 3, "end_token": 15, "candidate_index": 0},
                "short_answers": [
                    {"start_token": 7, "end_token": 8},
                    {"start_token": 9, "end_token": 10},
                ],
                "yes_no_answer": "NONE",
            },
            {
                "annotation_id": 2,
                "long_answer": {"start_token": 3, "end_token": 15, "candidate_index": 0},
                "short_answers": [],
                "yes_no_answer": "NONE",
            },
            {
                "annotation_id": 3,
                "long_answer": {"start_token": -1, "end_token": -1, "candidate_index": -1},
                "short_answers": [],
                "yes_no_answer": "YES",
            },
        ],
    },
    {
        "example_id": 902,
        "question_text": "how deep is the canal",
        "document_html": "<p>It is deep.</p>",
        "document_tokens": [
            {"token": "<P>", "start_byte": 0, "end_byte": 3, "html_token": True},
            {"token": "It", "start_byte": 3, "end_byte": 5, "html_token": False},
        ],
        "annotations": [
            {
                "long_answer": {"start_token": -1, "end_token": -1, "candidate_index": -1},
                "short_answers": [],
                "yes_no_answer": "NONE",
            }
        ],
    },
]
WIKIANSWERS = (
    b"q:How many lakes does the valley have?\tq:number of lakes in the valley\ta:Seven.\ta:7\n"
    b"q:What is a weir?\tq:what is weir\n"
    b"a:It is red.\tq:What color is the barn?\n"
)
WIKIQA = (
    b"QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\r\n"
    b'Q1\thow are "mills" built\tD1\tMill\tD1-0\t"Mills stand by rivers.\t0\r\n'
    b'Q1\thow are "mills" built\tD1\tMill\tD1-1\tOf stone, on "piles.\t1\r\n'
)
QUORAQP = (
    b"id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\tanswer1\tanswer2\tscore1\tscore2\n"
    b'0\t1\t2\tHow do I learn to row?\t"How can I ""row""?"\t1\tIn a boat.\tBy rowing.\t0.5\t0.9\n'
    b"1\t1\t3\tHow do I learn to row?\tWho rows?\t0\tIn a boat.\t\t0.5\t\n"
)
QUORA_MATCH = (
    b"question1\tquestion2\tanswer\tis_duplicate\n"
    b"How do I bake?\tWhat is the way to bake?\tIn an oven.\t1\n"
    b"How do I bake?\tWhy bake?\t\t0\n"
)
WQA = jsonl(
    {"question": "what is a dyke", "answer": "A wall that holds water back.", "label": 1},
    {"question": "what is a dyke", "answer": "It was a sunny day.", "label": 0},
)

TEA = "Boil water. ... Don't stir. Say 'ah'. Caf\xe9."
LONG = "Two brothers , Ann and Bo , dug it ."
SHAPES = {
    "gooaq": Shape(
        "gooaq.jsonl",
        jsonl(*GOOAQ),
        {
            ("how tall is a barn door?", "Most barn doors are 84 inches tall.", "11"),
            ("two pints are how many cups?", "4", "12"),
            ("how to make tea?", TEA, "13"),
        },
        {NO_ANSWER: 1},
        "non-commercial use only (README of allenai/gooaq)",
    ),
    "hotpotqa": Shape(
        "hotpot_train_v1.1.json",
        document(HOTPOT),
        {("Who wrote the novel on which The Long Pier is based?", "Lena Marsh", "5a8b")},
        {NO_ANSWER: 1},
        "CC BY-SA 4.0",
    ),
    "squad": Shape(
        "train-v2.0.json",
        document(SQUAD),
        {
            ("When did the bridge open?", "1931", "q1"),
            ("When did the bridge open?", "in 1931", "q1#2"),
        },
        {"the question is unanswerable": 1, NO_ANSWER: 1},
    ),
    "covidqa": Shape(
        "COVID-QA.json",
        document(COVIDQA),
        {("What spreads the cough?", "droplets", "262")},
        {},
        "Apache-2.0",
    ),
    "eli5": Shape(
        "eli5.jsonl",
        jsonl(*ELI5),
        {
            ("Why do cats purr?", "A muscle in the throat trembles.", "5x1"),
            ("Why do cats purr?", "They are content.", "5x1#3"),
        },
        {REMOVED: 1, NO_ANSWER: 1},
    ),
    "natural-questions": Shape(
        "v1.0-simplified_nq.jsonl",
        jsonl(*NATURAL_QUESTIONS),
        {
            ("who dug the old canal", "Ann, Bo", "-901"),
            ("who dug the old canal", LONG, "-901#2"),
            ("who dug the old canal", "Yes", "-901#3"),
        },
        {NO_ANSWER: 1},
        "CC BY-SA 3.0",
    ),
    "nq-open": Shape(
        "NQ-open.train.jsonl",
        jsonl(
            {"question": "when did the mill burn", "answer": ["1902", "in 1902"]},
            {"question": "who burnt it", "answer": []},
        ),
        {("when did the mill burn", "1902", ""), ("when did the mill burn", "in 1902", "")},
        {NO_ANSWER: 1},
        "CC BY-SA 3.0",
    ),
    "paq": Shape(
        "PAQ.metadata.jsonl",
        jsonl(
            {
                "question": "who built the dam",
                "subsets": ["L1"],
                "answer": "ada",
                "passage_score": -1.5,
                "answers": [{"passage_id": "7", "offset": 3, "text": "ada", "extractor": "L"}],
            },
            {"question": "who built the lock", "answer": ["bob"]},
        ),
        {("who built the dam", "ada", ""), ("who built the lock", "bob", "")},
        {},
        "CC BY-SA 3.0",
    ),
    "wikianswers": Shape(
        "wikianswers.txt",
        WIKIANSWERS,
        {
            ("How many lakes does the valley have?", "Seven.", ""),
            ("How many lakes does the valley have?", "7", ""),
            ("What color is the barn?", "It is red.", ""),
        },
        {"the cluster has no answer": 1},
    ),
    "wikiqa": Shape(
        "WikiQA-train.tsv",
        WIKIQA,
        {('how are "mills" built', 'Of stone, on "piles.', "Q1/D1-1")},
        {"labelled 0: not a right answer": 1},
        "Microsoft Research Data License",
    ),
    "quoraqp": Shape(
        "quora_duplicate_questions.tsv",
        QUORAQP,
        {
            ("How do I learn to row?", "In a boat.", "1"),
            ('How can I "row"?', "By rowing.", "2"),
        },
        {NO_ANSWER: 1},
    ),
    "quora-match": Shape(
        "match.tsv",
        QUORA_MATCH,
        {("What is the way to bake?", "In an oven.", "")},
        {NO_ANSWER: 1},
    ),
    "wqa": Shape(
        "wqa.jsonl",
        WQA,
        {("what is a dyke", "A wall that holds water back.", "")},
        {"labelled 0: not a right answer": 1},
    ),
}
