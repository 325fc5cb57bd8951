"""Accounts, groups, and roles in all campaigns; whatever is done to them is logged."""

from typing import Any, cast

import knox.admin  # noqa: F401 - registers what is registered again here
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangosGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangosUserAdmin
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from knox.models import AuthToken
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from annotation.access.audit_log import by_page, record
from annotation.models import Role

RIGHTS = ("is_superuser", "groups", "user_permissions")
STAYS = (
    "{user} has taken part in what is recorded here, so the account stays: close it instead, by"
    " its mark “Active”. Nobody can sign in with a closed account."
)

admin.site.unregister(User)
admin.site.unregister(Group)
admin.site.unregister(AuthToken)


class LoggedAdmin(ModelAdmin):  # type: ignore[misc]
    """What is saved or deleted by its forms stands in the log; nothing is deleted by the dozen."""

    actions = None

    def log_addition(self, request: HttpRequest, object: models.Model, message: Any) -> Any:
        self._record(request, "add", object)
        return super().log_addition(request, object, message)

    def log_change(self, request: HttpRequest, object: models.Model, message: Any) -> Any:
        self._record(request, "change", object)
        return super().log_change(request, object, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for one in queryset:
            self._record(request, "delete", one)
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, what: str, one: Any) -> None:
        by = by_page(cast(User, request.user))
        record(by, f"{what}-{self.kind}", subject=self.subject(one), details=self.facts(one))

    kind = ""

    def subject(self, one: Any) -> str:
        return str(one)

    def facts(self, one: Any) -> dict[str, object]:
        """What it is after the operation, for the log."""
        raise NotImplementedError("an account's page must say what the log keeps of it")


@admin.register(User)
class UserAdmin(DjangosUserAdmin, LoggedAdmin):  # type: ignore[misc, type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")
    filter_horizontal = ()  # whose boxes are wider than the form
    kind = "account"

    def facts(self, one: Any) -> dict[str, object]:
        return {
            "active": one.is_active,
            "staff": one.is_staff,
            "superuser": one.is_superuser,
            "groups": sorted(one.groups.values_list("name", flat=True)),
            "permissions": _names(one.user_permissions.all()),
        }

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Nobody but a superuser hands out rights: one could give oneself all of them."""
        fields = super().get_readonly_fields(request, obj)
        return tuple(fields) if request.user.is_superuser else (*fields, *RIGHTS, "is_staff")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._reaches(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._reaches(request, obj) and super().has_delete_permission(request, obj)

    def _reaches(self, request: HttpRequest, obj: Any) -> bool:
        """An account with more rights is not taken over by a new password for it."""
        if obj is None or request.user.is_superuser or obj.pk == request.user.pk:
            return True
        return not (obj.is_superuser or obj.is_staff or _has_rights(obj))

    @transaction.atomic
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        return super().user_change_password(request, id, form_url)

    def construct_change_message(self, request: HttpRequest, form: Any, *args: Any) -> Any:
        """Also the one place that knows of a new password."""
        if isinstance(form, AdminPasswordChangeForm):
            record(by_page(cast(User, request.user)), "change-password", subject=str(form.user))
        return super().construct_change_message(request, form, *args)

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **more: Any) -> Any:
        user = self.get_object(request, object_id)
        if user is not None and self.has_delete_permission(request, user):
            _, _, _, protected = self.get_deleted_objects([user], request)
            if protected:
                return _kept(request, cast(User, user))
        return super().delete_view(request, object_id, *args, **more)


def _has_rights(user: User) -> bool:
    """Of a closed account, too: who may open it again could take it over."""
    parts = Role.objects.filter(user=user).exclude(name=Role.Name.ANNOTATOR)
    return parts.exists() or user.groups.exists() or user.user_permissions.exists()


def _kept(request: HttpRequest, user: User) -> HttpResponse:
    messages.error(request, STAYS.format(user=user))
    return redirect(reverse("admin:auth_user_change", args=[user.pk]))


class ForSuperusers:
    """Who changes a group or a role changes what its members may do."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(Group)
class GroupAdmin(ForSuperusers, DjangosGroupAdmin, LoggedAdmin):  # type: ignore[misc]
    filter_horizontal = ()
    kind = "group"

    def facts(self, one: Any) -> dict[str, object]:
        return {"permissions": _names(one.permissions.all())}


@admin.register(Role)
class RoleAdmin(ForSuperusers, LoggedAdmin):
    """Roles of single campaigns have a page there; here is the one that holds in all of them."""

    list_display = ("user", "name", "campaign", "created_at")
    list_select_related = ("user", "campaign")
    list_filter = ("name",)
    search_fields = ("user__username", "campaign__name")
    autocomplete_fields = ("user",)
    show_full_result_count = False
    kind = "role"

    def facts(self, one: Any) -> dict[str, object]:
        campaign = one.campaign and one.campaign.name
        return {"role": one.name, "of": campaign or "all campaigns"}


@admin.register(AuthToken)
class TokenAdmin(LoggedAdmin):
    """Tokens of programs, to take back: knox's own form would make one for anybody."""

    list_display = ("token_key", "user", "created", "expiry")
    list_select_related = ("user",)
    search_fields = ("token_key", "user__username")
    fields = readonly_fields = ("token_key", "user", "created", "expiry")
    kind = "token"

    def subject(self, one: Any) -> str:
        return str(one.user)

    def facts(self, one: Any) -> dict[str, object]:
        return {"token": one.token_key}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _names(permissions: QuerySet[Any]) -> list[str]:
    return sorted(f"{app}.{name}" for app, name in permissions.values_list(
        "content_type__app_label", "codename"
    ))  # fmt: skip
