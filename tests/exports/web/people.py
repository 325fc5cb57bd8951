"""People who come to the pages of the releases."""

from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.crowd.inhouse.models import Member
from tests.annotation.web.stage import make_member, signed_in, staff

PEOPLE = ("nobody", "outsider", "member", "staff", "download", "build", "builder", "root", "gone")


def reader(name: str = "dan", *rights: str, is_active: bool = True) -> User:
    """An account outside of the staff that may download."""
    user = User.objects.create_user(name, is_active=is_active)
    codenames = rights or ("download_release",)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


def client_of(who: str) -> Client:
    """`builder` may ask for builds and not see them; `gone` is an account that was closed."""
    if who == "nobody":
        return Client()
    if who == "member":
        member: Member = make_member("ada")
        return signed_in(member.user)
    if who == "gone":
        user = reader("gone", "download_release", "add_build")
        client = signed_in(user)
        User.objects.filter(pk=user.pk).update(is_active=False)
        return client
    made = {
        "outsider": lambda: User.objects.create_user("otto"),
        "staff": lambda: staff("carla"),
        "download": lambda: reader("dan"),
        "build": lambda: reader("cleo", "download_release", "add_build"),
        "builder": lambda: reader("bob", "add_build"),
        "root": lambda: User.objects.create_superuser("root"),
    }
    return signed_in(made[who]())
