"""Shows what a pickle holds without importing what it names: ``python -m ... FILE[@MEMBER]``."""

from __future__ import annotations

import fnmatch
import pickle
import pprint
import struct
import sys
import zipfile

__all__ = ["DumpUnpickler", "FakeClass", "FakeObject", "main"]

_USAGE = """\
usage: show_pickle PICKLE_FILE
  PICKLE_FILE can be any of:
    path to a pickle file
    file.zip@member.pkl
    file.zip@*/pattern.*
      (shell glob pattern for members)
      (only first match will be shown)
"""


class FakeObject:
    """An object of a class that was not imported: its name, arguments and state."""

    def __init__(self, module, name, args):
        self.module, self.name, self.args = module, name, args
        self.state = None

    def __repr__(self):
        state = "" if self.state is None else f"(state={self.state!r})"
        return f"{self.module}.{self.name}{self.args!r}{state}"

    def __setstate__(self, state):
        self.state = state

    @staticmethod
    def pp_format(printer, obj, stream, indent, allowance, context, level):
        """Write ``obj`` for ``pprint``, its arguments and state over lines of their own."""
        if not obj.args and obj.state is None:
            stream.write(repr(obj))
            return
        parts = [obj.args] if obj.state is None else [obj.args, obj.state]
        stream.write(f"{obj.module}.{obj.name}")
        if obj.state is not None:
            stream.write("(state=")
            parts = parts[:1] if obj.args else parts[1:]
        for part in parts:
            printer._format(part, stream, indent + 1, allowance + 1, context, level)
        if obj.state is not None:
            stream.write(")")


class FakeClass:
    """A class or function that was not imported; calling it gives a ``FakeObject``."""

    def __init__(self, module, name):
        self.module, self.name = module, name
        self.__new__ = self.fake_new

    def __repr__(self):
        return f"{self.module}.{self.name}"

    def __call__(self, *args):
        return FakeObject(self.module, self.name, args)

    def fake_new(self, *args):
        """An object of the class."""
        return FakeObject(self.module, self.name, args[1:])


class DumpUnpickler(pickle._Unpickler):
    """Reads a pickle into fakes; with ``catch_invalid_utf8`` bad text becomes bytes."""

    def __init__(self, file, *, catch_invalid_utf8=False, **kwargs):
        super().__init__(file, **kwargs)
        self.catch_invalid_utf8 = catch_invalid_utf8

    def find_class(self, module, name):
        """A fake of what the pickle names."""
        return FakeClass(module, name)

    def persistent_load(self, pid):
        """A fake of what the pickle keeps elsewhere."""
        return FakeObject("pers", "obj", (pid,))

    dispatch = dict(pickle._Unpickler.dispatch)

    def load_binunicode(self):
        """Text; its bytes where they are no UTF-8 and that is let pass."""
        size, = struct.unpack("<I", self.read(4))
        if size > sys.maxsize:
            raise Exception("String too long.")
        raw = self.read(size)
        try:
            self.append(str(raw, "utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            if not self.catch_invalid_utf8:
                raise
            self.append(FakeObject("builtin", "UnicodeDecodeError", (raw,)))

    dispatch[pickle.BINUNICODE[0]] = load_binunicode

    @classmethod
    def dump(cls, in_stream, out_stream):
        """Print what the pickle in one stream holds to the other; it is returned, too."""
        value = cls(in_stream).load()
        pprint.pprint(value, stream=out_stream)
        return value


def main(argv, output_stream=None):
    """Show the pickle that ``argv[1]`` names; 2 where the arguments are wrong."""
    if len(argv) != 2:
        print(_USAGE, end="", file=output_stream if output_stream is not None else sys.stderr)
        return 2
    out = sys.stdout if output_stream is None else output_stream
    if "@" not in argv[1]:
        with open(argv[1], "rb") as file:
            DumpUnpickler.dump(file, out)
        return None
    archive, pattern = argv[1].split("@", 1)
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if fnmatch.fnmatch(name, pattern):
                with opened.open(name) as member:
                    DumpUnpickler.dump(member, out)
                return None
    raise Exception(f"Could not find member matching {pattern} in {archive}")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
