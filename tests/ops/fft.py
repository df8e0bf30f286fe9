"""Fourier transforms, and what comes with them: shifts, frequencies, spectra over time."""

from .spec import ALL, WIDE, WIDE_COMPLEX, Family, call, const, fail, t

row = Family(
    __name__,
    dtypes=(*WIDE_COMPLEX, "int64"),
    rtol={"float32": 2e-6, "complex64": 2e-6},
    atol={"float32": 2e-5, "complex64": 2e-5, "float64": 4e-14, "complex128": 4e-14},
)
A, B = t(2, 3, 4), t(3, 4)
TURNED = t(4, 6, layout="transposed")
REAL = (*WIDE, "int64")
NORMS = ("backward", "forward", "ortho")

ONE = [
    call(t(1)),
    call(t(2)),
    call(t(7)),
    call(t(8)),
    call(B),
    call(t(0, 3), 2, dim=0),
    call(A, 5),
    call(A, 3, 1),
    call(A, dim=-3),
    call(A, n=2, dim=0, norm="ortho"),
    call(A, norm="forward"),
    call(t(5), 12, norm="backward"),
    call(TURNED),
    call(t(2, 15), only=WIDE_COMPLEX),
    call(t(2, 22), only=WIDE_COMPLEX),
    call(t(26), only=WIDE_COMPLEX),
    call(t(67), only=WIDE_COMPLEX),
]
ONE_FAILS = [
    fail(B, 0),
    fail(B, -1),
    fail(B, dim=2),
    fail(t()),
    fail(t(3, 0)),
    fail(B, norm="both"),
    fail(B, norm=1),
    fail(B, 1.5),
    fail(t(3, dtype="float16")),
    fail(t(3, dtype="bfloat16")),
]
row("fft.fft", ONE, ONE_FAILS, dtypes=ALL)
row("fft.ifft", ONE, ONE_FAILS)
row("fft.hfft", ONE[1:], [*ONE_FAILS, fail(t(1))])
row("fft.irfft", ONE[1:], [*ONE_FAILS, fail(t(1))])
row("fft.rfft", ONE, [*ONE_FAILS, fail(t(3, dtype="complex64"))], dtypes=REAL)
row("fft.ihfft", ONE, [*ONE_FAILS, fail(t(3, dtype="complex64"))], dtypes=REAL)

MANY = [
    call(B),
    call(A),
    call(A, dim=(0, 2)),
    call(A, dim=(2, 0)),
    call(A, dim=(1,)),
    call(A, dim=1),
    call(A, (4, 3)),
    call(A, (1, 6), (2, 0)),
    call(A, (-1, 5), dim=(0, 1)),
    call(A, norm="ortho"),
    call(B, norm="forward"),
    call(t(4, 3, layout="transposed")),
    call(t(3, 5, 2, 4), dim=(1, 2)),
]
MANY_FAILS = [
    fail(B, dim=(0, 0)),
    fail(B, dim=(1, -1)),
    fail(B, dim=(2,)),
    fail(B, (2, 3, 4)),
    fail(B, (2,), (0, 1)),
    fail(B, (0, 3)),
    fail(B, (-2, 3)),
    fail(t(0, 3)),
    fail(B, norm="none"),
    fail(t(3, 3, dtype="float16")),
]
NO_AXIS = fail(B, dim=())
COMPLEX = fail(t(3, 3, dtype="complex64"))
# PyTorch's meta results of these have the strides that cuFFT gives; ours, those of the CPU.
PLANNED = {"meta": False}
# PyTorch's ihfftn does not write to out= where there is one dimension.
SEVERAL = [c for c in MANY if c.kwargs.get("dim") not in (1, (1,))]
for name in ("fft", "ifft"):
    row(f"fft.{name}n", [*MANY, call(t()), call(B, dim=()), call(B, 3)], MANY_FAILS)
for name in ("irfft", "hfft"):
    row(f"fft.{name}n", MANY, [*MANY_FAILS, NO_AXIS, fail(t(3, 1)), fail(t())], **PLANNED)
