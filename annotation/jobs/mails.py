"""Mails that somebody at a page waits for."""

from celery import shared_task
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm


@shared_task(name="quorum.mail_password_reset")
def mail_password_reset(email: str) -> None:
    """To each active account with this address; to nobody where there is none."""
    form = PasswordResetForm({"email": email})
    if form.is_valid():
        form.save(
            subject_template_name="annotation/account/password_reset_subject.txt",
            email_template_name="annotation/account/password_reset_mail.txt",
            domain_override=settings.PUBLIC_URL,  # whatever host a request has named
        )
