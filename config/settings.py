"""Every setting of Quorum, in one place; its environment variables are declared in environment.py.

The defaults are the embedded stack: SQLite, FAISS on CPU, the local MTurk emulator and kombu's
filesystem transport. Production differs by environment variables alone.
"""

import contextlib
import logging
import os
import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.templatetags.static import static

from config.environment import count, flag, from_one, one_of, permille, seconds, text
from core.files.access import OTHERS, make_private
from core.text.money import SIGNS

BASE_DIR = Path(__file__).resolve().parent.parent

# Read when torch and FAISS are loaded, which is later. Their idle threads then sleep instead of
# spinning: where the cores have other work too, spinning ones keep the others from theirs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _address(name: str, value: str, example: str) -> SplitResult:
    """The parts of an address; the value is not repeated, it may hold a password."""
    try:
        parts = urlsplit(value)
        _ = parts.port  # read, it is checked
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must look like {example} ({error}).") from error
    return parts


SOCKETS = ("unix:", "fd://")  # what the web server may bind to besides host and port


def _served_at(bind: str) -> str:
    """Where a browser on this machine finds what the web server binds to."""
    if bind.startswith(SOCKETS):
        raise ImproperlyConfigured(
            "QUORUM_BIND is a socket, which no browser opens: set QUORUM_PUBLIC_URL to the address "
            "of the site."
        )
    parts = _address("QUORUM_BIND", f"//{bind}", "127.0.0.1:8000")
    host = parts.hostname
    if host in {None, "0.0.0.0", "::"}:  # noqa: S104 - a browser cannot open "all"
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in str(host) else host}:{parts.port or 8000}"


@contextlib.contextmanager
def _writing_data() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {DATA_DIR} cannot be written ({error.strerror}): let QUORUM_DATA "
            "name a folder that can."
        ) from error


def _storage_at(name: str, place: str) -> dict[str, object]:
    """s3://bucket/folder, or a folder; boto3 reads AWS_ENDPOINT_URL_S3 and the credentials."""
    if not place.startswith("s3:"):
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": Path(place).resolve(), "base_url": None},
        }
    parts = _address(name, place, "s3://bucket/folder")
    if not parts.hostname:
        raise ImproperlyConfigured(f"{name} must look like s3://bucket/folder, or be a folder.")
    return {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": parts.hostname,
            "location": parts.path.strip("/"),
            "querystring_expire": LINK_SECONDS,
            "signature_version": "s3v4",
            "default_acl": None,
            "file_overwrite": True,
            "max_memory_size": 8 << 20,  # of a file that is read; more of it goes to the disk
        },
    }


def _log_level() -> str:
    level = text("QUORUM_LOG_LEVEL").upper()
    levels = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
    if level not in levels:
        raise ImproperlyConfigured(
            f"QUORUM_LOG_LEVEL must be one of {', '.join(levels)}, not {level!r}."
        )
    return level


def _log_format() -> str:
    name = text("QUORUM_LOG_FORMAT")
    if name not in {"line", "json"}:
        raise ImproperlyConfigured(f"QUORUM_LOG_FORMAT must be line or json, not {name!r}.")
    return name


DATA_DIR = Path(text("QUORUM_DATA") or BASE_DIR / "var" / "data").resolve()
# It holds passwords' digests, controls, and who judged what.
os.umask(OTHERS)
with _writing_data():
    DATA_DIR.mkdir(parents=True, exist_ok=True)
INDEX_DIR = DATA_DIR / "index"
MODELS_DIR = DATA_DIR / "models"
# Read when prometheus_client is loaded, which is later: each process counts there.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = text("PROMETHEUS_MULTIPROC_DIR") or str(
    DATA_DIR / "metrics"
)


