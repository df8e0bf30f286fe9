// Distances and similarities of vectors, and the losses made of them.
#include <algorithm>

#include "kernels/functors/scalar.h"
#include "kernels/loss.h"
#include "ops/formats.h"
#include "ops/norm_gradients.h"

namespace rl::ops {

namespace {

using kernels::Reduction;

Tensor reduced(const Tensor& loss, int64_t reduction) {
  switch (Reduction(reduction)) {
    case Reduction::Mean: return mean(loss);
    case Reduction::Sum: return sum(loss);
    default: return loss;
  }
}

Tensor sum_over(const Tensor& t, int64_t dim, bool keepdim) {
  return sum_dim(t, Ints(&dim, 1), keepdim);
}

}  // namespace

const auto cosine_similarity = define<Tensor(Tensor, Tensor, int64_t, double)>(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
  .doc(R"(
    The cosine of the angle between vectors along `dim`; norms count as `eps` at least.

    >>> torch.cosine_similarity(torch.tensor([[1., 0.]]), torch.tensor([[1., 0.]]))
    tensor([1.])
  )")
  .composite([](const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
    const Dims sizes = broadcast(x1.sizes(), x2.sizes());
    const DType common = promote(x1.dtype(), x2.dtype());
    check(is_floating(common), "expected common dtype to be floating point, yet common dtype is ",
          type_name_of(common));
    const Tensor a = expand(to_dtype(x1, common), Ints(sizes), false);
    const Tensor b = expand(to_dtype(x2, common), Ints(sizes), false);
    const auto unit = [&](const Tensor& t) {
      return t / clamp_min(sqrt(sum_over(t * t, dim, true)), Scalar(eps));
    };
    return sum_over(unit(a) * unit(b), dim, false);
  });

const auto cosine_embedding_loss = define<Tensor(Tensor, Tensor, Tensor, double, int64_t)>(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=Mean) -> Tensor")
  .doc("1 - cos where the target is 1, max(0, cos - margin) where it is -1.")
  .autocast(Autocast::Float)
  .composite([](const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                int64_t reduction) {
    const int64_t rank = target.dim();
    check(rank == 0 || rank == 1, "0D or 1D target tensor expected, multi-target not supported");
    check(input1.dim() == rank + 1 && input2.dim() == rank + 1, rank
          ? "1D target tensor expects 2D input tensors, but found inputs with sizes "
          : "0D target tensor expects 1D input tensors, but found inputs with sizes ",
          input1.sizes(), " and ", input2.sizes(), ".");
    const double tiny = 1e-12;
    const Tensor product = sum_over(input1 * input2, rank, false);
    const Tensor square1 = sum_over(input1 * input1, rank, false) + Scalar(tiny);
    const Tensor square2 = sum_over(input2 * input2, rank, false) + Scalar(tiny);
    const Tensor cosine = product / sqrt(square1 * square2);
    const Tensor zero = full({}, 0, cosine.dtype(), cosine.device());
    const Tensor one = full({}, 1, target.dtype(), target.device());
    const Tensor apart = clamp_min(cosine - Scalar(margin), Scalar(0));
    return reduced(where(eq(target, one), -cosine + Scalar(1), zero) +
                   where(eq(target, -one), apart, zero), reduction);
  });

const Op<Tensor(Tensor, Tensor, double, double, bool)> pairwise_distance =
    define<Tensor(Tensor, Tensor, double, double, bool)>(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) "
    "-> Tensor")
  .doc("The p-norm of the difference of vectors along the last dimension, `eps` added to each.")
  .composite([](const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
    const int64_t last = std::max(x1.dim(), x2.dim()) - 1;
    return norm_over(x1 - x2 + Scalar(eps), Scalar(p), Ints(&last, 1), keepdim);
  });

const auto triplet_margin_loss =
    define<Tensor(Tensor, Tensor, Tensor, double, double, double, bool, int64_t)>(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
    "float p=2, float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor")
  .doc("max(0, d(anchor, positive) - d(anchor, negative) + margin), d being the p-norm distance.")
  .autocast(Autocast::Float)
  .composite([](const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                double margin, double p, double eps, bool swap, int64_t reduction) {
    check(anchor.dim() == positive.dim() && positive.dim() == negative.dim(),
          "The anchor, positive, and negative tensors are expected to have the same number of "
          "dimensions, but got: anchor ", anchor.dim(), "D, positive ", positive.dim(),
          "D, and negative ", negative.dim(), "D inputs");
    const Tensor near = pairwise_distance(anchor, positive, p, eps, false);
    Tensor far = pairwise_distance(anchor, negative, p, eps, false);
    if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps, false));
    return reduced(clamp_min(near + Scalar(margin) - far, Scalar(0)), reduction);
  });

