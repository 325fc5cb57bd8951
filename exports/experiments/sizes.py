"""What is known of experiments before any is read, such as the sizes that each has. Light."""

from collections.abc import Mapping
from typing import Any

LAMBDA, LAST = "lambda", "last"
TINY = "tiny"
NO_ANSWERS = "{} asks no questions: people judge the answers of experiments with `questions` alone."
# A file may name others, and other settings for these.
SIZES: Mapping[str, Mapping[str, Any]] = {
    TINY: {
        "learning_rate": 1e-3,
        "batch_size": 4,
        "max_length": 24,
        "epochs": 1,
        "max_steps": 8,
        "seeds": [1, 2],
        LAMBDA: 0.5,
    },
    "cpu": {
        "learning_rate": 2e-5,
        "batch_size": 16,
        "max_length": 128,
        "max_steps": 2_000,
        "seeds": [1, 2, 3],
        LAMBDA: 0.5,
    },
    "paper": {},
}