def _secret_key() -> str:
    """The key from the environment; else one made once and kept in the data folder."""
    if key := text("QUORUM_SECRET_KEY"):
        return key
    path = DATA_DIR / "secret_key"
    if not path.exists():
        fresh = path.with_name(f"secret_key.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):  # two first starts at once: one key wins
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text()


def _postgresql(name: str, url: str) -> SplitResult:
    example = "postgresql://user:password@host:5432/name"
    parts = _address(name, url, example)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured(f"{name} must look like {example}.")
    return parts


def _milvus(address: str) -> str:
    """A server's address, or a file of milvus-lite with its whole path."""
    if address.endswith(".db") and "://" not in address:
        return str(Path(address).resolve())
    example = "http://user:password@host:19530"
    parts = _address("QUORUM_MILVUS", address, example)
    if address and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ImproperlyConfigured(
            f"QUORUM_MILVUS must look like {example}, or be a file that ends in .db."
        )
    return address


def database_at(url: str) -> dict[str, object]:
    """postgresql://user:password@host:port/name, or SQLite in the data folder when empty."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "quorum.sqlite3",
            "OPTIONS": {
                # Writers take the lock at BEGIN: a read that turns into a write cannot fail late.
                "transaction_mode": "IMMEDIATE",
                "timeout": 30,
                # The last one: what REPLACE puts aside is deleted past the triggers without it.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                " PRAGMA recursive_triggers=ON;",
            },
        }
    parts = _postgresql("QUORUM_DATABASE_URL", url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.strip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": parts.port or "",
        # Each of the site's threads keeps its connection; one that the server closed is replaced.
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 10,
            "application_name": "quorum",
            # A server that has gone without a word is noticed within a minute, not in two hours.
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
        },
    }


def _at(path: str) -> Callable[[HttpRequest], str]:
    """The address of a static file, once the settings are there."""
    return lambda request: static(path)


with _writing_data():
    SECRET_KEY = _secret_key()
    make_private(DATA_DIR)
DEBUG = flag("QUORUM_DEBUG")
BIND = text("QUORUM_BIND")
PUBLIC_URL = (text("QUORUM_PUBLIC_URL") or _served_at(BIND)).rstrip("/")
ALLOWED_HOSTS = [one for one in text("QUORUM_ALLOWED_HOSTS").split(",") if one]
_public = _address("QUORUM_PUBLIC_URL", PUBLIC_URL, "https://quorum.example.org")
if _public.hostname:
    ALLOWED_HOSTS.append(_public.hostname)
# This machine asks for the site's health by whichever name.
ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]

# Whom workers write to, as the pages tell it: a mail address, or a sentence.
CONTACT = text("QUORUM_CONTACT").strip()
if len(CONTACT) > 200 or not CONTACT.isprintable():  # it stands in what a crowd tells its workers
    raise ImproperlyConfigured(
        f"QUORUM_CONTACT must be one line of at most 200 characters, not {len(CONTACT)}."
    )


def _mail_server(url: str) -> dict[str, object]:
    """smtp://user:password@host:587 (with STARTTLS) or smtps://...:465; empty: to the console."""
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    parts = _address("QUORUM_EMAIL_URL", url, "smtp://user:password@host:587")
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ImproperlyConfigured(
            "QUORUM_EMAIL_URL must look like smtp://user:password@host:587, or smtps:// for TLS "
            "from the start."
        )
    is_here = parts.hostname in {"localhost", "127.0.0.1"}  # a relay of this machine: without TLS
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or (465 if parts.scheme == "smtps" else 587),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and not is_here,
    }


globals().update(_mail_server(text("QUORUM_EMAIL_URL")))
EMAIL_TIMEOUT = 15
EMAIL_SUBJECT_PREFIX = ""
DEFAULT_FROM_EMAIL = (
    text("QUORUM_EMAIL_FROM") or f"Quorum <quorum@{_public.hostname or 'localhost'}>"
)
if not DEFAULT_FROM_EMAIL.isprintable():
    raise ImproperlyConfigured("QUORUM_EMAIL_FROM must be one line, such as quorum@example.org.")

# Its holders read /metrics; empty: this machine alone.
METRICS_TOKEN = text("QUORUM_METRICS_TOKEN").strip()
if METRICS_TOKEN and (len(METRICS_TOKEN) < 16 or not METRICS_TOKEN.isascii()):
    raise ImproperlyConfigured("QUORUM_METRICS_TOKEN must have at least 16 ASCII characters.")

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",  # before the admin, whose templates it replaces
    "unfold.contrib.filters",
    "annotation.web.apps.DashboardConfig",  # the admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "retrieval",
    "annotation",
    "annotation.crowd.inhouse",
    "annotation.crowd.prolific",
    "annotation.crowd.turk",
    "exports",
]
MIDDLEWARE = [
    "annotation.web.base.middleware.RequestMetrics",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "annotation.web.base.middleware.PageRules",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotation.web.account.home.entrance",
            ],
            "builtins": ["core.text.filters"],
            "libraries": {
                "charts": "annotation.web.base.chart_tables",
                "crowd_text": "annotation.web.base.crowd_text",
            },
        },
    },
]
DATABASES = {"default": database_at(text("QUORUM_DATABASE_URL"))}
# Where an index of the kind pgvector keeps its vectors; empty: nowhere.
VECTOR_DATABASE_URL = text("QUORUM_VECTOR_DATABASE_URL") or text("QUORUM_DATABASE_URL")
if VECTOR_DATABASE_URL:
    _postgresql("QUORUM_VECTOR_DATABASE_URL", VECTOR_DATABASE_URL)
