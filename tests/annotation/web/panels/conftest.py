from tests.annotation.crowd.prolific.conftest import open_desk, prolific, start

__all__ = ["open_desk", "prolific", "start"]
