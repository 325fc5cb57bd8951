from django.urls import path

from exports.api.releases import Builds, OneBuild, OneRelease, Releases

urlpatterns = [
    path("releases", Releases.as_view()),
    path("campaigns/<slug:name>/releases/<int:number>", OneRelease.as_view()),
    path("campaigns/<slug:name>/builds", Builds.as_view()),
    path("campaigns/<slug:name>/builds/<int:pk>", OneBuild.as_view(), name="api-build"),
]