# Where an index of the kind milvus keeps its vectors; empty: nowhere.
MILVUS = _milvus(text("QUORUM_MILVUS"))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

AUTHENTICATION_BACKENDS = [
    "annotation.access.accounts.AccountBackend",
    "annotation.access.roles.RoleBackend",
]
LOGIN_URL = "/sign-in"
PASSWORD_RESET_TIMEOUT = 86400
LOGIN_REDIRECT_URL = "/"
CSRF_FAILURE_VIEW = "annotation.web.base.guards.csrf_failure"

LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False  # all words are English: nothing is looked up
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
with _writing_data():
    STATIC_ROOT.mkdir(exist_ok=True)
# Files are served straight from the packages: nothing has to be collected before the first start.
WHITENOISE_USE_FINDERS = True

if PUBLIC_URL.startswith("https://"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = ["^health$", "^metrics$"]  # asked on this machine, without a proxy
    SECURE_HSTS_SECONDS = 365 * 86_400
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

# Releases lie in the data folder, in a folder named, or on S3. A link to a file holds so long.
LINK_SECONDS = from_one("QUORUM_LINK_SECONDS", most=604_800)
FILE_UPLOAD_PERMISSIONS = None  # as any other file of ours
STORAGES: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "releases": _storage_at(
        "QUORUM_RELEASES", text("QUORUM_RELEASES") or str(DATA_DIR / "releases")
    ),
}
# Where vectors lie for other machines, too; unset, they lie in the data folder alone.
if _vectors := text("QUORUM_VECTORS"):
    STORAGES["vectors"] = _storage_at("QUORUM_VECTORS", _vectors)

