"""Nodes keep what PyTorch's keep, so that an in-place change makes backward raise where it does
there."""

from . import ROWS, saved
from .under_test import torch

FUSED = "one record for several of PyTorch's, whose nodes together keep this"
NAMED = "the same tensor under another name"
LESS = "the formula needs no more; a program that PyTorch stops may go on"
APART = {
    **dict.fromkeys(
        "AddBackward0 AddmmBackward0 MmBackward0 MulBackward0 MulBackward1 NllLoss2DBackward0 "
        "NllLossBackward0 StackBackward0 SubBackward0 UnsafeViewBackward0 ViewBackward0".split(),
        FUSED,
    ),
    **dict.fromkeys(
        "CtcLossBackward0 IgammaBackward0 IgammacBackward0 PolygammaBackward0 "
        "StdMeanBackward0".split(),
        NAMED,
    ),
    **dict.fromkeys(
        "ComplexBackward0 ConvTbcBackward0 CummaxBackward0 CumminBackward0 EmbeddingBagBackward0 "
        "FftR2CBackward0 GatherBackward0 IndexAddBackward0 IndexCopyBackward0 LogSigmoidBackward0 "
        "MaskedSelectBackward0 PutBackward0 SpecialLogNdtrBackward0 SpecialXlog1PyBackward2 "
        "TakeBackward0 XlogyBackward2".split(),
        LESS,
    ),
}


def test_nodes_keep_what_they_should():
    wanted, found = saved.load(), saved.by_node(torch, ROWS)
    off = {n for n in wanted.keys() & found.keys() if found[n] != wanted[n]}
    lines = [
        f"{n} keeps {sorted(found[n])}, PyTorch's {sorted(wanted[n])}"
        for n in sorted(off - APART.keys())
    ]
    assert not lines, "\n".join(lines)
    assert not APART.keys() - off, f"no difference: {sorted(APART.keys() - off)}"
    for node in (n for n, why in APART.items() if why is LESS):
        assert found[node] < wanted[node], node
