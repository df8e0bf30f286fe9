"""A browser for the tests in this folder, where they were asked for and one is installed."""

import os
import subprocess
import sys

import pytest

from .chromium import Browser, executable

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "examples")


def pytest_collection_modifyitems(items):
    why = None
    if os.environ.get("RUSHLIGHT_BROWSER") != "1":
        why = "make browser runs these"
    elif executable() is None:
        why = "no Chromium is installed"
    for item in items:
        if why and "/browser/" in str(item.path):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def browser():
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="session")
def page_of(tmp_path_factory):
    """page_of(command, source, name): the page that a command of ours writes of a script."""
    made = {}

    def page(command: str, source: str, *args: str):
        key = (command, source, args)
        if key not in made:
            folder = tmp_path_factory.mktemp(command)
            script = folder / "script.py"
            script.write_text(source)
            made[key] = folder / "page.html"
            start = [sys.executable, "-P", "-m", "rushlight", command, "--html", made[key]]
            subprocess.run(
                [*start, script, *args], cwd=folder, capture_output=True, timeout=300, check=False
            )
        return made[key]

    return page


@pytest.fixture(scope="session")
def gpt():
    with open(os.path.join(EXAMPLES, "tiny_gpt.py"), encoding="utf-8") as file:
        return file.read()
