// Window functions for spectra: Hann, Hamming, Blackman, Bartlett, Kaiser.
#include <cmath>

#include "ops/ops.h"
#include "ops/promotion.h"

namespace rl::kernels::fn {
double bessel_i(int order, double x, bool scaled);
}

namespace rl::ops {
namespace {

void infer_window(Infer& r, const char* name, int64_t length, MaybeDType dtype,
                  MaybeDevice device) {
  const DType t = dtype.value_or(default_dtype());
  const Device d = device_or_cpu(device);
  check(is_differentiable(t), name, "_window expects floating point dtypes, got: TensorOptions("
        "dtype=", t == DType::Int16 ? "short int" : c_name_of(t), ", device=", name_of(d.type),
        ", layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
        "memory_format=(nullopt))");
  check(length >= 0, name, "_window requires non-negative window_length, got window_length=",
        length);
  check(!is_complex(t) || length <= 1, ErrorKind::NotImplemented,
        "\"arange_cpu\" not implemented for '", type_name_of(t), "'");
  r.result({length}, t, d);
}

// A periodic window is the symmetric one that is longer by one, without its last element. Like
// PyTorch's it is worked out in its own dtype: values(the numbers 0, 1, ..., the last of them).
template <class F> void fill_window(Tensor& result, int64_t length, bool periodic, F values) {
  if (length == 0) return;
  if (length == 1) return set_value(result, 1);
  NoGrad quiet;
  const int64_t last = periodic ? length : length - 1;
  copy_data(result, narrow(values(arange(last + 1, result.dtype()), last), 0, 0, length));
}
// The distance of two numbers, rounded to their dtype first.
Scalar step_of(const Tensor& n, double step) { return item_of(scalar_tensor(step, n.dtype())); }
void fill_hamming(Tensor& result, int64_t length, bool periodic, double alpha, double beta) {
  fill_window(result, length, periodic, [=](const Tensor& n, int64_t last) {
    return cos(n * step_of(n, 2 * M_PI / double(last))) * Scalar(-beta) + Scalar(alpha);
  });
}

}  // namespace

#define RL_OPTIONS "ScalarType? dtype=None, Device? device=None"
#define RL_WINDOW(name) \
  #name "_window(int window_length, bool periodic=True, *, " RL_OPTIONS ") -> Tensor"

const auto hann_window = define<Tensor(int64_t, bool, MaybeDType, MaybeDevice)>(RL_WINDOW(hann))
  .doc(R"(
    The Hann window: (1 - cos(2 pi x)) / 2 for x from 0 to 1; periodic for spectra, else symmetric.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
  )")
  .infer([](Infer& r, int64_t length, bool, MaybeDType dtype, MaybeDevice device) {
    infer_window(r, "hann", length, dtype, device);
  })
  .factory([](Tensor& result, int64_t length, bool periodic, MaybeDType, MaybeDevice) {
    fill_hamming(result, length, periodic, 0.5, 0.5);
  });

const auto hamming_window = define<Tensor(int64_t, bool, double, double, MaybeDType, MaybeDevice)>(
    "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, "
    RL_OPTIONS ") -> Tensor")
  .doc(R"(
    The Hamming window: alpha - beta cos(2 pi x) for x from 0 to 1.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
  )")
  .infer([](Infer& r, int64_t length, bool, double, double, MaybeDType dtype, MaybeDevice device) {
    infer_window(r, "hamming", length, dtype, device);
  })
  .factory([](Tensor& result, int64_t length, bool periodic, double alpha, double beta, MaybeDType,
              MaybeDevice) { fill_hamming(result, length, periodic, alpha, beta); });

const auto blackman_window = define<Tensor(int64_t, bool, MaybeDType, MaybeDevice)>(
    RL_WINDOW(blackman))
  .doc(R"(
    The Blackman window: 0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x) for x from 0 to 1.

    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
  )")
  .infer([](Infer& r, int64_t length, bool, MaybeDType dtype, MaybeDevice device) {
    infer_window(r, "blackman", length, dtype, device);
  })
  .factory([](Tensor& result, int64_t length, bool periodic, MaybeDType, MaybeDevice) {
    fill_window(result, length, periodic, [](const Tensor& n, int64_t last) {
      const Tensor x = n * step_of(n, M_PI / double(last));
      return cos(x * Scalar(4)) * Scalar(0.08) - cos(x * Scalar(2)) * Scalar(0.5) + Scalar(0.42);
    });
  });

const auto bartlett_window = define<Tensor(int64_t, bool, MaybeDType, MaybeDevice)>(
    RL_WINDOW(bartlett))
  .doc(R"(
    The Bartlett window: a triangle from 0 to 1 and back.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
  )")
  .infer([](Infer& r, int64_t length, bool, MaybeDType dtype, MaybeDevice device) {
    infer_window(r, "bartlett", length, dtype, device);
  })
  .factory([](Tensor& result, int64_t length, bool periodic, MaybeDType, MaybeDevice) {
    fill_window(result, length, periodic, [](const Tensor& n, int64_t last) {
      const Tensor x = n * step_of(n, 2 / double(last));
      const int64_t half = last / 2 + 1;
      const Tensor falling = narrow(x, 0, half, last + 1 - half) * Scalar(-1) + Scalar(2);
      return cat(TensorList({narrow(x, 0, 0, half), falling}), int64_t(0));
    });
  });

const auto kaiser_window = define<Tensor(int64_t, bool, double, MaybeDType, MaybeDevice)>(
    "kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, " RL_OPTIONS
    ") -> Tensor")
  .doc(R"(
    The Kaiser window: I0(beta sqrt(1 - (2x - 1)^2)) / I0(beta) for x from 0 to 1, with the
    modified Bessel function I0.

    >>> torch.kaiser_window(4)
    tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01])
  )")
  .infer([](Infer& r, int64_t length, bool, double, MaybeDType dtype, MaybeDevice device) {
    infer_window(r, "kaiser", length, dtype, device);
  })
  .factory([](Tensor& result, int64_t length, bool periodic, double beta, MaybeDType, MaybeDevice) {
    const auto i0 = [](double x) { return kernels::fn::bessel_i(0, x, true); };
    const double b = std::abs(beta);
    fill_window(result, length, periodic, [=](const Tensor& n, int64_t last) {
      const Tensor made = empty(n.sizes(), DType::Double);
      for (int64_t i = 0; i <= last; ++i) {
        const double x = double(i) / double(last), y = b * std::sqrt(4 * x * (1 - x));
        made.ptr<double>()[i] = i0(y) / i0(b) * std::exp(y - b);
      }
      return made;
    });
  });

}  // namespace rl::ops
