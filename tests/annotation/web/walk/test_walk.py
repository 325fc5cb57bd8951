"""Every address of the resolver, by everybody there is: what each may, and no error ever.

A new address without a row here fails the test that reads them all.
"""

import logging
from collections.abc import Iterator, Sequence

import pytest
from django.conf import settings
from django.contrib import admin

from retrieval.admin import ReadOnlyAdmin
from tests.annotation.web.walk.addresses import ROWS
from tests.annotation.web.walk.walk import ADMIN_OF_A_MODEL, PEOPLE, Rule, Site, routes

pytestmark = pytest.mark.django_db

MOST_QUERIES = 20
# Of the records, those that are written by hand; all others can only be looked at.
WRITTEN = {"auth.user", "auth.group", "annotation.role", "knox.authtoken"}


@pytest.fixture
def quiet() -> Iterator[None]:
    """Refusals are what is asked for here: none of them needs a line."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def is_of_a_model(route: str) -> bool:
    found = ADMIN_OF_A_MODEL.match(route)
    return found is not None and f"{found[1]}.{found[2]}" in models()


def models() -> set[str]:
    return {model._meta.label_lower for model in admin.site._registry}


def askers(rule: Rule) -> Sequence[str]:
    """Where all get the same, or the address takes no such request, three stand for them."""
    same = rule.who == "all" or rule.gets == 405
    return ("nobody", "annotator", "root") if same else PEOPLE


def test_the_table_names_every_address_and_no_other() -> None:
    there = {route for route, _ in routes() if not is_of_a_model(route)}
    assert there - ROWS.keys() == set()
    assert ROWS.keys() - there == set()


def test_no_page_takes_a_form_of_another_site() -> None:
    assert "django.middleware.csrf.CsrfViewMiddleware" in settings.MIDDLEWARE
    exempt = {route for route, found in routes() if getattr(found.callback, "csrf_exempt", False)}
    pages = {route for route in exempt if not route.startswith(("api/", "^api/"))}
    assert pages == {
        "mails/stop/<str:token>",  # mail programs post to it
        "^turk/?$",  # programs do, and sign what they send
        "^turk/sandbox/?$",
        "turk/<environment:environment>/<slug:requester>/mturk/externalSubmit",  # other sites do
        "panels/<slug:crowd>/events",  # crowds do, and sign them
        "admin/database/upload",
    }  # which checks it itself, once it has a folder


def test_everybody_gets_what_the_table_says_for_20_queries_at_most(quiet: None) -> None:
    demo, wrong = Site(), []
    for route, rules in ROWS.items():
        for method, rule in zip(("GET", "POST"), rules, strict=True):
            for person in askers(rule):
                (got, queries), wanted = demo.count(person, method, route), rule(person)
                if got != wanted:
                    wrong.append(f"{method} {route} {person}: {got}, not {wanted}")
                # All that a member may do next stands on the page of their work.
                if method == "GET" and queries > MOST_QUERIES + 2 * (route == "work"):
                    wrong.append(f"{route} {person}: {queries} queries")
    assert wrong == []


def test_the_records_are_looked_at_by_who_may_and_changed_by_nobody(quiet: None) -> None:
    demo, wrong = Site(), []
    for label in sorted(models() - WRITTEN):
        place = f"admin/{label.replace('.', '/')}/"
        for person, wanted in (("nobody", 302), ("owner", 403), ("staff", 403), ("root", 200)):
            got = demo.ask(person, "GET", place)
            if got != wanted:
                wrong.append(f"{place} {person}: {got}, not {wanted}")
        for suffix in ("add/", "<path:object_id>/change/", "<path:object_id>/delete/"):
            got = demo.ask("root", "POST", place + suffix)
            if got != 403:
                wrong.append(f"POST {place}{suffix} root: {got}, not 403")
        got = demo.ask("root", "GET", f"{place}<path:object_id>/change/")
        if got not in {200, 302}:  # 302: there is no row yet
            wrong.append(f"{place} change root: {got}")
    assert wrong == []


def test_accounts_groups_roles_and_tokens_are_a_superuser_s(quiet: None) -> None:
    demo, wrong = Site(), []
    for label in sorted(WRITTEN):
        place = f"admin/{label.replace('.', '/')}/"
        ends = ("", "add/", "<path:object_id>/change/", "<path:object_id>/delete/")
        for end in ends:
            for method in ("GET", "POST"):
                for person in ("nobody", "outsider", "owner", "staff", "root"):
                    got = demo.ask(person, method, place + end)
                    if got not in expected(label, end, method, person):
                        wrong.append(f"{method} {place}{end} {person}: {got}")
    assert wrong == []


def expected(label: str, end: str, method: str, person: str) -> set[int]:
    if person in {"nobody", "outsider"}:
        return {302}
    is_of_a_library = label == "knox.authtoken" and (
        end == "add/" or (method == "POST" and "change" in end)
    )
    if person != "root" or is_of_a_library:
        return {403}
    return {200, 302} if "object_id" in end else {200}  # 302: there is no row yet


def test_every_record_is_one_to_look_at_unless_it_is_named_here() -> None:
    written = {
        model._meta.label_lower
        for model, shown in admin.site._registry.items()
        if not isinstance(shown, ReadOnlyAdmin)
    }
    assert written == WRITTEN
