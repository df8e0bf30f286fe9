"""The version, in the shape that programs expect of PyTorch's: the release we follow, then ours."""

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

rushlight_version = "0.1.0"


class TorchVersion(str):
    """A version that compares with strings and tuples by its numbers."""

    __slots__ = ()

    @staticmethod
    def _key(version):
        if not isinstance(version, str):
            return tuple(version)
        import re

        release = version.partition("+")[0]
        return tuple(int(part) for part in re.findall(r"\d+", release)[:3])

    def _compared(self, other):
        mine, theirs = self._key(self), self._key(other)
        width = max(len(mine), len(theirs))
        return mine + (0,) * (width - len(mine)), theirs + (0,) * (width - len(theirs))

    def __lt__(self, other):
        mine, theirs = self._compared(other)
        return mine < theirs

    def __le__(self, other):
        mine, theirs = self._compared(other)
        return mine <= theirs

    def __gt__(self, other):
        return not self <= other

    def __ge__(self, other):
        return not self < other

    def __eq__(self, other):
        if isinstance(other, str):
            return str.__eq__(self, other)
        mine, theirs = self._compared(other)
        return mine == theirs

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(f"2.13.0+rushlight{rushlight_version}")
debug = False
cuda = None
hip = None
rocm = None
xpu = None
git_version = "unknown"
