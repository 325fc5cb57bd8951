from django.urls import path

from exports.api.releases import Builds, OneBuild, OneRelease, Releases
from exports.api.trainings import CancelTraining, OneTraining, Recipes, ResumeTraining, Trainings

urlpatterns = [
    path("recipes", Recipes.as_view()),
    path("trainings", Trainings.as_view()),
    path("trainings/<int:pk>", OneTraining.as_view(), name="api-training"),
    path("trainings/<int:pk>/cancel", CancelTraining.as_view()),
    path("trainings/<int:pk>/resume", ResumeTraining.as_view()),
    path("releases", Releases.as_view()),
    path("campaigns/<slug:name>/releases/<int:number>", OneRelease.as_view()),
    path("campaigns/<slug:name>/builds", Builds.as_view()),
    path("campaigns/<slug:name>/builds/<int:pk>", OneBuild.as_view(), name="api-build"),
]
