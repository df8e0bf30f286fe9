// Short-time Fourier transforms: the transform of overlapping windows of a signal, and back.
#include "autograd/meta.h"
#include "ops/dispatch.h"
#include "ops/fft.h"
#include "ops/view_edits.h"

namespace rl::ops {
namespace {

void warn_once(bool& said, const char* message) {
  if (!said) warn(message);
  said = true;
}

// ---- The call as PyTorch's messages repeat it.
std::string type_of(const Tensor& t) {
  const DType d = t.dtype();
  if (t.is_meta()) return text("Meta", type_name_of(d), "Type");
  if (is_complex(d) || d == DType::BFloat16) return text("CPU", type_name_of(d), "Type");
  return text("torch.", type_name_of(d), "Tensor");
}
std::string window_text(const Tensor& window) {
  return window ? text(type_of(window), "{", window.sizes(), "}") : std::string("None");
}
template <class T> std::string optional_text(const std::optional<T>& value) {
  return value ? text(int64_t(*value)) : std::string("None");
}

struct Stft {
  const Tensor& self;
  const Tensor& window;
  int64_t n_fft, hop_length, win_length;
  bool normalized;
  MaybeBool onesided, return_complex, align_to_window;

  std::string call() const {
    return text("stft(", type_of(self), self.sizes(), ", n_fft=", n_fft, ", hop_length=",
                hop_length, ", win_length=", win_length, ", window=", window_text(window),
                ", normalized=", int64_t(normalized), ", onesided=", optional_text(onesided),
                ", return_complex=", optional_text(return_complex), ", align_to_window=",
                optional_text(align_to_window), ") ");
  }
  template <class... A> void expect(bool good, const A&... what) const {
    if (!good) fail(ErrorKind::Runtime, call(), what...);
  }

  void check_signal() const {
    expect(is_differentiable(self.dtype()),
           ": expected a tensor of floating point or complex values");
    expect(self.dim() == 1 || self.dim() == 2, ": expected a 1D or 2D tensor");
    const int64_t length = self.size(-1);
    expect(n_fft > 0 && n_fft <= length, ": expected 0 < n_fft < ", length, ", but got n_fft=",
           win_length);
    expect(hop_length > 0, ": expected hop_length > 0, but got hop_length=", hop_length);
    expect(win_length > 0 && win_length <= n_fft,
           ": expected 0 < win_length <= n_fft, but got win_length=", win_length);
    if (!window) return;
    expect(window.dim() == 1 && window.size(0) == win_length, ": expected a 1D window tensor of "
           "size equal to win_length=", win_length, ", but got window with size ",
           window.sizes());
  }
};

void check_one_device(const char* name, const Tensor& self, const Tensor& window) {
  check(!window || window.device() == self.device(), name,
        " input and window must be on the same device but got self on ",
        name_of(self.device().type), " and window on ",
        name_of(window ? window.device().type : self.device().type));
}

// The last dimension with zeros on both sides, as a short window lies in a transform of n_fft.
Tensor centred(const Tensor& t, int64_t win_length, int64_t n_fft) {
  const int64_t more = n_fft - win_length, left = more / 2;
  return more ? Tensor(constant_pad_nd(t, Ints{left, more - left}, 0)) : t;
}

// (batch, frames, length) of overlapping parts, as a view.
Tensor frames_of(const Tensor& input, int64_t n_fft, int64_t hop) {
  const int64_t count = 1 + (input.size(1) - n_fft) / hop, step = input.stride(1);
  return as_strided(input, Ints{input.size(0), count, n_fft},
                    Ints{input.stride(0), count > 1 ? hop * step : step, step});
}

}  // namespace

const auto stft = define<Tensor(Tensor, int64_t, MaybeInt, MaybeInt, Tensor, bool, MaybeBool,
                                MaybeBool, MaybeBool)>(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool normalized=False, bool? onesided=None, "
    "bool? return_complex=None, bool? align_to_window=None) -> Tensor")
  .doc("The transforms of overlapping windows of a signal that is padded already.")
  .forms(Hidden)
  .composite([](const Tensor& self, int64_t n_fft, MaybeInt hop_length, MaybeInt win_length,
                const Tensor& window, bool normalized, MaybeBool onesided,
                MaybeBool return_complex, MaybeBool align_to_window) -> Tensor {
    static bool said_window = false, said_complex = false;
    check_one_device("stft", self, window);
    if (!window) {
      warn_once(said_window, "A window was not provided. A rectangular window will be applied,"
                "which is known to cause spectral leakage. Other windows such as "
                "torch.hann_window or torch.hamming_window are recommended to reduce spectral "
                "leakage.To suppress this warning and use a rectangular window, explicitly set "
                "`window=torch.ones(n_fft, device=<device>)`.");
    }
    const bool complex = self.is_complex() || (window && window.is_complex());
    const bool as_complex = return_complex.value_or(complex);
    if (!as_complex) {
      check(return_complex.has_value(), "stft requires the return_complex parameter be given for "
            "real inputs, and will further require that return_complex=True in a future PyTorch "
            "release.");
      warn_once(said_complex, "stft with return_complex=False is deprecated. In a future pytorch "
                "release, stft will return complex tensors for all inputs, and "
                "return_complex=False will raise an error.\nNote: you can still call "
                "torch.view_as_real on the complex output to recover the old return format.");
    }
    const Stft asked{self, window, n_fft, hop_length.value_or(n_fft >> 2),
                     win_length.value_or(n_fft), normalized, onesided, return_complex,
                     align_to_window};
    asked.check_signal();
    Tensor shape = window;
    if (asked.win_length < n_fft) {
      shape = centred(window ? window : full(Ints{asked.win_length}, 1, self.dtype(),
                                             self.device()), asked.win_length, n_fft);
    }
    Tensor input = self.dim() == 1 ? Tensor(unsqueeze(self, 0)) : self;
    if (align_to_window.value_or(false)) input = centred(input, asked.win_length, n_fft);
    Tensor frames = frames_of(input, n_fft, asked.hop_length);
    if (shape) frames = frames * shape;
    const bool half = onesided.value_or(!frames.is_complex());
    const int64_t norm = int64_t(normalized ? FftNorm::ByRootN : FftNorm::None);
    check(!frames.is_complex() || !half,
          "Cannot have onesided output if window or input is complex");
    Tensor out = frames.is_complex() ? fft_c2c(frames, Ints{2}, norm, true)
                                     : fft_r2c(frames, Ints{2}, norm, half);
    out = transpose_(out, 1, 2);
    if (self.dim() == 1) out = squeeze_dim_(out, 0);
    return as_complex ? out : Tensor(view_as_real(out));
  });

namespace {

struct Istft {
  const Tensor& self;
  const Tensor& window;
  int64_t n_fft, hop_length, win_length;
  bool center, normalized;
  MaybeBool onesided;
  MaybeInt length;
  bool return_complex;

