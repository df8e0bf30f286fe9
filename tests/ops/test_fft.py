"""Fourier transforms of all kinds of lengths, against exact sums and by their own laws."""

import cmath
import math

import pytest

from .under_test import torch

LENGTHS = [
    *range(1, 34), 49, 55, 60, 61, 62, 64, 67, 77, 121, 128, 134, 143, 210, 243, 256, 384, 385, 512,
    600, 625, 1000, 1021, 1024, 1331, 2042, 2048, 3721, 4096, 4199,
]  # fmt: skip
# Long enough for several dimensions of parts, and for primes by longer transforms.
LONG = [32768, 40000, 65536, 3 * 4093, 10007, 65537, 61 * 601, 1 << 17]
EPSILON = {"float32": 2.0**-24, "float64": 2.0**-53}


def noise(*shape, dtype="complex128", seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=getattr(torch, dtype), generator=generator)


def apart(a, b):
    """The distance of two tensors as a part of their length."""
    return float(torch.linalg.vector_norm(a - b) / torch.linalg.vector_norm(b))


def slow_transform(x):
    """The sum as it is defined, from roots of one that are exact to the last digit."""
    n = x.shape[-1]
    roots = [cmath.exp(-2j * math.pi * k / n) for k in range(n)]
    places = torch.arange(n)
    return x @ torch.tensor(roots, dtype=x.dtype)[torch.outer(places, places) % n]


def bound(dtype, n, factor=1.0):
    return EPSILON[dtype] * (3 + factor * math.log2(n + 1))


