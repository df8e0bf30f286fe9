"""Masks of nn.attention.bias give what the masks they stand for give."""

import pytest

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.attention import bias


@pytest.mark.parametrize("keys", [4, 7])
@pytest.mark.parametrize("make", [bias.causal_upper_left, bias.causal_lower_right])
def test_attention(make, keys):
    torch.manual_seed(0)
    query = torch.randn(2, 2, 4, 8, requires_grad=True)
    key, value = torch.randn(2, 2, keys, 8), torch.randn(2, 2, keys, 8)
    mask = make(4, keys)
    offset = keys - 4 if make is bias.causal_lower_right else 0
    plain = torch.ones(4, keys, dtype=torch.bool).tril(offset)
    assert mask._materialize().equal(plain) and repr(mask) == repr(plain)
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=0.3)
    wanted = F.scaled_dot_product_attention(query, key, value, attn_mask=plain, scale=0.3)
    torch.testing.assert_close(out, wanted)
    assert type(out) is torch.Tensor and out.requires_grad
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(query, key, value, mask, 0.0, True)


def test_refusals():
    with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
        bias.CausalBias(1, 2, 3)
    with pytest.raises(AssertionError, match="causal_upper_left only supports 2D tensors"):
        bias.causal_upper_left(3)
    with pytest.warns(UserWarning, match="will produce NaNs"):
        bias.causal_lower_right(5, 3)