  template <class... A> void expect(bool good, const A&... what) const {
    if (good) return;
    fail(ErrorKind::Runtime, "istft(", type_of(self), self.sizes(), ", n_fft=", n_fft,
         ", hop_length=", hop_length, ", win_length=", win_length, ", window=",
         window_text(window), ", center=", int64_t(center), ", normalized=", int64_t(normalized),
         ", onesided=", optional_text(onesided), ", length=", optional_text(length),
         ", return_complex=", int64_t(return_complex), ") ", what...);
  }

  void check_spectrum(bool half) const {
    const int64_t frequencies = self.size(-2);
    expect(self.numel() > 0, ": input tensor cannot be empty.");
    expect(self.dim() == 2 || self.dim() == 3, ": expected a tensor with 3 or 4 dimensions, but "
           "got ", self.dim() + 1);
    expect(frequencies == (half ? n_fft / 2 + 1 : n_fft), ": expected the frequency dimension "
           "(3rd to the last) of the input tensor to match n_fft",
           half ? " / 2 + 1 when onesided=True" : " when onesided=False", ", but got ",
           frequencies);
    expect(0 < hop_length && hop_length <= win_length, ": expected 0 < hop_length <= win_length");
    expect(0 < win_length && win_length <= n_fft, ": expected 0 < win_length <= n_fft");
    expect(!window || (window.dim() == 1 && window.size(0) == win_length),
           ": Invalid window shape. window has to be 1D and length of `win_length`");
  }

  // Where the result begins and ends in the sum of all frames.
  int64_t start() const { return center ? n_fft / 2 : 0; }
  int64_t end(int64_t whole) const {
    int64_t at = 0;
    if (length && __builtin_add_overflow(start(), *length, &at)) at = INT64_MAX;
    return length ? at : center ? -(n_fft / 2) : whole;
  }

