from tests.retrieval.conftest import data_dir

__all__ = ["data_dir"]  # the commands tried here write there
