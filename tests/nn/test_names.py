"""Names of nn: every layer listed is where it is said to be, and imports stay light."""

import subprocess
import sys

from rushlight import nn


def test_layers_live_where_listed():
    for name, home in nn.modules._HOME.items():
        layer = getattr(nn, name)
        assert layer.__module__ == f"rushlight.nn.modules.{home}", name
        assert issubclass(layer, nn.Module)


def test_every_public_layer_is_listed():
    for home in nn.modules._LAYERS:
        file = getattr(nn.modules, home)
        for name, value in vars(file).items():
            own = isinstance(value, type) and value.__module__ == file.__name__
            hidden = name.startswith("_") or name == "NonDynamicallyQuantizableLinear"
            if own and issubclass(value, nn.Module) and not hidden:
                assert nn.modules._HOME.get(name) == home, name


def test_unknown_names():
    for module in (nn, nn.modules, nn.utils):
        assert not hasattr(module, "Foo")


def test_import_loads_no_layers_it_does_not_need():
    code = (
        "import sys, rushlight.nn\n"
        "print(*[m for m in sys.modules if 'rushlight.nn.modules.' in m])"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    loaded = run.stdout
    assert "rushlight.nn.modules.module" in loaded
    assert "transformer" not in loaded and "conv" not in loaded


def test_functions_that_are_native_are_not_wrapped():
    import rushlight as torch

    functional = nn.functional
    assert functional.linear is torch._C._nn.linear
    assert functional.conv2d is torch.conv2d
    assert functional.gelu is torch._C._nn.gelu
    assert functional.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention
