"""Corpora created, changed and removed."""

from annotation.operations.operation import Argument, Operation, Options, Result, tried
from core.errors import UserError
from retrieval.corpus.corpora import (
    add_source,
    create_corpus,
    named_corpus,
    remove_corpus,
    remove_source,
)
from retrieval.models.corpus import sources_of
from retrieval.web.access import BUILD

NAME = Argument("name", "name", "Name", "letters, digits, - and _; it cannot be changed later")
SOURCES = Argument("sources", "sources", "Sources", "others can join it later", optional=True)
CORPUS = Argument("corpus", "corpus", "Corpus")
SOURCE = Argument("source", "source", "Source")


def _create(database: None, options: Options) -> Result:
    corpus = create_corpus(options["name"], options["sources"] or [])
    return {"corpus": corpus.name, "sources": sources_of(corpus)}


def _add(database: None, options: Options) -> Result:
    corpus, source = named_corpus(options["corpus"]), options["source"]
    if not add_source(corpus, source):
        raise UserError(f"The corpus {corpus} has the source {source} already.")
    return {"sources": sources_of(corpus)}


def _remove(database: None, options: Options) -> Result:
    corpus = named_corpus(options["corpus"])
    remove_source(corpus, options["source"])
    return {"sources": sources_of(corpus)}


def _remove_corpus(database: None, options: Options) -> Result:
    remove_corpus(named_corpus(options["corpus"]))
    return {"removed": options["corpus"]}


OPERATIONS = (
    Operation(
        "create-corpus",
        "create a corpus: a set of sources with an index of its own",
        BUILD,
        tried(_create, "The corpus {name} is created. Build its index before you search it."),
        _create,
        (NAME, SOURCES),
        noun="corpus",
        verb="create",
        subject="name",
        calls_crowd=False,
        confirms=False,
    ),
    Operation(
        "add-source",
        "add a source to a corpus",
        BUILD,
        tried(_add, "{source} joins {corpus}: its pairs are found after the next index build."),
        _add,
        (CORPUS, SOURCE),
        noun="corpus",
        subject="corpus",
        calls_crowd=False,
        confirms=False,
    ),
    Operation(
        "remove-corpus",
        "remove a corpus that no campaign belongs to, with its indexes; the pairs stay",
        BUILD,
        tried(_remove_corpus, "{corpus} and its indexes are removed. You cannot undo this."),
        _remove_corpus,
        (CORPUS,),
        noun="corpus",
        verb="remove",
        subject="corpus",
        calls_crowd=False,
        confirms=False,
        harms=True,
    ),
    Operation(
        "remove-source",
        "take a source out of a corpus; its pairs stay, and so does what was retrieved before",
        BUILD,
        tried(_remove, "Searches in {corpus} no longer find pairs of {source}."),
        _remove,
        (CORPUS, SOURCE),
        noun="corpus",
        subject="corpus",
        calls_crowd=False,
        confirms=False,
    ),
)
