from django.urls import path

from exports.web.builds import ask, build_state
from exports.web.campaign import campaign_releases
from exports.web.files import plot, release_file
from exports.web.release import release_page
from exports.web.releases import releases

urlpatterns = [
    path("releases", releases, name="releases"),
    path("releases/<str:token>/<str:filename>", release_file, name="release-file"),
    path("campaigns/<slug:name>/releases", campaign_releases, name="campaign-releases"),
    path("campaigns/<slug:name>/releases/build", ask, name="ask-for-release"),
    path("campaigns/<slug:name>/releases/builds/<int:pk>", build_state, name="build-state"),
    path("campaigns/<slug:name>/releases/<int:number>", release_page, name="release"),
    path("campaigns/<slug:name>/releases/<int:number>/plots/<slug:plot>.svg", plot, name="plot"),
]
