from django.apps import AppConfig


class ProlificConfig(AppConfig):
    name = "annotation.crowd.prolific"
    label = "prolific"
    verbose_name = "Prolific"
