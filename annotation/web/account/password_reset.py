"""A forgotten password: Django's own views. No answer tells which accounts there are."""

from django.contrib import messages
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView, PasswordResetView
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse_lazy
from kombu.exceptions import OperationalError as BrokerError

from annotation.access.audit_log import by_page, record
from annotation.access.throttle import Limit, TooMany, address_of, attempt
from annotation.jobs.mails import mail_password_reset
from annotation.notifications.mail import has_mail_server

WAIT = "asked for a new password too often: wait an hour and try again."
EMAIL = Limit("password reset", 3, 60, f"This address has {WAIT}")
ADDRESS = Limit("password reset from", 20, 60, f"Somebody at your internet address has {WAIT}")
SENT = "If an account has this address, a mail with a link is on its way to it."
PRINTED = (
    "This site has no mail server. If an account has this address, the mail with its link is "
    "printed on the console of the site: ask whoever runs it."
)
AWAY = "No mail can be sent at the moment: try again in a few minutes."


class ResetPassword(PasswordResetView):
    template_name = "annotation/account/password_reset.html"
    success_url = reverse_lazy("sign-in")

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        """The worker looks for the account: here both cases take the same time."""
        email = form.cleaned_data["email"]
        try:
            attempt([EMAIL.of(email.casefold()), ADDRESS.of(address_of(self.request))])
            mail_password_reset.apply_async((email,), expires=600, retry=False)
        except TooMany as error:
            return self._refuse(form, str(error), 429)
        except BrokerError:
            return self._refuse(form, AWAY, 503)
        messages.info(self.request, SENT if has_mail_server() else PRINTED)
        return HttpResponse(status=302, headers={"Location": str(self.success_url)})

    def _refuse(self, form: PasswordResetForm, sentence: str, status: int) -> HttpResponse:
        form.add_error(None, sentence)
        return self.render_to_response(self.get_context_data(form=form), status=status)


class SetPassword(PasswordResetConfirmView):
    template_name = "annotation/account/password_set.html"
    success_url = reverse_lazy("sign-in")

    @transaction.atomic
    def form_valid(self, form: "SetPasswordForm[User]") -> HttpResponse:
        user = form.user
        record(by_page(user), "reset-password", subject=user.get_username())
        messages.success(self.request, "Your password is changed: sign in with it.")
        return super().form_valid(form)
