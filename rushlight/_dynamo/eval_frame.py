"""What torch.compile makes of a module: the module itself behind PyTorch's wrapper."""

from __future__ import annotations

from rushlight.nn.modules.module import Module


def is_dynamo_supported() -> bool:
    """False: nothing is compiled."""
    return False


class OptimizedModule(Module):
    """A module around ``mod``, whose calls and attributes are those of ``mod``.

    Its parameters have names that begin with ``_orig_mod.``, in ``state_dict``, too.
    """

    _opt_mod_attributes = {"_orig_mod", "_modules", "_forward_hooks", "training"}

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__()
        self._orig_mod = mod
        self.forward = mod.__call__

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "forward"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.forward = self._orig_mod.__call__

    def __reduce__(self):
        return (type(self), (self._orig_mod,))

    @property
    def training(self):
        """Whether the module inside is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = value

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        modules = self.__dict__.get("_modules")
        if name in ("forward", "training", "_orig_mod") or not modules:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
