from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        # They listen from now on.
        from annotation.access import passwords  # noqa: F401, PLC0415
        from annotation.monitoring import currency  # noqa: F401, PLC0415
