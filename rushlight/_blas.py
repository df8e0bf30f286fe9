"""Where the BLAS library is that linear algebra uses."""

from __future__ import annotations


def library_path():
    """The file of OpenBLAS in the package scipy-openblas32, or None where it is not installed."""
    import glob
    import os
    from importlib.util import find_spec

    spec = find_spec("scipy_openblas32")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = glob.glob(os.path.join(folder, "lib", "libscipy_openblas.*"))
        found = [f for f in found if not f.endswith(".a")]
        if found:
            return found[0]
    return None