_SHADES = {
    50: "#f0f6fc",
    100: "#e0ecf8",
    200: "#c3daf2",
    300: "#9cc2ea",
    400: "#6ea6df",
    500: "#3f83c8",
    600: "#1f5fa8",
    700: "#1a4f8c",
    800: "#184272",
    900: "#163860",
    950: "#0f2440",
}
UNFOLD = {
    "SITE_TITLE": "Quorum",
    "SITE_HEADER": "Quorum",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _at("annotation/mark.svg")}],
    "STYLES": [_at("dashboard/frame.css")],
    "SCRIPTS": [_at("dashboard/frame.js")],
    "SITE_URL": None,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "COLORS": {"primary": _SHADES},
    "SIDEBAR": {"navigation": "annotation.web.base.admin_site.navigation"},
    "ACCOUNT": {"navigation": "annotation.web.base.admin_site.account"},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.api.base.authentication.BearerToken",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["annotation.api.base.access.MayEnter"],
    "DEFAULT_THROTTLE_CLASSES": ["annotation.api.base.throttling.CallsPerMinute"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.rest.parsing.BoundedJson"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.rest.parsing.AlwaysJson",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "core.rest.problems.answer",
    "URL_FORMAT_OVERRIDE": None,
}
API_CALLS_PER_MINUTE = 600  # of an account, counted where the calls to the crowd are
REST_KNOX = {"TOKEN_TTL": timedelta(days=30), "AUTH_HEADER_PREFIX": "Bearer"}
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Quorum's API",
    "VERSION": "1",
    "DESCRIPTION": (
        "REST API for everything that the dashboard does.\n\n"
        "Sign in by a token (`POST /api/v1/tokens`) or by the site's session, whose requests that "
        "change something send the CSRF token. Lists come in pages: follow `next`. Whatever "
        "spends or creates takes an `Idempotency-Key` and is done once. A long job answers 202 "
        "with the address of the job. Every error is a problem document (RFC 9457)."
    ),
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.rest.openapi.as_problems",
        "core.rest.openapi.strict",
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "AssignmentStatus": "annotation.models.Assignment.Status",
        "CampaignState": "annotation.analytics.campaign.completion.STATES",
        "ControlKind": "annotation.models.Control.Kind",
        "DecisionState": "annotation.models.ControlCandidate.State",
        "DeliveryState": "annotation.models.Delivery.State",
        "EventType": "annotation.models.Event.Type",
        "OfferedEventType": "annotation.models.event.OFFERED_TYPES",
        "HitState": "annotation.analytics.quality.hit_states.HitState",
        "JobState": "retrieval.models.Job.State",
        "ModelKind": "retrieval.models.TrainedModel.Kind",
        "TripletStatus": "annotation.models.Triplet.Status",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"docExpansion": "none", "defaultModelsExpandDepth": -1},
    "TAGS": [
        {"name": "sign-in", "description": "Tokens and your account"},
        {"name": "database", "description": "Sources, pairs and indexes"},
        {"name": "campaigns", "description": "Campaigns and their steps"},
        {"name": "operations", "description": "Act on a campaign: preview, then confirm"},
        {"name": "HITs", "description": "Pages of items for annotators"},
        {"name": "workers", "description": "Workers and their assignments"},
        {"name": "labels", "description": "Triplets, votes, labels and experts"},
        {"name": "controls", "description": "Items whose answer is known"},
        {"name": "figures", "description": "Campaign statistics over time"},
        {"name": "pilots", "description": "Compare judging with and without the answer"},
        {"name": "roles", "description": "Roles in a campaign"},
        {"name": "releases", "description": "Datasets and their builds"},
        {"name": "jobs", "description": "Background jobs and their progress"},
        {"name": "log", "description": "Audit log"},
        {"name": "notifications", "description": "Events, and webhooks that they are sent to"},
    ],
}

# The encoder: a name that installs from the package index, a sentence-transformers name or a path.
ENCODER_MODEL = text("QUORUM_ENCODER")
ENCODER_DEVICE = text("QUORUM_DEVICE")
# The answer selector that questions are answered with: a registered one, or a folder. Empty: the
# retriever alone.
SELECTOR = text("QUORUM_SELECTOR")

# The crowd. boto3 reads AWS_ENDPOINT_URL_MTURK and the AWS credentials itself: servers differ by
# these alone. Unset, it means the local emulator. The two that follow were Amazon's.
MTURK_PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com"
MTURK_SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
MTURK_ENDPOINT = text("AWS_ENDPOINT_URL_MTURK").rstrip("/")
CURRENCY = one_of("QUORUM_CURRENCY", tuple(SIGNS))
PROLIFIC_ENDPOINT = text("QUORUM_PROLIFIC").rstrip("/")
PROLIFIC_TOKEN = text("QUORUM_PROLIFIC_TOKEN")
PROLIFIC_PROJECT = text("QUORUM_PROLIFIC_PROJECT")
PROLIFIC_FEE_PERMILLE = permille("QUORUM_PROLIFIC_FEE")
PROLIFIC_VAT_PERMILLE = permille("QUORUM_PROLIFIC_VAT")
PROLIFIC_SECURE_LINKS = flag("QUORUM_PROLIFIC_SECURE_LINKS")
# Calls to the crowd in a second, of all processes together; 0: any number.
CROWD_CALLS_PER_SECOND = count("QUORUM_CROWD_CALLS_PER_SECOND")
# Calls that one process makes at once.
CROWD_THREADS = from_one("QUORUM_CROWD_THREADS", most=16)
# After so long a call that was begun is taken up by another process; the crowd's tokens live a day.
CLAIM_SECONDS = from_one("QUORUM_CLAIM_SECONDS", most=36_000)

# Webhooks lead to https and to public addresses alone, unless these let them lead elsewhere.
WEBHOOKS_HTTP = flag("QUORUM_WEBHOOKS_HTTP")
WEBHOOKS_PRIVATE = flag("QUORUM_WEBHOOKS_PRIVATE")