row("fft.rfftn", MANY, [*MANY_FAILS, NO_AXIS, COMPLEX, fail(t())], dtypes=REAL, **PLANNED)
row("fft.ihfftn", SEVERAL, [*MANY_FAILS, NO_AXIS, COMPLEX, fail(t())], dtypes=REAL)

TWO = [call(B), call(A), call(A, (3, 5)), call(A, dim=(0, 1)), call(A, (2, 3), (0, 2), "ortho")]
TWO_FAILS = [fail(t(3)), fail(B, (2,)), fail(B, dim=(0, 0)), fail(A, norm="x")]
for name in ("fft", "ifft", "irfft", "hfft"):
    row(f"fft.{name}2", TWO, TWO_FAILS, meta=name != "hfft")
for name in ("rfft", "ihfft"):
    row(f"fft.{name}2", TWO, [*TWO_FAILS, COMPLEX], dtypes=REAL, meta=name != "rfft")

SHIFTS = [
    call(t(4)),
    call(t(5)),
    call(A),
    call(A, 1),
    call(A, (0, 2)),
    call(A, dim=(-1,)),
    call(t(0, 3)),
]
SHIFT_FAILS = [fail(B, 2), fail(t()), fail(B, ())]
row("fft.fftshift", SHIFTS, SHIFT_FAILS, dtypes=ALL, exact=True)
row("fft.ifftshift", SHIFTS, SHIFT_FAILS, dtypes=ALL, exact=True)
for name in ("fftfreq", "rfftfreq"):
    row(
        f"fft.{name}",
        [
            call(5, dtype=const()),
            call(8, 0.5, dtype=const()),
            call(1, d=3.0, dtype=const()),
            call(0, dtype=const()),
            call(1000, 1e-3, dtype=const()),
        ],
        [fail(3, dtype=const("int64")), fail(3, dtype=const("complex64")), fail(1.5)],
        dtypes=("float32", "float64", "float16", "bfloat16"),
        outs=False,
    )

# What they are made of: (self, dim, normalization, ...).
PARTS = {"dtypes": WIDE_COMPLEX, "outs": None}
row(
    "_fft_c2c",
    [call(B, [1], 0, True), call(A, [2, 0], 1, False), call(A, [0], 2, True), call(B, [], 0, True)],
    [fail(t(3, dtype="float32"), [0], 0, True)],
    **PARTS,
)
row(
    "_fft_r2c",
    [
        call(B, [1], 0, True),
        call(B, [1], 0, False),
        call(A, [2, 0], 1, True),
        call(A, [0, 1], 2, False),
        call(t(2, 9), [1], 0, True),
    ],
    [fail(t(3, dtype="complex64"), [0], 0, True)],
    **PARTS,
    **PLANNED,
)
row(
    "_fft_c2r",
    [
        call(B, [1], 0, 6),
        call(B, [1], 0, 7),
        call(A, [2, 0], 1, 2),
        call(A, [0, 1], 2, 5),
    ],
    [fail(t(3, dtype="float32"), [0], 0, 4)],
    **PARTS,
)

