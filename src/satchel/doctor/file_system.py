"""Where files lie: a store on a file system of the network is slow, and its locks may not hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

from satchel.doctor.check import Check, ok, warn

MOUNTS = Path("/proc/self/mountinfo")
"""The mounts of Linux; other systems have no such file, and nothing is said there."""

NETWORK_TYPES = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.davfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb2",
        "smb3",
        "smbfs",
        "virtiofs",
        "vboxsf",
    ]
)

_ESCAPED = re.compile(r"\\([0-7]{3})")


def network(folder: Path, mounts: Path = MOUNTS) -> Check:
    """Whether this folder lies on a file system of the network."""
    kind = file_system(folder, mounts)
    if kind in NETWORK_TYPES:
        message = f"{folder} is on {kind}: questions are slow there, and two processes may not see each other's locks"
        return warn("file system", message, "set SATCHEL_HOME or XDG_CACHE_HOME to a folder on a local disk")
    return ok("file system", f"{folder} is on {kind}" if kind else f"{folder}: this system does not say what it is on")


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """The type of the file system under a folder that may not exist yet, empty if that is not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place = os.path.realpath(folder)
    best, found = "", ""
    for line in lines:
        # 36 35 98:0 /root /mount\040point rw,noatime master:1 - ext4 /dev/sda1 rw
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if len(fields) < 5 or not kind:
            continue
        point = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # the last of equal mounts hides the others
            best, found = point, kind
    return found
