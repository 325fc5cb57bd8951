from tests.retrieval.training.conftest import bare

__all__ = ["bare"]  # a checkpoint that training starts from
