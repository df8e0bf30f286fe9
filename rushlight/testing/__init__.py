"""What tests of programs need: assert_close, make_tensor, gradcheck and gradgradcheck."""

from rushlight.autograd import gradcheck, gradgradcheck

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "gradcheck", "gradgradcheck", "make_tensor"]
