"""Every file for jobs and for the acceptance test of a fabric, by path in the output tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.jobs.acceptance import acceptance_files
from fabricc.back.jobs.imex import imex_files
from fabricc.back.jobs.kubernetes import kubernetes_files
from fabricc.back.jobs.roster import roster
from fabricc.back.jobs.settings import settings_files
from fabricc.back.jobs.shipped import scripts
from fabricc.back.jobs.slurm import slurm_files

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric


def job_files(fabric: Fabric) -> dict[str, str]:
    """Path -> text, sorted by path; a few files for the whole fabric, none per host, and none where none has GPUs.

    Raises:
        ValueError: a name that these files cannot hold; the hosts' gaps report such names before.
    """
    hosts = roster(fabric, fabric.host)
    if not hosts.hosts:
        return {}
    folders = {
        "jobs": settings_files(hosts),
        "jobs/slurm": slurm_files(hosts),
        "jobs/imex": imex_files(fabric, hosts),
        "jobs/launch": scripts("launch"),
        "jobs/kubernetes": kubernetes_files(fabric, hosts),
        "acceptance": acceptance_files(fabric, hosts),
    }
    files = {f"{folder}/{name}": text for folder, texts in folders.items() for name, text in texts.items()}
    return dict(sorted(files.items()))


def executable(path: str, text: str) -> bool:
    """Return whether the file is written with mode 0755: its first line names an interpreter."""
    return path.endswith((".sh", ".py")) and text.startswith("#!")
