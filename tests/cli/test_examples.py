"""The programs under examples/ run, and learn, in a few seconds each."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def shown(name, *arguments):
    """What the example prints."""
    program = str(EXAMPLES / f"{name}.py")
    # A program that is named as a file imports what lies beside it, and nothing from the checkout.
    command = ["-P", "-m", "rushlight", "run"] if name == "tiny_gpt" else []
    run = subprocess.run(
        [sys.executable, *command, program, *arguments],
        capture_output=True, text=True, check=False, timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    return run.stdout


def losses(output):
    return [float(number) for number in re.findall(r"loss (\S+)", output)]


def test_resnet_goes_on_from_its_checkpoint():
    output = shown("resnet", "--epochs", "2", "--images", "512")
    assert "went on from resnet.pt after epoch 1" in output
    first, last = losses(output)
    assert last < first < 3


@pytest.mark.parametrize("name, below", [("lstm", 0.6), ("transformer", 1.0)])
def test_sequence_models_learn(name, below):
    *_, last = losses(shown(name, "--steps", "100"))
    assert last < below


def test_vae_learns_and_draws():
    output = shown("vae", "--epochs", "3")
    assert float(re.search(r"([\d.]+) nats", output)[1]) < 30
    assert len(output.splitlines()) == 1 + 8


def test_gan_comes_near_the_ring():
    output = shown("gan", "--steps", "600")
    assert 1.5 < float(re.search(r"points: ([\d.]+)", output)[1]) < 2.5


@pytest.mark.parametrize("name, arguments", [("digits", ["--epochs", "3"]), ("tiny_gpt", [])])
def test_other_examples_learn(name, arguments):
    *_, last = losses(shown(name, *arguments))
    assert last < 1.5
