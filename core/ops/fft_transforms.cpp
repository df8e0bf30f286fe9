// torch.fft: transforms by their public names, composed of the three records of fft.cpp.
#include <algorithm>
#include <numeric>

#include "kernels/functors/scalar.h"
#include "ops/fft.h"
#include "ops/promotion.h"

namespace rl::ops {
namespace {

// ---- What every transform asks of its input and of out=.
Tensor promoted(const Tensor& t, bool to_complex) {
  DType type = t.dtype();
  if (is_complex(type)) return t;
  if (!is_floating(type)) type = default_dtype();
  check(type == DType::Float || type == DType::Double || (type == DType::Half && t.is_meta()),
        "Unsupported dtype ", type_name_of(type));
  return to_dtype(t, to_complex ? complex_of(type) : type);
}

void refuse_complex(const char* name, const char* what, const Tensor& input) {
  check(!input.is_complex(), name, " expects a real", what, " input tensor, but got ",
        type_name_of(input.dtype()));
}
void want_complex_out(const char* name, const Tensor& out) {
  check(out.is_complex(), name, " expects a complex output tensor, but got ",
        type_name_of(out.dtype()));
}
void want_real_out(const char* name, const Tensor& out) {
  check(out.is_floating(), name, " expects a floating point output tensor, but got ",
        type_name_of(out.dtype()));
}

// NumPy's names; which of the two directions is divided by n depends on the direction.
int64_t norm_of(MaybeText norm, bool forward) {
  if (!norm || *norm == "backward") return int64_t(forward ? FftNorm::None : FftNorm::ByN);
  if (*norm == "forward") return int64_t(forward ? FftNorm::ByN : FftNorm::None);
  check(*norm == "ortho", "Invalid normalization mode: \"", *norm, "\"");
  return int64_t(FftNorm::ByRootN);
}

void check_points(int64_t n) { check(n >= 1, "Invalid number of data points (", n, ") specified"); }

// The input with the given sizes along `dim`: cut off at the end, or with zeros there.
Tensor resized(Tensor t, Ints dim, Ints sizes) {
  Dims pad;
  pad.resize(size_t(t.dim() * 2));
  std::fill(pad.begin(), pad.end(), 0);
  bool longer = false;
  for (size_t i = 0; i < dim.size(); ++i) {
    const int64_t now = t.sizes()[size_t(dim[i])];
    if (now < sizes[i]) {
      pad[pad.size() - size_t(2 * dim[i]) - 1] = sizes[i] - now;
      longer = true;
    } else if (now > sizes[i]) {
      t = slice(t, dim[i], int64_t(0), sizes[i], int64_t(1));
    }
  }
  return longer ? Tensor(constant_pad_nd(t, pad, 0)) : t;
}

// ---- One dimension.
Tensor one_c2c(const Tensor& input, MaybeInt n, int64_t dim, MaybeText norm, bool forward) {
  const int64_t d = wrap_dim(dim, input.dim(), false);
  const int64_t points = n.value_or(input.sizes()[size_t(d)]);
  check_points(points);
  const Tensor fit = n ? resized(input, Ints{d}, Ints{points}) : input;
  return fft_c2c(fit, Ints{d}, norm_of(norm, forward), forward);
}

Tensor one_r2c(const Tensor& self, MaybeInt n, int64_t dim, MaybeText norm, bool forward,
               bool onesided) {
  Tensor input = promoted(self, false);
  const int64_t d = wrap_dim(dim, input.dim(), false);
  const int64_t points = n.value_or(input.sizes()[size_t(d)]);
  check_points(points);
  if (n) input = resized(input, Ints{d}, Ints{points});
  const Tensor made = fft_r2c(input, Ints{d}, norm_of(norm, forward), onesided);
  return forward ? made : Tensor(rl::conj(made));
}

Tensor one_c2r(const Tensor& self, MaybeInt n, int64_t dim, MaybeText norm, bool forward) {
  Tensor input = promoted(self, true);
  const int64_t d = wrap_dim(dim, input.dim(), false);
  const int64_t points = n.value_or(kernels::fn::times<int64_t>(2, input.sizes()[size_t(d)] - 1));
  check_points(points);
  if (n) input = resized(input, Ints{d}, Ints{points / 2 + 1});
  const int64_t normalization = norm_of(norm, forward);
  if (forward) input = rl::conj(input);
  return fft_c2r(input, Ints{d}, normalization, points);
}

// ---- Several dimensions.
struct Extent {
  Dims dim, sizes;   // wrapped; what each is to be cut or padded to
};

Extent extent_of(const Tensor& input, MaybeInts s, MaybeInts dim) {
  const int64_t rank = input.dim();
  Extent e;
  if (dim) {
    for (int64_t d : *dim) e.dim.push_back(wrap_dim(d, rank, false));
    Dims seen = e.dim;
    std::sort(seen.begin(), seen.end());
    check(std::adjacent_find(seen.begin(), seen.end()) == seen.end(), "FFT dims must be unique");
  }
  if (s) {
    check(!dim || dim->size() == s->size(),
          "When given, dim and shape arguments must have the same length");
    check(int64_t(s->size()) <= rank, "Got shape with ", int64_t(s->size()),
          " values but input tensor only has ", rank, " dimensions.");
  }
  if (!dim) {
    const int64_t count = s ? int64_t(s->size()) : rank;
    for (int64_t d = rank - count; d < rank; ++d) e.dim.push_back(d);
  }
  for (size_t i = 0; i < e.dim.size(); ++i) {
    e.sizes.push_back(s && (*s)[i] != -1 ? (*s)[i] : input.sizes()[size_t(e.dim[i])]);
  }
  for (int64_t n : e.sizes) check_points(n);
  return e;
}

void want_axes(const char* name, const Extent& e) {
  check(!e.dim.empty(), name, " must transform at least one axis");
}

// ... for a real result: its last size, and `e.sizes` becomes what is read of the input.
int64_t last_size(const char* name, Extent& e, const Tensor& input, MaybeInts s) {
  want_axes(name, e);
  const size_t last = e.dim.size() - 1;
  const int64_t n = !s || (*s)[last] == -1 ? 2 * (input.sizes()[size_t(e.dim[last])] - 1)
                                           : e.sizes[last];
  check_points(n);
  e.sizes[last] = n / 2 + 1;
  return n;
}

Dims all_but_last(const Dims& dim) { return Dims(Ints(dim.data(), dim.size() - 1)); }
Dims only_last(const Dims& dim) { return Dims(Ints(dim.data() + dim.size() - 1, 1)); }

Tensor many_c2c(const Tensor& self, MaybeInts s, MaybeInts dim, MaybeText norm, bool forward) {
  const Extent e = extent_of(self, s, dim);
  const Tensor input = resized(promoted(self, true), e.dim, e.sizes);
  return fft_c2c(input, e.dim, norm_of(norm, forward), forward);
}

Tensor many_rfft(const Tensor& self, MaybeInts s, MaybeInts dim, MaybeText norm) {
  refuse_complex("rfftn", "-valued", self);
  const Extent e = extent_of(self, s, dim);
  want_axes("rfftn", e);
  const Tensor input = resized(promoted(self, false), e.dim, e.sizes);
  return fft_r2c(input, e.dim, norm_of(norm, true), true);
}

Tensor many_irfft(const Tensor& self, MaybeInts s, MaybeInts dim, MaybeText norm) {
  Extent e = extent_of(self, s, dim);
  const int64_t last = last_size("irfftn", e, self, s);
  const Tensor input = resized(promoted(self, true), e.dim, e.sizes);
  return fft_c2r(input, e.dim, norm_of(norm, false), last);
}

Tensor many_hfft(const Tensor& self, MaybeInts s, MaybeInts dim, MaybeText norm) {
  Extent e = extent_of(self, s, dim);
  const int64_t last = last_size("hfftn", e, self, s);
  Tensor input = resized(promoted(self, true), e.dim, e.sizes);
  const int64_t normalization = norm_of(norm, true);
  if (e.dim.size() > 1) input = fft_c2c(input, all_but_last(e.dim), normalization, true);
  return fft_c2r(rl::conj(input), only_last(e.dim), normalization, last);
}

Tensor many_ihfft(const Tensor& self, MaybeInts s, MaybeInts dim, MaybeText norm) {
  const Extent e = extent_of(self, s, dim);
  want_axes("ihfftn", e);
  const Tensor input = resized(promoted(self, false), e.dim, e.sizes);
  const int64_t normalization = norm_of(norm, false);
  const Tensor half = fft_r2c(input, only_last(e.dim), normalization, true);
  if (e.dim.size() == 1) return rl::conj(half);
  return fft_c2c(conj_physical(half), all_but_last(e.dim), normalization, false);
}

// ---- Shifts.
Tensor shifted(const Tensor& self, MaybeInts dim, bool back) {
  Dims dims, shifts;
  if (dim) {
    dims = Dims(*dim);
  } else {
    dims.resize(size_t(self.dim()));
    std::iota(dims.begin(), dims.end(), 0);
  }
  for (int64_t d : dims) {
    const int64_t n = self.sizes()[size_t(wrap_dim(d, self.dim(), false))];
    shifts.push_back((n + back) / 2);
  }
  return roll(self, shifts, dims);
}

// ---- Frequencies.

void infer_frequencies(Infer& r, const char* name, int64_t n, MaybeDType dtype,
                       MaybeDevice device) {
  const DType t = dtype.value_or(default_dtype());
  const Device d = device_or_cpu(device);
  check(is_differentiable(t), name, " requires a floating point or complex dtype");
  check(!is_complex(t) || d.is_meta(), ErrorKind::NotImplemented,
        "\"arange_cpu\" not implemented for '", type_name_of(t), "'");
  r.result({n}, t, d);
}
// Whole numbers from `first` on, rounded to the dtype of the result, times the distance of
// frequencies.
void fill_frequencies(const Tensor& part, int64_t first, double step) {
  NoGrad quiet;
  const Tensor numbers = arange(part.numel(), compute_of(part.dtype())) + Scalar(first);
  copy_data(part, to_dtype(numbers, part.dtype()) * Scalar(step));
}

}  // namespace

// The op, its out= form with what that asks of the target, and its text. CALLED is what messages
// call it: PyTorch's say fftn of its inverse as well.
#define RL_ONE(name, WANT, DOC, ...)                                                          \
  const auto fft_##name = define<Tensor(Tensor, MaybeInt, int64_t, MaybeText)>(               \
      "fft_" #name "(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")        \
    .doc(DOC)                                                                                 \
    .forms(FFT | Out)                                                                         \
    .out({.dtype = OutDType::Any,                                                             \
          .check = [](const Arg*, const Tensor* out) { WANT(#name, *out); }})                 \
    .composite([](const Tensor& self, MaybeInt n, int64_t dim, MaybeText norm) -> Tensor {    \
      __VA_ARGS__                                                                             \
    });
#define RL_MANY_OF(name, SIGNATURE, Dim, WANT, BASE, DOC, ...)                                \
  const auto fft_##name = define<Tensor(Tensor, MaybeInts, Dim, MaybeText)>(                  \
      "fft_" #name "(Tensor self, int[1]? s=None, " SIGNATURE ", str? norm=None) -> Tensor")  \
    .doc(DOC)                                                                                 \
    .forms(FFT | Out)                                                                         \
    .out({.dtype = OutDType::Any,                                                             \
          .check = [](const Arg*, const Tensor* out) { WANT(BASE, *out); }})                  \
    .composite([](const Tensor& self, MaybeInts s, Dim dim, MaybeText norm) -> Tensor {       \
      __VA_ARGS__                                                                             \
    });
#define RL_MANY(name, WANT, CALLED, DOC, DOC2, ...)                                           \
  RL_MANY_OF(name##n, "int[1]? dim=None", MaybeInts, WANT, CALLED, DOC, __VA_ARGS__)          \
  RL_MANY_OF(name##2, "int[1] dim=[-2, -1]", Ints, WANT, CALLED, DOC2, __VA_ARGS__)

RL_ONE(fft, want_complex_out, R"(
    The discrete Fourier transform along `dim`: X[k] = sum_j x[j] exp(-2 pi i j k / n). The input
    is first cut off or filled with zeros to `n`. Real input gives all n numbers too.

    norm: what the sum is divided by: nothing ("backward", the default), the square root of n
    ("ortho") or n ("forward"); of inverse transforms, n, the square root or nothing.

    >>> torch.fft.fft(torch.tensor([1., 2., 3., 4.]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
  )",
  return self.is_complex() ? one_c2c(self, n, dim, norm, true)
                           : one_r2c(self, n, dim, norm, true, false);)

RL_ONE(ifft, want_complex_out, R"(
    The inverse of fft: x[j] = 1/n sum_k X[k] exp(2 pi i j k / n). See torch.fft.fft for `norm`.

    >>> torch.fft.ifft(torch.tensor([4., 0.]))
    tensor([2.-0.j, 2.-0.j])
  )",
  return self.is_complex() ? one_c2c(self, n, dim, norm, false)
                           : one_r2c(self, n, dim, norm, false, false);)

RL_ONE(rfft, want_complex_out, R"(
    The transform of real numbers without the half that is the conjugate of the other: n / 2 + 1
    numbers, rounded down. See torch.fft.fft.

    >>> torch.fft.rfft(torch.tensor([1., 2., 3., 4.]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
  )",
  refuse_complex("rfft", "", self);
  return one_r2c(self, n, dim, norm, true, true);)

RL_ONE(irfft, want_real_out, R"(
    The inverse of rfft: `n` real numbers, 2 (size - 1) unless given. An odd size must be given.

    >>> torch.fft.irfft(torch.tensor([10. + 0j, -2 + 2j, -2]))
    tensor([1., 2., 3., 4.])
  )",
  return one_c2r(self, n, dim, norm, false);)

RL_ONE(hfft, want_real_out, R"(
    The transform of a signal that is the conjugate of its mirror image, given by its first half:
    `n` real numbers, 2 (size - 1) unless given.

    >>> torch.fft.hfft(torch.tensor([1. + 0j, 2, 3]))
    tensor([ 8., -2.,  0., -2.])
  )",
  return one_c2r(self, n, dim, norm, true);)

RL_ONE(ihfft, want_complex_out, R"(
    The inverse of hfft: the first half of the signal, n / 2 + 1 numbers, rounded down.

    >>> torch.fft.ihfft(torch.tensor([8., -2., 0., -2.]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
  )",
  refuse_complex("ihfft", "", self);
  return one_r2c(self, n, dim, norm, false, true);)

RL_MANY(fft, want_complex_out, "fftn", R"(
    The discrete Fourier transform along each of `dim`: all dimensions unless given, or the last
    ones if `s` is, the sizes that the input is cut off or filled with zeros to (-1: as it is).
    See torch.fft.fft for `norm`; n is the product of the sizes.

    >>> torch.fft.fftn(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
  )", R"(
    The transform along two dimensions, the last ones unless given. See torch.fft.fftn.

    >>> torch.fft.fft2(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
  )",
  return many_c2c(self, s, dim, norm, true);)

RL_MANY(ifft, want_complex_out, "fftn", R"(
    The inverse of fftn.

    >>> torch.fft.ifftn(torch.tensor([[4., 0.], [0., 0.]]))
    tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]])
  )", R"(
    The inverse of fft2.

    >>> torch.fft.ifft2(torch.tensor([[4., 0.], [0., 0.]]))
    tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]])
  )",
  return many_c2c(self, s, dim, norm, false);)

RL_MANY(rfft, want_complex_out, "rfftn", R"(
    The transform of real numbers along each of `dim`, without half of the last of them. See
    torch.fft.fftn.

    >>> torch.fft.rfftn(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
  )", R"(
    The transform of real numbers along two dimensions, the last ones unless given. See
    torch.fft.rfftn.

    >>> torch.fft.rfft2(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
  )",
  return many_rfft(self, s, dim, norm);)

RL_MANY(irfft, want_real_out, "irfftn", R"(
    The inverse of rfftn; `s` are the sizes of the result, its last 2 (size - 1) unless given.

    >>> torch.fft.irfftn(torch.tensor([[4., 0.], [0., 0.]]))
    tensor([[1., 1.],
            [1., 1.]])
  )", R"(
    The inverse of rfft2.

    >>> torch.fft.irfft2(torch.tensor([[4., 0.], [0., 0.]]))
    tensor([[1., 1.],
            [1., 1.]])
  )",
  return many_irfft(self, s, dim, norm);)

RL_MANY(hfft, want_real_out, "hfftn", R"(
    The transform of a signal that is the conjugate of its mirror image, given by its first half
    along the last of `dim`. See torch.fft.hfft and torch.fft.fftn.

    >>> torch.fft.hfftn(torch.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
  )", R"(
    hfftn along two dimensions, the last ones unless given.

    >>> torch.fft.hfft2(torch.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
  )",
  return many_hfft(self, s, dim, norm);)

RL_MANY(ihfft, want_complex_out, "ihfftn", R"(
    The inverse of hfftn.

    >>> torch.fft.ihfftn(torch.tensor([[4., 0.], [0., 0.]]))
    tensor([[1.-0.j, 1.-0.j],
            [1.+0.j, 1.+0.j]])
  )", R"(
    The inverse of hfft2.

    >>> torch.fft.ihfft2(torch.tensor([[4., 0.], [0., 0.]]))
    tensor([[1.-0.j, 1.-0.j],
            [1.+0.j, 1.+0.j]])
  )",
  return many_ihfft(self, s, dim, norm);)

#undef RL_ONE
#undef RL_MANY
#undef RL_MANY_OF

const auto fft_fftshift = define<Tensor(Tensor, MaybeInts)>(
    "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor")
  .doc(R"(
    What fftn gives, with the zero frequency moved to the middle of each of `dim` (all of them).

    >>> torch.fft.fftshift(torch.arange(5))
    tensor([3, 4, 0, 1, 2])
  )")
  .forms(FFT)
  .composite([](const Tensor& self, MaybeInts dim) { return shifted(self, dim, false); });

const auto fft_ifftshift = define<Tensor(Tensor, MaybeInts)>(
    "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor")
  .doc(R"(
    The inverse of fftshift.

    >>> torch.fft.ifftshift(torch.arange(5))
    tensor([2, 3, 4, 0, 1])
  )")
  .forms(FFT)
  .composite([](const Tensor& self, MaybeInts dim) { return shifted(self, dim, true); });

const auto fft_fftfreq = define<Tensor(int64_t, double, MaybeDType, MaybeDevice)>(
    "fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
  .doc(R"(
    The frequencies of what fft gives for n samples at distance d, in cycles per unit of d.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
  )")
  .forms(FFT | Out)
  .infer([](Infer& r, int64_t n, double, MaybeDType dtype, MaybeDevice device) {
    infer_frequencies(r, "fftfreq", n, dtype, device);
  })
  .factory([](Tensor& result, int64_t n, double d, MaybeDType, MaybeDevice) {
    const int64_t positive = (n + 1) / 2;
    fill_frequencies(narrow(result, 0, 0, positive), 0, 1 / (double(n) * d));
    fill_frequencies(narrow(result, 0, positive, n - positive), -(n / 2), 1 / (double(n) * d));
  });

const auto fft_rfftfreq = define<Tensor(int64_t, double, MaybeDType, MaybeDevice)>(
    "fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
  .doc(R"(
    The frequencies of what rfft gives for n samples at distance d, in cycles per unit of d.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
  )")
  .forms(FFT | Out)
  .infer([](Infer& r, int64_t n, double, MaybeDType dtype, MaybeDevice device) {
    infer_frequencies(r, "rfftfreq", n / 2 + 1, dtype, device);
  })
  .factory([](Tensor& result, int64_t n, double d, MaybeDType, MaybeDevice) {
    fill_frequencies(result, 0, 1 / (double(n) * d));
  });

}  // namespace rl::ops