# Celery: Redis where QUORUM_BROKER_URL names one, else folders on this machine.
CELERY_BROKER_URL = text("QUORUM_BROKER_URL")
CELERY_TASK_TIME_LIMIT = 3600
_has_folders_as_broker = CELERY_BROKER_URL == "filesystem://"
if _has_folders_as_broker:
    _QUEUE = DATA_DIR / "queue"
    with _writing_data():
        for _folder in ("messages", "processed", "control"):
            (_QUEUE / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        # In and out are one folder: sender and worker share this machine.
        "data_folder_in": str(_QUEUE / "messages"),
        "data_folder_out": str(_QUEUE / "messages"),
        "processed_folder": str(_QUEUE / "processed"),
        "control_folder": str(_QUEUE / "control"),
        "store_processed": False,
    }
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        # The message of a killed worker comes back only when no task can still be at it.
        "visibility_timeout": CELERY_TASK_TIME_LIMIT + 60,
        "socket_connect_timeout": 10,
        "socket_keepalive": True,
        "health_check_interval": 30,
    }
# Where those calls are counted, and those to the API: in the broker's Redis, else in each process
# for itself.
CROWD_RATE_STORAGE = (
    CELERY_BROKER_URL if CELERY_BROKER_URL.startswith(("redis://", "rediss://")) else "memory://"
)
# A broker that is away is waited for, at the start as later, however long it takes.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_IGNORE_RESULT = True
# A task counts as done when it is: that of a killed process is given to another one.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = from_one("QUORUM_WORKER_PROCESSES", most=1000)
# Jobs that people ask for may take hours: no campaign waits for them.
CELERY_TASK_ROUTES = {f"quorum.{task}": {"queue": "jobs"} for task in ("run_jobs", "run_job")}
CELERY_TIMEZONE = "UTC"
# Who writes down what the commands of the q/a database did.
AUDIT_LOG = "annotation.access.audit_log.record_command"
# Who writes down, in the same transaction, that a job has failed.
JOB_FAILED = "annotation.notifications.events.job_failed"
PASS_SECONDS = seconds("QUORUM_PASS_SECONDS")
RECONCILE_SECONDS = seconds("QUORUM_RECONCILE_SECONDS")
# What a dead process had is looked for often enough to be taken over soon after its claim ends.
LOOK_SECONDS = min(PASS_SECONDS, CLAIM_SECONDS / 4)
CELERY_BEAT_SCHEDULE = {
    "publish-and-collect": {
        "task": "quorum.advance_campaigns",
        "schedule": PASS_SECONDS,
    },
    "share-the-calls": {
        "task": "quorum.deliver_campaigns",
        "schedule": LOOK_SECONDS,
    },
    "reconcile": {
        "task": "quorum.reconcile_campaigns",
        "schedule": RECONCILE_SECONDS,
        "options": {"expires": RECONCILE_SECONDS},
    },
    "run-jobs": {
        "task": "quorum.run_jobs",
        "schedule": LOOK_SECONDS,
        "options": {"expires": max(60.0, PASS_SECONDS)},
    },
    "deliver-events": {
        "task": "quorum.deliver_events",
        "schedule": PASS_SECONDS,
        "options": {"expires": max(60.0, PASS_SECONDS)},
    },
    "tidy": {
        "task": "quorum.tidy",
        "schedule": 86400,
        "options": {"expires": 86400},
    },
    "reconcile-in-full": {
        "task": "quorum.reconcile_campaigns",
        "kwargs": {"full": True},
        "schedule": 86400,
        "options": {"expires": 86400},
    },
}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
CELERY_BEAT_SYNC_EVERY = 1  # written at each beat: config/health.py looks at the file's age

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "about": {"()": "core.log_context.About"},
        "no_traceback": {"()": "core.log_context.NoTraceback"},
    },
    "formatters": {
        "line": {
            "class": "core.log_context.OneLine",
            "format": "{asctime} {levelname} {name}{about}: {message}",
            "style": "{",
        },
        "json": {"()": "core.log_context.JsonLines"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": _log_format(),
            "filters": ["about"],
        }
    },
    "root": {"handlers": ["stderr"], "level": _log_level()},
    "loggers": {
        "django.security.DisallowedHost": {"filters": ["no_traceback"]},
        # Of the broker in folders it says at every start that no host was named.
        "kombu.connection": {"level": "ERROR" if _has_folders_as_broker else "NOTSET"},
    },
}
logging.captureWarnings(True)