@pytest.mark.parametrize("n", [n for n in LENGTHS if n <= 1021])
def test_transform_is_the_sum(n):
    for rows in (1, 3, 20):
        x = noise(rows, n)
        exact = slow_transform(x)
        # The slow sum loses digits in proportion to the root of n.
        slow = EPSILON["float64"] * 2 * math.sqrt(n)
        assert apart(torch.fft.fft(x), exact) < bound("float64", n) + slow
        assert apart(torch.fft.ifft(x).conj() * n, slow_transform(x.conj())) < slow + bound(
            "float64", n
        )
        real = x.real
        exact = slow_transform(real + 0j)
        half = exact[:, : n // 2 + 1]
        assert apart(torch.fft.fft(real), exact) < bound("float64", n) + slow
        assert apart(torch.fft.rfft(real), half) < bound("float64", n) + slow
        assert apart(torch.fft.irfft(half, n), real) < bound("float64", n) + 2 * slow


@pytest.mark.parametrize("n", [*LENGTHS, *LONG])
def test_float_agrees_with_double(n):
    """Also what double and float take by ways of their own."""
    x = noise(2, n)
    exact = torch.fft.fft(x)
    assert apart(torch.fft.fft(x.to(torch.complex64)).to(x.dtype), exact) < bound("float32", n)
    real = x.real.contiguous()
    exact = torch.fft.rfft(real)
    assert apart(torch.fft.rfft(real.float()).to(exact.dtype), exact) < bound("float32", n)
    back = torch.fft.irfft(exact.to(torch.complex64), n)
    assert apart(back.double(), real) < bound("float32", n)


@pytest.mark.parametrize("n", [*LENGTHS, *LONG])
def test_inverse_and_energy(n):
    x = noise(2, n)
    for norm in ("forward", "backward", "ortho"):
        there = torch.fft.fft(x, norm=norm)
        assert apart(torch.fft.ifft(there, norm=norm), x) < bound("float64", n)
        half = torch.fft.rfft(x.real, norm=norm)
        assert apart(torch.fft.irfft(half, n, norm=norm), x.real) < bound("float64", n)
        assert apart(torch.fft.hfft(torch.fft.ihfft(x.real, norm=norm), n, norm=norm), x.real) < (
            bound("float64", n)
        )
    energy = torch.linalg.vector_norm(torch.fft.fft(x, norm="ortho")) / torch.linalg.vector_norm(x)
    assert abs(float(energy) - 1) < bound("float64", n)


@pytest.mark.parametrize("n", [8, 13, 60, 1000, 1021, 40000])
def test_shift_and_sum(n):
    x, y = noise(n), noise(n, seed=1)
    together = torch.fft.fft(x * 2 - y * 3j)
    assert apart(together, torch.fft.fft(x) * 2 - torch.fft.fft(y) * 3j) < bound("float64", n)
    k = torch.arange(n, dtype=torch.float64)
    turned = torch.fft.fft(x) * torch.exp(-2j * math.pi * (k * 5 % n) / n)
    assert apart(torch.fft.fft(x.roll(5)), turned) < bound("float64", n)


@pytest.mark.parametrize("shape", [(6, 35), (3, 16, 5), (2, 3, 4, 7), (40, 1), (5, 67), (1, 9)])
def test_several_dimensions_one_after_the_other(shape):
    x = noise(*shape)
    want = x
    for d in range(x.dim()):
        want = torch.fft.fft(want, dim=d)
    for order in (tuple(range(x.dim())), tuple(reversed(range(x.dim())))):
        assert apart(torch.fft.fftn(x, dim=order), want) < bound("float64", x.numel())
    assert apart(torch.fft.ifftn(want), x) < bound("float64", x.numel())
    half = torch.fft.rfftn(x.real)
    assert apart(half, torch.fft.fftn(x.real)[..., : shape[-1] // 2 + 1]) < 1e-14
    if shape[-1] > 1:
        assert apart(torch.fft.irfftn(half, shape), x.real) < bound("float64", x.numel())
    twosided = torch._fft_r2c(x.real, list(range(x.dim())), 0, False)
    assert apart(twosided, torch.fft.fftn(x.real)) < bound("float64", x.numel())


def test_one_dimension_by_names_for_several():
    x = noise(4, 6).real
    for one, many in (("fft", "fftn"), ("ihfft", "ihfftn"), ("hfft", "hfftn"), ("irfft", "irfftn")):
        for d in (0, 1):
            a, b = getattr(torch.fft, one)(x, dim=d), getattr(torch.fft, many)(x, dim=(d,))
            assert apart(a, b) < 1e-15 and a.stride() == b.stride()


@pytest.mark.parametrize("n", [5, 64, 300, 9000])
def test_layouts(n):
    """Rows far apart, turned, repeated, in reverse order of dimensions, conjugated on the way."""
    x = noise(3, n)
    want = torch.fft.fft(x)
    wide = torch.zeros(6, 2 * n + 1, dtype=x.dtype)
    wide[::2, 1::2] = x
    turned = x.t().contiguous().t()
    for same in (wide[::2, 1::2], turned, x.conj().resolve_conj().conj()):
        assert apart(torch.fft.fft(same), want) < bound("float64", n)
    assert apart(torch.fft.fft(x.t(), dim=0).t(), want) < bound("float64", n)
    repeated = x[:1].expand(4, n)
    assert apart(torch.fft.fft(repeated), want[:1].expand(4, n)) < bound("float64", n)
    real = x.real
    assert apart(torch.fft.rfft(real), torch.fft.rfft(real.contiguous())) < 1e-15
    frames = real.contiguous().view(-1)[: n + 4].unfold(0, n, 2)
    assert apart(torch.fft.rfft(frames), torch.fft.rfft(frames.contiguous())) < 1e-15


def test_meta_has_the_strides_of_the_cpu():
    x = torch.randn(2, 3, 4)
    for name in ("fftn", "rfftn", "irfftn", "hfftn", "ihfftn"):
        for dim in ((0, 1), (2, 0), (1,), (0, 1, 2)):
            for given in (x, x.transpose(0, 2), x[:, :1].expand(2, 3, 4)):
                made = getattr(torch.fft, name)(given, dim=dim)
                meta = getattr(torch.fft, name)(given.to("meta"), dim=dim)
                assert meta.shape == made.shape and meta.dtype == made.dtype
                if given.is_contiguous():
                    assert meta.stride() == made.stride()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [1, 6, 7])
def test_gradients(name, n):
    if n == 1 and name in ("irfft", "hfft"):
        n = 2
    x = noise(2, n)
    x = (x.real if name in ("rfft", "ihfft") else x).contiguous().requires_grad_()
    run = getattr(torch.fft, name)
    for more in ({}, {"norm": "ortho"}, {"n": 5}, {"dim": 0, "n": 3}):
        assert torch.autograd.gradcheck(lambda t, more=more: run(t, **more), x)
        assert torch.autograd.gradgradcheck(lambda t, more=more: run(t, **more), x)


def test_gradients_of_spectra_over_time():
    x = noise(2, 20).real.contiguous().requires_grad_()
    window = torch.rand(6, dtype=torch.float64).add(0.5).requires_grad_()

    def there(x, window):
        return torch.stft(x, 6, 2, window=window, return_complex=True)

    def back(spectrum, window):
        return torch.istft(spectrum, 6, 2, window=window)

    assert torch.autograd.gradcheck(there, (x, window))
    spectrum = there(x, window).detach().requires_grad_()
    assert torch.autograd.gradcheck(back, (spectrum, window))
    assert apart(back(spectrum, window).detach(), x.detach()) < 1e-14
    assert there(x, window).grad_fn.name() == "TransposeBackward1"
    assert back(spectrum, window).grad_fn.name() == "DivBackward0"


SPANS = [(16, 4, 16), (16, 5, 12), (15, 3, 15), (400, 160, 400)]


@pytest.mark.parametrize("n_fft, hop, win", SPANS)
@pytest.mark.parametrize("center", [True, False])
def test_spectra_of_a_signal_and_back(n_fft, hop, win, center):
    x = noise(3, 1000).real
    window = torch.hamming_window(win, dtype=torch.float64)
    more = {"window": window, "hop_length": hop, "win_length": win, "center": center}
    for onesided in (True, False):
        made = torch.stft(x, n_fft, onesided=onesided, return_complex=True, **more)
        if center or win == n_fft:
            again = torch.istft(made, n_fft, onesided=onesided, length=850, **more)
            assert apart(again, x[:, :850]) < 1e-14
    frame = made[:, :, 3]
    start = 3 * hop - (n_fft // 2 if center else 0)
    left = (n_fft - win) // 2
    padded = torch.zeros(n_fft, dtype=torch.float64)
    padded[left : left + win] = window
    source = x.roll(-start, 1)[:, :n_fft] if start >= 0 else None
    if source is not None:
        assert apart(frame, torch.fft.fft(source * padded)) < 1e-14


def test_what_is_too_long_raises_before_anything_is_done():
    x = torch.ones(4)
    for n in (1 << 40, 1 << 62, (1 << 63) - 1):
        for name in ("fft", "rfft", "irfft", "hfft"):
            with pytest.raises(RuntimeError):
                getattr(torch.fft, name)(x, n)
    with pytest.raises(RuntimeError):
        torch.fft.fftn(torch.ones(1, 1, 1), (1 << 30, 1 << 30, 1 << 30))
    with pytest.raises(RuntimeError):
        torch.stft(torch.ones(30), 1 << 62, return_complex=True)
    assert torch.fft.fft(torch.ones(0, 4)).shape == (0, 4)
    assert torch.fft.irfft(torch.ones(0, 4)).shape == (0, 6)


def test_not_a_number_stays_in_its_row():
    x = noise(20, 30)
    x[3, 7] = float("nan")
    rows = torch.isnan(torch.fft.fft(x).real).any(1)
    assert rows.tolist() == [i == 3 for i in range(20)]


def test_threads_change_nothing():
    x = noise(1 << 17)
    rows = x.view(512, 256)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found.append((torch.fft.fft(x), torch.fft.fft2(rows), torch.fft.rfft(x.real)))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
