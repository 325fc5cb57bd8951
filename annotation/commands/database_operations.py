"""`quorum corpus` and `quorum controls`: the verbs that the registry of operations defines."""

from annotation.commands import controls
from annotation.commands.campaign_operations import verb_of
from annotation.operations.registry import DATABASE_OPERATIONS
from retrieval.commands import corpus

APPS = {"corpus": corpus.app, "controls": controls.app}

for operation in DATABASE_OPERATIONS.values():
    APPS[operation.noun].verb(operation.verb or operation.name)(verb_of(operation))
