from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.access import passwords  # noqa: F401, PLC0415 - it listens from now on
