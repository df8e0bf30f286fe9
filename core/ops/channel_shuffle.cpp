// Channels interleaved between groups.
#include "ops/formats.h"

namespace rl::ops {
namespace {

void infer_shuffled(Infer& r, const Tensor& self, int64_t groups) {
  check(self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ",
        self.sizes());
  check(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:",
        groups);
  check(self->sizes[1] % groups == 0, "Number of channels must be divisible by groups. Got ",
        self->sizes[1], " channels and ", groups, " groups.");
  result_in_format(r, self.sizes(), self, self.dtype());
}

// Channel g * (c / groups) + k becomes channel k * groups + g.
void shuffle(const Tensor& result, const Tensor& self, int64_t groups) {
  if (self.numel() == 0) return;
  const int64_t each = self->sizes[1] / groups;
  const auto split = [&](const Tensor& t, int64_t group_step, int64_t each_step) {
    Dims sizes{t->sizes[0], groups, each}, strides{t->strides[0], group_step, each_step};
    for (int64_t d = 2; d < t.dim(); ++d) {
      sizes.push_back(t->sizes[d]);
      strides.push_back(t->strides[d]);
    }
    return alias(t, sizes, strides, t.offset());
  };
  copy_data(split(result, result->strides[1], groups * result->strides[1]),
            split(self, each * self->strides[1], self->strides[1]));
}

}  // namespace

extern const Op<Tensor(Tensor, int64_t)> channel_shuffle;
const Op<Tensor(Tensor, int64_t)> channel_shuffle = define<Tensor(Tensor, int64_t)>(
    "channel_shuffle(Tensor self, int groups) -> Tensor")
  .doc(R"(
    The channels of `groups` groups interleaved: the first of each, then the second of each.

    >>> torch.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
  )")
  .node("ChannelShuffleBackward0")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, int64_t groups) { infer_shuffled(r, self, groups); })
  .kernel([](Tensor& result, const Tensor& self, int64_t groups) { shuffle(result, self, groups); })
  .grad("self", "grad, groups", [](const Tensor& grad, int64_t groups) {
    return channel_shuffle(grad, std::max<int64_t>(grad.size(1) / groups, 1));
  });

static const auto native_channel_shuffle = define<Tensor(Tensor, int64_t)>(
    "native_channel_shuffle(Tensor self, int groups) -> Tensor")
  .doc("channel_shuffle without a gradient.")
  .infer([](Infer& r, const Tensor& self, int64_t groups) { infer_shuffled(r, self, groups); })
  .kernel([](Tensor& result, const Tensor& self, int64_t groups) { shuffle(result, self, groups); })
  .no_derivative("derivative for aten::native_channel_shuffle is not implemented");

}  // namespace rl::ops
