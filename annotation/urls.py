from django.urls import path

from annotation.views.health import health
from annotation.views.hit import hit_page
from annotation.views.home import home

urlpatterns = [
    path("", home, name="home"),
    path("health", health, name="health"),
    path("hit/<str:signed>", hit_page, name="hit"),
]
