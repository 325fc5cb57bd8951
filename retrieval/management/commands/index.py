from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from retrieval.build import build_index
from retrieval.cli import QuorumCommand
from retrieval.models import IndexForm, QaPair


class Command(QuorumCommand):
    help = "Encodes the q/a pairs and makes the index that candidates are retrieved from."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--model",
            default=settings.ENCODER_MODEL,
            help="an installed model package, a folder or a sentence-transformers name "
            "(default: %(default)s)",
        )
        parser.add_argument(
            "--form",
            default=IndexForm.QQA,
            choices=IndexForm.values,
            help="QQA: question and answer together (default); QQ: the question alone",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        encoded = 0
        with self.progress(QaPair.objects.count(), "Encoding", unit=" pairs") as bar:

            def report(increment: int) -> None:
                nonlocal encoded
                encoded += increment
                bar.update(increment)

            index = build_index(options["model"], options["form"], options["device"], report)
        return {
            "model": index.model,
            "form": index.form,
            "pairs": index.pairs,
            "newly_encoded": encoded,
            "dimension": index.dimension,
            "folder": index.path,
        }