namespace {

Tensor like_in_format(const Tensor& self, Ints sizes) {
  return empty_strided(sizes, format_strides(sizes, suggested_format(self)), self.dtype(),
                       self.device());
}

// `made`, which holds the elements of `from` where dimensions of such steps would have them.
Tensor filled(const Tensor& made, Ints steps, const Tensor& from) {
  if (!made.is_meta()) copy_data(alias(made, from.sizes(), steps, made.offset()), from);
  return made;
}

using kernels::fn::times;  // what does not fit is refused where memory is asked for

// Folds channels into space and back: (..., C r r, H, W) <-> (..., C, H r, W r).
Tensor shuffle(const Tensor& self, int64_t r) {
  const size_t lead = size_t(self.dim()) - 3;
  const int64_t c = self->sizes[lead] / (r * r), h = self->sizes[lead + 1];
  const int64_t w = self->sizes[lead + 2], first = int64_t(lead);
  Dims split(Ints(self->sizes, lead)), order, joined(Ints(self->sizes, lead));
  for (int64_t s : {c, r, r, h, w}) split.push_back(s);
  for (int64_t d = 0; d < first; ++d) order.push_back(d);
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(first + d);
  for (int64_t s : {c, times(h, r), times(w, r)}) joined.push_back(s);
  const Tensor made = like_in_format(self, joined);
  Dims steps(made.strides());
  const int64_t across = steps[lead + 1], along = steps[lead + 2];
  steps.resize(lead + 1);
  for (int64_t step : {across * r, across, along * r, along}) steps.push_back(step);
  return filled(made, steps, permute(reshape(self, Ints(split)), Ints(order)));
}

Tensor unshuffle(const Tensor& self, int64_t r) {
  const size_t lead = size_t(self.dim()) - 3;
  const int64_t c = self->sizes[lead], h = self->sizes[lead + 1] / r;
  const int64_t w = self->sizes[lead + 2] / r, first = int64_t(lead);
  int64_t square, channels;
  check(!__builtin_mul_overflow(r, r, &square) && !__builtin_mul_overflow(c, square, &channels),
        "numel: integer multiplication overflow");
  Dims split(Ints(self->sizes, lead)), order, joined(Ints(self->sizes, lead));
  for (int64_t s : {c, h, r, w, r}) split.push_back(s);
  for (int64_t d = 0; d < first; ++d) order.push_back(d);
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(first + d);
  for (int64_t s : {channels, h, w}) joined.push_back(s);
  const Tensor made = like_in_format(self, joined);
  Dims steps(made.strides());
  const int64_t each = steps[lead], across = steps[lead + 1], along = steps[lead + 2];
  steps.resize(lead);
  for (int64_t step : {each * square, each * r, each, across, along}) steps.push_back(step);
  return filled(made, steps, permute(reshape(self, Ints(split)), Ints(order)));
}

}  // namespace

extern const Op<Tensor(Tensor, int64_t)> pixel_unshuffle;

const Op<Tensor(Tensor, int64_t)> pixel_shuffle = define<Tensor(Tensor, int64_t)>(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor")
  .doc("Moves channels into space: (..., C r r, H, W) to (..., C, H r, W r) (Shi et al. 2016).")
  .produce([](const Tensor& self, int64_t factor) {
    check(self.dim() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got "
          "input with ", self.dim(), " dimension(s)");
    check(factor > 0, "pixel_shuffle expects a positive upscale_factor, but got ", factor);
    const int64_t channels = self.size(-3);
    int64_t square;
    check(!__builtin_mul_overflow(factor, factor, &square) && channels % square == 0,
          "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
          "upscale_factor, but input.size(-3)=",
          channels, " is not divisible by ", uint64_t(factor) * uint64_t(factor));
    NoGrad quiet;
    return shuffle(detached(self), factor);
  })
  .grad("self", "grad, upscale_factor", [](const Tensor& grad, int64_t factor) {
    return pixel_unshuffle(grad, factor);
  });

const Op<Tensor(Tensor, int64_t)> pixel_unshuffle = define<Tensor(Tensor, int64_t)>(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor")
  .doc("Moves space into channels: (..., C, H r, W r) to (..., C r r, H, W).")
  .produce([](const Tensor& self, int64_t factor) {
    check(self.dim() >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got "
          "input with ", self.dim(), " dimension(s)");
    check(factor > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", factor);
    check(self.size(-2) % factor == 0, "pixel_unshuffle expects height to be divisible by "
          "downscale_factor, but input.size(-2)=", self.size(-2), " is not divisible by ", factor);
    check(self.size(-1) % factor == 0, "pixel_unshuffle expects width to be divisible by "
          "downscale_factor, but input.size(-1)=", self.size(-1), " is not divisible by ", factor);
    NoGrad quiet;
    return unshuffle(detached(self), factor);
  })
  .grad("self", "grad, downscale_factor", [](const Tensor& grad, int64_t factor) {
    return pixel_shuffle(grad, factor);
  });

// ---- One-hot codes

const auto one_hot = define<Tensor(Tensor, int64_t)>(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor")
  .doc("A row per index with a one at its place; as many classes as the largest index asks for "
       "unless given.")
  .forms(NN)
  .produce([](const Tensor& self, int64_t num_classes) {
    check(self.dtype() == DType::Int64,
          "one_hot is only applicable to index tensor of type LongTensor.");
    check(!self.is_meta() || num_classes >= 0, "Tensor.item() cannot be called on meta tensors");
    check(self.numel() || num_classes > 0, num_classes == 0
          ? "Class values must be smaller than num_classes."
          : "Can not infer total number of classes from empty tensor.");
    const Tensor index = empty(self.sizes(), DType::Int64);
    copy_data(index, self);
    int64_t largest = -1;
    for (int64_t i = 0; i < index.numel() && !self.is_meta(); ++i) {
      const int64_t v = index.ptr<int64_t>()[i];
      check(v >= 0, "Class values must be non-negative.");
      largest = std::max(largest, v);
    }
    const int64_t classes = num_classes == -1 ? largest + 1 : num_classes;
    check(largest < classes, "Class values must be smaller than num_classes.");
    Dims sizes(self.sizes());
    sizes.push_back(classes);
    const Tensor made = zeros(Ints(sizes), DType::Int64, self.device());
    for (int64_t i = 0; i < index.numel() && !self.is_meta(); ++i)
      made.ptr<int64_t>()[i * classes + index.ptr<int64_t>()[i]] = 1;
    return made;
  });

}  // namespace rl::ops
