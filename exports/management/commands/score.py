"""`manage.py score MODEL --release DIR --split test --out RUN`: what a model makes of a release."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.command import QuorumCommand
from exports.evaluation.score_model import FORM, Wanted, queries_of, score
from retrieval.ranking.input_forms import RETRIEVER_FORMS


class Command(QuorumCommand):
    help = (
        "Score every candidate of a split by a model, as it is: a retriever by the cosine of query "
        "and candidate, an answer selector by its own score. The run is for evaluate and compare."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "model", help="a registered model's name, a folder, or a sentence-transformers name"
        )
        parser.add_argument(
            "--release", type=Path, required=True, metavar="DIR", help="the release's folder"
        )
        parser.add_argument("--split", default="test", help="train, dev or test (the default)")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="RUN", help="the run, a new file"
        )
        parser.add_argument(
            "--form",
            choices=RETRIEVER_FORMS,
            help="what a retriever encodes of a candidate, its question or its answer, too "
            f"(the form that it was trained with here, else {FORM})",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        names = ("model", "release", "split", "form", "device")
        wanted = Wanted(**{name: options[name] for name in names})
        queries = queries_of(wanted.release, wanted.split)
        with self.progress(queries, "Scoring", unit=" queries") as bar:
            return score(wanted, options["out"], bar.update)