SIGNAL, SIGNALS = t(40), t(2, 33)
WINDOW = t(8, low=0.5, high=1.5)
REAL_WINDOW = t(8, low=0.5, high=1.5, dtype="float32")
STFT = {"window": WINDOW, "return_complex": True}
row(
    "stft",
    [
        call(SIGNAL, 8, **STFT),
        call(SIGNALS, 8, **STFT),
        call(SIGNALS, 8, 3, **STFT),
        call(SIGNALS, 12, win_length=8, **STFT),
        call(SIGNALS, 13, win_length=8, **STFT),
        call(SIGNALS, 8, center=False, **STFT),
        call(SIGNALS, 12, win_length=8, center=False, align_to_window=True, **STFT),
        call(SIGNALS, 12, win_length=8, center=False, align_to_window=False, **STFT),
        call(SIGNALS, 8, normalized=True, **STFT),
        call(SIGNALS, 8, onesided=False, **STFT),
        *[call(SIGNALS, 8, pad_mode=m, **STFT) for m in ("constant", "replicate", "circular")],
        call(SIGNALS, 8, return_complex=True),
        call(SIGNALS, 12, win_length=5, return_complex=True),
        call(SIGNALS, 8, window=WINDOW, return_complex=False),
        call(SIGNALS, 8, window=WINDOW, only=("complex64", "complex128")),
        call(SIGNALS, 8, window=t(8, dtype="complex64"), only=("float32",)),
    ],
    [
        fail(SIGNAL, 8, window=WINDOW),
        fail(SIGNAL, 8, **STFT, align_to_window=True),
        fail(SIGNAL, 8, **STFT, pad_mode="none"),
        fail(SIGNAL, 8, **STFT, hop_length=0),
        fail(SIGNAL, 8, **STFT, win_length=6),
        fail(SIGNAL, 8, return_complex=True, win_length=0),
        fail(SIGNAL, 8, return_complex=True, win_length=9),
        fail(SIGNAL, 8, return_complex=True, window=t(2, 8)),
        fail(SIGNAL, 0, return_complex=True),
        fail(SIGNAL, -2, return_complex=True),
        fail(SIGNAL, 100, **STFT),
        fail(SIGNAL, 100, center=False, **STFT),
        fail(A, 8, **STFT),
        fail(A, 8, center=False, **STFT),
        fail(t(), 8, center=False, **STFT),
        fail(t(2, 0), 8, **STFT),
        fail(t(30, dtype="int64"), 8, return_complex=True),
        fail(t(30, dtype="float16"), 8, return_complex=True),
        fail(t(30, dtype="complex64"), 8, return_complex=True, onesided=True),
        fail(SIGNAL),
    ],
    dtypes=WIDE_COMPLEX,
    covers=("aten.stft",),
)
SPECTRUM, SPECTRA = t(5, 7), t(2, 5, 7)
row(
    "istft",
    [
        call(SPECTRUM, 8, window=REAL_WINDOW),
        call(SPECTRA, 8, window=REAL_WINDOW),
        call(SPECTRA, 8),
        call(SPECTRA, 9, window=t(9, low=0.5, high=1.5, dtype="float32")),
        call(SPECTRA, 8, 3, window=REAL_WINDOW),
        call(SPECTRA, 8, center=False, window=REAL_WINDOW),
        call(SPECTRA, 8, normalized=True, window=REAL_WINDOW),
        call(SPECTRA, 8, length=9, window=REAL_WINDOW),
        call(SPECTRA, 8, length=30, window=REAL_WINDOW),
        call(SPECTRA, 8, win_length=6, window=t(6, low=0.5, high=1.5, dtype="float32")),
        call(t(2, 8, 7), 8, window=REAL_WINDOW),
        call(t(2, 8, 7), 8, window=REAL_WINDOW, onesided=False, return_complex=True),
        call(t(2, 8, 7), 8, window=WINDOW, return_complex=True),
    ],
    [
        fail(SPECTRA, 8, window=REAL_WINDOW, onesided=False),
        fail(SPECTRA, 10, window=REAL_WINDOW),
        fail(SPECTRA, 12, onesided=True),
        fail(SPECTRA, 8, window=REAL_WINDOW, return_complex=True),
        fail(SPECTRA, 8, 0, window=REAL_WINDOW),
        fail(SPECTRA, 8, 9, window=REAL_WINDOW),
        fail(SPECTRA, 8, 2, 9),
        fail(SPECTRA, 8, window=t(8, values=[0] * 8, dtype="float32")),
        fail(SPECTRA, 8, window=REAL_WINDOW, length=0),
        fail(t(5), 8),
        fail(t(1, 2, 5, 7), 8),
        fail(t(5, 0), 8),
        fail(t(5, 7, dtype="float32"), 8),
        fail(SPECTRA, "text"),
    ],
    dtypes=("complex64", "complex128"),
    meta=False,
)
