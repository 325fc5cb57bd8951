from django.urls import path

from annotation import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health", views.health, name="health"),
    path("hit/<str:signed>", views.hit_page, name="hit"),
]
