"""Commands that read no postings start without numpy."""

from __future__ import annotations

import subprocess
import sys

import numpy

from satchel import lazy_numpy


def test_names_are_those_of_numpy() -> None:
    assert lazy_numpy.concatenate is numpy.concatenate
    assert not hasattr(lazy_numpy, "no_such_name")


def test_the_engine_and_its_services_load_without_numpy() -> None:
    program = (
        "import sys, satchel.cli.application, satchel.engine, satchel.services.memory, satchel.operations.remember, "
        "satchel.operations.ask; sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", program], check=False).returncode == 0
