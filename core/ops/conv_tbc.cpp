// Convolution of sequences laid out as (time, batch, channels).
#include "ops/ops.h"

namespace rl::ops {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

// Which times of the input and of the result tap k joins.
struct Joined {
  int64_t from, to, count;
  Joined(int64_t in, int64_t out, int64_t pad, int64_t k)
      : from(std::max<int64_t>(0, k - pad)), to(std::max<int64_t>(0, pad - k)),
        count(std::max<int64_t>(std::min(in - from, out - to), 0)) {}
};

Tensor rows_of(const Tensor& t, int64_t begin, int64_t count) {
  const Tensor part = narrow(t, 0, begin, count);
  return view(part, Ints(Dims{count * t->sizes[1], t->sizes[2]}));
}

void check_sequences(const Tensor& self, const Tensor& weight, const Tensor& bias) {
  check(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel");
  check(weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, "
        "out_channels.");
  check(bias.dim() == 1, "Bias must be 1-D");
  check(self->sizes[2] == weight->sizes[1],
        "Input dim 2 (input channels) is not == dim 1 in the weight tensor");
  check(weight->sizes[2] == bias->sizes[0],
        "Bias size must equal dim 2 in the weight tensor (output channels).");
}

Tensor convolve(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  check_sequences(self, weight, bias);
  const bool wanted = requires_grad(self) || requires_grad(weight) || requires_grad(bias);
  check(!self.is_complex() || !grad_enabled() || !wanted, "conv_tbc does not support automatic "
        "differentiation for outputs with complex dtype.");
  NoGrad quiet;
  const int64_t in = self->sizes[0], batch = self->sizes[1], width = weight->sizes[0];
  const int64_t out = in + 2 * pad - width + 1;
  const Dims sizes{out, batch, weight->sizes[2]};
  const Tensor result = empty(sizes, self.dtype(), self.device());
  if (result.is_meta()) return result;
  copy_.call({Arg(result), Arg(expand(bias, Ints(sizes), false)), Arg(false)});
  for (int64_t k = 0; k < width; ++k) {
    const Joined j(in, out, pad, k);
    if (j.count == 0) continue;
    const Tensor rows = mm(rows_of(self, j.from, j.count), select(weight, 0, k));
    add.in_place(narrow(result, 0, j.to, j.count),
                 reshape(rows, Ints(Dims{j.count, batch, sizes[2]})));
  }
  return result;
}

Three backward(const Tensor& grad, const Tensor& self, const Tensor& weight, int64_t pad,
               Needs needs) {
  const int64_t in = self->sizes[0], out = grad->sizes[0], width = weight->sizes[0];
  Three made;
  auto& [to_self, to_weight, to_bias] = made;
  if (needs[0]) to_self = zeros(self.sizes(), self.dtype(), self.device());
  Tensors taps;
  const Tensor dense_grad = contiguous(grad, MemoryFormat::Contiguous);
  for (int64_t k = 0; k < width; ++k) {
    const Joined j(in, out, pad, k);
    const Tensor rows = rows_of(dense_grad, j.to, j.count), tap = select(weight, 0, k);
    if (needs[0] && j.count > 0) {
      const Tensor part = reshape(mm(rows, t(tap)),
                                  Ints(Dims{j.count, self->sizes[1], self->sizes[2]}));
      to_self = to_self + slice_backward(part, self.sizes(), 0, j.from, j.from + j.count, 1);
    }
    if (needs[1]) taps.push_back(mm(t(rows_of(self, j.from, j.count)), rows));
  }
  if (needs[1]) to_weight = taps.empty() ? zeros(weight.sizes(), weight.dtype(), weight.device())
                                         : Tensor(stack(taps, 0));
  if (needs[2]) to_bias = sum_dim(grad, Ints({0, 1}), false);
  return made;
}

}  // namespace

static const auto conv_tbc = define<Tensor(Tensor, Tensor, Tensor, int64_t)>(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor")
  .doc(R"(
    Convolution of (time, batch, channels) with a weight (width, channels, results).

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
  )")
  .node("ConvTbcBackward0")
  .autocast(Autocast::Lower)
  .produce([](const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
    return convolve(self, weight, bias, pad);
  })
  .grad("self, weight, bias", "grad, self, weight, pad, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& weight, int64_t pad,
           Needs needs) { return backward(grad, self, weight, pad, needs); });

}  // namespace rl::ops
