from django.apps import AppConfig


class InhouseConfig(AppConfig):
    name = "annotation.crowd.inhouse"
    label = "inhouse"
    verbose_name = "In-house crowd"
