"""The servers' programs and users, as Debian's packages bring them."""

import glob
import os
import pwd
import re
import shutil
from pathlib import Path
from typing import Any

from demo.processes import StackError

DEBIAN_POSTGRESQL = "/usr/lib/postgresql/*/bin"
PACKAGES = "postgresql and redis-server"


def find(program: str) -> str:
    """From PATH, else of the newest PostgreSQL, which Debian keeps out of it."""
    places = sorted(glob.glob(DEBIAN_POSTGRESQL), key=_version, reverse=True)
    path = shutil.which(program) or shutil.which(program, path=os.pathsep.join(places))
    if path is None:
        raise StackError(
            f"there is no {program} in PATH or {DEBIAN_POSTGRESQL}: install Debian's packages "
            f"{PACKAGES} (apt-get install postgresql redis-server)"
        )
    return path


def _version(folder: str) -> int:
    number = re.search(r"/(\d+)/bin$", folder)
    return int(number[1]) if number else 0


def identity(server: str) -> dict[str, Any]:
    """For Popen: root runs each server as its package's user, anybody else as oneself."""
    user = _user(server)
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def give(path: Path, server: str) -> None:
    if user := _user(server):
        os.chown(path, user.pw_uid, user.pw_gid)


def check_entry(folder: Path) -> None:
    """What root may enter, the servers' users need not."""
    if os.geteuid() != 0:
        return
    folder.chmod(0o755)
    closed = [path for path in folder.parents if not path.stat().st_mode & 0o001]
    if closed:
        raise StackError(
            f"run by root, the servers have users of their own, who cannot enter {closed[0]}: "
            "let QUORUM_SERVICES name a folder that they can"
        )


def _user(server: str) -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(server)
    except KeyError:
        return pwd.getpwnam("nobody")
