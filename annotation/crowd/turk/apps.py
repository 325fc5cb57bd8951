from django.apps import AppConfig


class TurkConfig(AppConfig):
    name = "annotation.crowd.turk"
    label = "turk"
    verbose_name = "Turk"