  // The frames, transformed back: (channel, frame, n_fft).
  Tensor frames(bool half) const {
    Tensor parts = view_as_real(resolve_conj(self));
    if (self.dim() == 2) parts = unsqueeze(parts, 0);
    Tensor input = view_as_complex(transpose(parts, 1, 2));
    const int64_t norm = int64_t(normalized ? FftNorm::ByRootN : FftNorm::ByN);
    if (return_complex) {
      check(!half, "Cannot have onesided output if window or input is complex");
      return fft_c2c(input, Ints{2}, norm, false);
    }
    check(!window || !window.is_complex(),
          "Complex windows are incompatible with return_complex=False");
    if (!half) input = slice(input, -1, int64_t(0), n_fft / 2 + 1, int64_t(1));
    return fft_c2r(input, Ints{2}, norm, n_fft);
  }
};

}  // namespace

const auto istft = define<Tensor(Tensor, int64_t, MaybeInt, MaybeInt, Tensor, bool, bool,
                                 MaybeBool, MaybeInt, bool)>(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "
    "int? length=None, bool return_complex=False) -> Tensor")
  .doc(R"(
    The signal of which stft with the same arguments gives `self`, in the sense of least squares
    (Griffin and Lim, Signal estimation from modified short-time Fourier transform, 1984): the
    frames, transformed back, times the window, are added up and divided by the sum of the squared
    windows, which must be zero nowhere.

    self: (frequencies, frames) or a batch of such, complex. length: of the result, which is cut
    off or filled with zeros. The other arguments are those of stft.

    >>> w = torch.hann_window(4)
    >>> torch.istft(torch.stft(torch.ones(8), 4, window=w, return_complex=True), 4, window=w)
    tensor([1., 1., 1., 1., 1., 1., 1., 1.])
  )")
  .composite([](const Tensor& self, int64_t n_fft, MaybeInt hop_length, MaybeInt win_length,
                const Tensor& window, bool center, bool normalized, MaybeBool onesided,
                MaybeInt length, bool return_complex) -> Tensor {
    static bool said_window = false, said_short = false;
    check_one_device("istft", self, window);
    if (!window) {
      warn_once(said_window, "A window was not provided. A rectangular window will be applied."
                "Please provide the same window used by stft to make the inversion lossless.To "
                "suppress this warning and use a rectangular window, explicitly set "
                "`window=torch.ones(n_fft, device=<device>)`.");
    }
    const Istft asked{self, window, n_fft, hop_length.value_or(n_fft >> 2),
                      win_length.value_or(n_fft), center, normalized, onesided, length,
                      return_complex};
    check(self.is_complex(), "istft requires a complex-valued input tensor matching the output "
          "from stft with return_complex=True.");
    check(self.dim() >= 2, ErrorKind::Index, "Dimension out of range (expected to be in range of "
          "[", -self.dim() - 1, ", ", self.dim(), "], but got -3)");
    const bool half = onesided.value_or(self.size(-2) != n_fft);
    asked.check_spectrum(half);
    const Tensor shape = centred(window ? window : full(Ints{asked.win_length}, 1,
                                                        real_of(self.dtype()), self.device()),
                                 asked.win_length, n_fft);
    const int64_t count = self.size(-1), hop = asked.hop_length;
    const int64_t whole = n_fft + hop * (count - 1);
    const Tensor frames = asked.frames(half) * reshape(shape, Ints{1, 1, n_fft});
    const Tensor sum = unfold_backward(frames, Ints{frames.size(0), whole}, 1, n_fft, hop);
    const Tensor squares = expand(pow_number(shape, Scalar(2)), Ints{1, count, n_fft}, false);
    const Tensor weight = unfold_backward(squares, Ints{1, whole}, 1, n_fft, hop);
    const int64_t start = asked.start(), end = asked.end(whole);
    const Tensor part = slice(sum, 1, start, end, int64_t(1));
    const Tensor divisor = slice(weight, 1, start, end, int64_t(1));
    refuse_meta("equal", self);
    {
      NoGrad quiet;
      check(divisor.numel() > 0, "min(): Expected reduction dim to be specified for "
            "input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
      const Scalar least = item_of(amin(abs(divisor), Ints{}, false));
      asked.expect(!(least.to_double() < 1e-11), "window overlap add min: 1\n[ CPUBoolType{} ]");
    }
    Tensor result = part / divisor;
    if (self.dim() == 2) result = squeeze_dim(result, 0);
    if (end <= whole) return result;
    warn_once(said_short, "The length of signal is shorter than the length parameter. Result is "
              "being padded with zeros in the tail. Please check your center and hop_length "
              "settings.");
    return constant_pad_nd(result, Ints{0, end - whole}, 0);
  });

}  // namespace rl::ops
