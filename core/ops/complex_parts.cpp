// Complex numbers from their parts or from absolute value and angle.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

// Sizes and strides as any pointwise op of the two has, in another dtype.
void infer_pair(Infer& r, const Tensor& a, const Tensor& b) {
  const auto served = [](DType t) {
    return t == DType::Half || t == DType::Float || t == DType::Double;
  };
  check(served(a.dtype()) && served(b.dtype()),
        "Expected both inputs to be Half, Float or Double tensors but got ",
        type_name_of(a.dtype()), " and ", type_name_of(b.dtype()));
  check(a.dtype() == b.dtype(), "Expected object of scalar type ", type_name_of(a.dtype()),
        " but got scalar type ", type_name_of(b.dtype()), " for second argument");
  const Arg args[] = {a, b, Scalar(1)};
  const ResultMeta m = pointwise_infer(add.record(), args);
  const DType made = complex_of(a.dtype());
  if (m.strided) r.result(m.sizes, m.strides, made, m.device);
  else r.result(m.sizes, made, m.device);
}

// f(where the result goes, the two operands), for each element.
template <class F> void each_pair(const Tensor& out, const Tensor& a, const Tensor& b, F f) {
  StridedLoop over(out.sizes());
  over.add(out);
  over.add(expand(a, out.sizes()));
  over.add(expand(b, out.sizes()));
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) f(p[0] + i * s[0], p[1] + i * s[1], p[2] + i * s[2]);
  });
}
template <class T> void join(const Tensor& out, const Tensor& a, const Tensor& b) {
  each_pair(out, a, b, [](char* to, const char* x, const char* y) {
    std::memcpy(to, x, sizeof(T));
    std::memcpy(to + sizeof(T), y, sizeof(T));
  });
}
template <class T> void join_polar(const Tensor& out, const Tensor& a, const Tensor& b) {
  each_pair(out, a, b, [](char* to, const char* x, const char* y) {
    T r, angle;
    std::memcpy(&r, x, sizeof r);
    std::memcpy(&angle, y, sizeof angle);
    const T parts[2] = {r * std::cos(angle), r * std::sin(angle)};
    std::memcpy(to, parts, sizeof parts);
  });
}

}  // namespace

const Op<Tensor(Tensor, Tensor)> complex_op = define<Tensor(Tensor, Tensor)>(
    "complex(Tensor real, Tensor imag) -> Tensor")
  .doc(R"(
    Complex numbers from their real and imaginary parts.

    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
  )")
  .forms(Function | Out)
  .out({.dtype = OutDType::Exact,
        .text = "Expected object of scalar type %W but got scalar type %G for argument 'out'"})
  .infer([](Infer& r, const Tensor& real, const Tensor& imag) { infer_pair(r, real, imag); })
  .kernel([](Tensor& result, const Tensor& real, const Tensor& imag) {
    NoGrad quiet;
    if (real.dtype() == DType::Half) join<Half>(result, real, imag);
    else if (real.dtype() == DType::Float) join<float>(result, real, imag);
    else join<double>(result, real, imag);
  })
  .grad("real", "grad", [](const Tensor& grad) { return Tensor(real(grad)); })
  .grad("imag", "grad", [](const Tensor& grad) { return Tensor(imag(grad)); });

const auto polar = define<Tensor(Tensor, Tensor)>("polar(Tensor abs, Tensor angle) -> Tensor")
  .doc(R"(
    Complex numbers from their absolute values and angles (in radians).

    >>> torch.polar(torch.tensor([2.]), torch.tensor([0.]))
    tensor([2.+0.j])
  )")
  .forms(Function | Out)
  .out({.dtype = OutDType::Exact,
        .text = "Expected object of scalar type %W but got scalar type %G for argument 'out'"})
  .infer([](Infer& r, const Tensor& abs, const Tensor& angle) {
    infer_pair(r, abs, angle);
    check(abs.dtype() != DType::Half || abs.is_meta(), ErrorKind::NotImplemented,
          "\"polar_cpu\" not implemented for 'Half'");
  })
  .kernel([](Tensor& result, const Tensor& abs, const Tensor& angle) {
    NoGrad quiet;
    if (abs.dtype() == DType::Float) join_polar<float>(result, abs, angle);
    else join_polar<double>(result, abs, angle);
  })
  .grad("abs", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return Tensor(real(rl::conj(grad) * sgn(result)));
  })
  .grad("angle", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return Tensor(real(rl::conj(grad) * (result * Scalar(std::complex<double>(0, 1)))));
  });

}  // namespace rl::ops
