// Losses over classes: nll_loss and cross_entropy, with class indices and with probabilities.
#include "kernels/loss.h"

#include "ops/dense.h"

namespace rl::ops {
namespace {

using kernels::ClassLoss;
using kernels::Reduction;
using Two = std::pair<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// Scores [batch, classes, area] and targets [batch, area]; a 1-d input is one row.
ClassLoss class_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, int64_t ignore_index) {
  ClassLoss c{};
  c.dtype = self.dtype();
  c.batch = self.dim() == 1 ? 1 : self->sizes[0];
  c.classes = self.dim() == 1 ? self->sizes[0] : self->sizes[1];
  c.area = 1;
  for (int64_t d = 2; d < self.dim(); ++d) c.area *= self->sizes[d];
  c.target = target.ptr<int64_t>();
  c.weight = weight ? weight.data() : nullptr;
  c.ignore_index = ignore_index;
  c.reduction = Reduction(reduction);
  return c;
}

// Dense int64 class indices; byte targets are widened.
Tensor as_indices(const Tensor& t) {
  if (t.dtype() == DType::Int64) return dense(t);
  const Tensor wide = empty(t.sizes(), DType::Int64);
  copy_data(wide, t);
  return wide;
}

void check_target(const ClassLoss& c) {
  const int64_t bad = first_bad_target(c);
  check(bad < 0, ErrorKind::Index, "Target ", bad < 0 ? 0 : c.target[bad], " is out of bounds.");
}

void check_dtypes(const Tensor& self, const Tensor& target, const Tensor& weight) {
  check(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8,
        "expected target dtype to be Long or Byte, but got ", type_name_of(target.dtype()));
  if (self.is_meta()) return;
  check(self.is_floating(), ErrorKind::NotImplemented,
        "\"nll_loss_out_frame\" not implemented for '", type_name_of(self.dtype()), "'");
  check(!weight || weight.dtype() == self.dtype(), "expected scalar type ",
        type_name_of(self.dtype()), " but found ", weight ? type_name_of(weight.dtype()) : "");
}

void check_rows(const Tensor& self, const Tensor& target, const Tensor& weight) {
  check(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  check(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  if (self.dim() == 1 && target.dim() == 1)
    check(target->sizes[0] == 1, ErrorKind::Value, "For 1D input, 1D target must have size 1, but "
          "got target size: ", target->sizes[0]);
  const bool lone = self.dim() == 1 && target.dim() == 0;
  check(lone || self->sizes[0] == (target.dim() ? target->sizes[0] : 1) || self.dim() == 1,
        "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
  const int64_t classes = self->sizes[self.dim() - 1];
  check(!weight || (weight.dim() == 1 && weight.numel() == classes),
        "weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ",
        weight ? weight.sizes() : Ints());
}

void check_areas(const Tensor& self, const Tensor& target, const Tensor& weight) {
  check(target.dim() == 3, "only batches of spatial targets supported (3D tensors) but got targets "
        "of dimension: ", target.dim());
  check(self.dim() == 4, "only batches of spatial inputs supported (4D tensors), but got input of "
        "dimension: ", self.dim());
  check(!weight || weight.numel() == self->sizes[1],
        "weight tensor should be defined either for all or no classes");
  check(self->sizes[0] == target->sizes[0] && self->sizes[2] == target->sizes[1] &&
        self->sizes[3] == target->sizes[2], "size mismatch (got input: ", self.sizes(),
        " , target: ", target.sizes());
}

void infer_loss(Infer& r, const Tensor& self, const Tensor& target, int64_t reduction) {
  const bool rows = Reduction(reduction) == Reduction::None && self.dim() != 1;
  r.result(rows ? target.sizes() : Ints(), self.dtype(), self.device());
  r.result({}, self.dtype(), self.device());
}

void nll_kernel(Tensor& output, Tensor& total_weight, const Tensor& self, const Tensor& target,
                const Tensor& weight, int64_t reduction, int64_t ignore_index) {
  const Tensor scores = dense(self), index = as_indices(target), w = dense(weight);
  const ClassLoss c = class_loss(scores, index, w, reduction, ignore_index);
  check_target(c);
  kernels::nll_loss(c, scores.data(), output.data(), total_weight.data());
}

void infer_gradient(Infer& r, const Tensor& self) {
  r.result(self.sizes(), self.dtype(), self.device());
}

void check_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                    int64_t reduction, const Tensor& total) {
  check(total.numel() == 1, "expected total_weight to be a single element tensor, got: ",
        total.sizes());
  check(total.dtype() == self.dtype() && grad.dtype() == self.dtype(), "expected scalar type ",
        type_name_of(self.dtype()), " but found ",
        type_name_of(grad.dtype() == self.dtype() ? total.dtype() : grad.dtype()));
  const int64_t wanted = Reduction(reduction) == Reduction::None ? target.numel() : 1;
  check(grad.numel() == wanted, "Expected a single element grad_output tensor, but got: ",
        grad.sizes());
}

void nll_backward_kernel(Tensor& result, const Tensor& grad, const Tensor& self,
                         const Tensor& target, const Tensor& weight, int64_t reduction,
                         int64_t ignore_index, const Tensor& total_weight) {
  const Tensor g = dense(grad), index = as_indices(target), w = dense(weight);
  const ClassLoss c = class_loss(self, index, w, reduction, ignore_index);
  check_target(c);
  kernels::nll_loss_backward(c, g.data(), total_weight.data(), result.data());
}

}  // namespace

using NllForward = Two(Tensor, Tensor, Tensor, int64_t, int64_t);
using NllBackward = Tensor(Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, Tensor);
extern const Op<NllForward> nll_loss_forward, nll_loss2d_forward;

#define RL_NLL_BACKWARD(NAME, TEXT, NODE, CHECK, FORWARD)                                        \
  const auto NAME = define<NllBackward>(                                                         \
      TEXT "(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "    \
      "int ignore_index, Tensor total_weight) -> Tensor")                                        \
    .doc("The gradient of a negative log-likelihood with respect to the log-probabilities.")     \
    .node(NODE)                                                                                  \
    .forms(NN | Out)                                                                             \
    .infer([](Infer& r, const Tensor& grad, const Tensor& self, const Tensor& target,            \
              const Tensor& weight, int64_t reduction, int64_t, const Tensor& total) {           \
      CHECK(self, target, weight);                                                               \
      check_dtypes(self, target, weight);                                                        \
      check_gradient(grad, self, target, reduction, total);                                      \
      infer_gradient(r, self);                                                                   \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& grad, const Tensor& self, const Tensor& target,     \
               const Tensor& weight, int64_t reduction, int64_t ignore, const Tensor& total) {   \
      nll_backward_kernel(result, grad, self, target, weight, reduction, ignore, total);         \
    })                                                                                           \
    .grad("grad_output", "grad, target, weight, reduction, ignore_index",                        \
          [](const Tensor& grad, const Tensor& target, const Tensor& weight, int64_t reduction,  \
             int64_t ignore) {                                                                   \
      return std::get<0>(FORWARD(grad, target, weight, reduction, ignore));                      \
    })                                                                                           \
    .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); })
RL_NLL_BACKWARD(nll_loss_backward, "nll_loss_backward", "NllLossBackwardBackward0", check_rows,
                nll_loss_forward);
RL_NLL_BACKWARD(nll_loss2d_backward, "nll_loss2d_backward", "NllLoss2DBackwardBackward0",
                check_areas, nll_loss2d_forward);
#undef RL_NLL_BACKWARD

#define RL_NLL_FORWARD(NAME, TEXT, NODE, CHECK, BACKWARD)                                        \
  const Op<NllForward> NAME = define<NllForward>(                                                \
      TEXT "(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) "      \
      "-> (Tensor output, Tensor total_weight)")                                                 \
    .doc("The negative log-likelihood, and the sum of the weights that it is the mean over.")    \
    .node(NODE)                                                                                  \
    .nondiff("total_weight")                                                                     \
    .forms(NN | Out)                                                                             \
    .infer([](Infer& r, const Tensor& self, const Tensor& target, const Tensor& weight,          \
              int64_t reduction, int64_t) {                                                      \
      CHECK(self, target, weight);                                                               \
      check_dtypes(self, target, weight);                                                        \
      infer_loss(r, self, target, reduction);                                                    \
    })                                                                                           \
    .kernel([](Tensor& output, Tensor& total, const Tensor& self, const Tensor& target,          \
               const Tensor& weight, int64_t reduction, int64_t ignore) {                        \
      nll_kernel(output, total, self, target, weight, reduction, ignore);                        \
    })                                                                                           \
    .grad("self", "grad.output, self, target, weight, reduction, ignore_index, total_weight",    \
          [](const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, \
             int64_t reduction, int64_t ignore, const Tensor& total) {                           \
      return BACKWARD(grad, self, target, weight, reduction, ignore, total);                     \
    })
RL_NLL_FORWARD(nll_loss_forward, "nll_loss_forward", "NllLossBackward0", check_rows,
               nll_loss_backward);
RL_NLL_FORWARD(nll_loss2d_forward, "nll_loss2d_forward", "NllLoss2DBackward0", check_areas,
               nll_loss2d_backward);
#undef RL_NLL_FORWARD

const auto nll_loss = define<Tensor(Tensor, Tensor, Tensor, int64_t, int64_t)>(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "int ignore_index=-100) -> Tensor")
  .doc("Minus the log-probability of each row's target class.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore) {
    return std::get<0>(nll_loss_forward(self, target, weight, reduction, ignore));
  });

const auto nll_loss2d = define<Tensor(Tensor, Tensor, Tensor, int64_t, int64_t)>(
    "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "int ignore_index=-100) -> Tensor")
  .doc("Minus the log-probability of the target class at each place of (N, C, H, W).")
  .forms(NN | Out)
  .composite([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore) {
    return std::get<0>(nll_loss2d_forward(self, target, weight, reduction, ignore));
  });

const auto nll_loss_nd = define<Tensor(Tensor, Tensor, Tensor, int64_t, int64_t)>(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "int ignore_index=-100) -> Tensor")
  .doc("nll_loss for inputs (C), (N, C) and (N, C, d1, d2, ...).")
  .forms(NN)
  .composite([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore) -> Tensor {
    check(self.dim() > 0, ErrorKind::Value, "Expected 1 or more dimensions (got 0)");
    check(self.dim() == 1 || target.dim() == 0 || self->sizes[0] == target->sizes[0],
          ErrorKind::Value, "Expected input batch_size (", self->sizes[0],
          ") to match target batch_size (", target.dim() ? target->sizes[0] : 0, ").");
    if (self.dim() <= 2) return nll_loss(self, target, weight, reduction, ignore);
    if (self.dim() == 4) return nll_loss2d(self, target, weight, reduction, ignore);
    const int64_t n = self->sizes[0], c = self->sizes[1];
    Dims expected(self.sizes());
    expected.erase(1);
    check(target.sizes() == Ints(expected), "Expected target size ", expected, ", got ",
          target.sizes());
    int64_t area = 1;
    for (int64_t d = 2; d < self.dim(); ++d) area *= self->sizes[d];
    const Tensor flat = reshape(self, Dims{n, c, 1, area});
    const Tensor loss = nll_loss2d(flat, reshape(target, Dims{n, 1, area}), weight, reduction,
                                   ignore);
    return Reduction(reduction) == Reduction::None ? Tensor(view(loss, Ints(expected))) : loss;
  });

// ---- cross_entropy

namespace {

int64_t class_dim(const Tensor& t) { return t.dim() == 1 ? 0 : 1; }

void check_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight) {
  if (self.dim() <= 2) {
    check_rows(self, target, weight);
  } else {
    Dims expected(self.sizes());
    expected.erase(1);
    check(target.sizes() == Ints(expected), "Expected target size ", expected, ", got ",
          target.sizes());
    check(!weight || weight.numel() == self->sizes[1],
          "weight tensor should be defined either for all or no classes");
  }
  check_dtypes(self, target, weight);
}

void infer_cross_entropy(Infer& r, const Tensor& self, const Tensor& target, const Tensor& weight,
                         int64_t reduction) {
  check_cross_entropy(self, target, weight);
  infer_loss(r, self, target, reduction);
  infer_gradient(r, self);
}

void cross_entropy_kernel(Tensor& output, Tensor& total_weight, Tensor& log_probs,
                          const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore) {
  const Tensor scores = dense(self), index = as_indices(target), w = dense(weight);
  const ClassLoss c = class_loss(scores, index, w, reduction, ignore);
  check_target(c);
  const Tensor probs = log_probs ? log_probs : empty(self.sizes(), self.dtype());
  const Tensor total = total_weight ? total_weight : empty({}, self.dtype());
  kernels::cross_entropy(c, scores.data(), probs.data(), output.data(), total.data());
}

// The gradient of nll_loss for inputs of any rank, as [N, C, 1, area] above two.
Tensor nll_gradient(const Tensor& grad, const Tensor& log_probs, const Tensor& target,
                    const Tensor& weight, int64_t reduction, int64_t ignore, const Tensor& total) {
  if (log_probs.dim() <= 2)
    return nll_loss_backward(grad, log_probs, target, weight, reduction, ignore, total);
  const int64_t n = log_probs->sizes[0], c = log_probs->sizes[1];
  const int64_t area = target.numel() / std::max<int64_t>(n, 1);
  const Tensor g = grad.dim() ? Tensor(reshape(grad, Dims{n, 1, area})) : grad;
  const Tensor flat = reshape(log_probs, Dims{n, c, 1, area});
  return reshape(nll_loss2d_backward(g, flat, reshape(target, Dims{n, 1, area}), weight, reduction,
                                     ignore, total), log_probs.sizes());
}

}  // namespace

const auto cross_entropy_backward =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, Tensor)>(
    "_cross_entropy_backward(Tensor grad_output, Tensor log_probs, Tensor target, Tensor? weight, "
    "int reduction, int ignore_index, Tensor total_weight) -> Tensor")
  .doc("The gradient of cross entropy with respect to the logits.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& grad, const Tensor& log_probs, const Tensor& target,
            const Tensor& weight, int64_t reduction, int64_t, const Tensor& total) {
    check_cross_entropy(log_probs, target, weight);
    check_gradient(grad, log_probs, target, reduction, total);
    infer_gradient(r, log_probs);
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& log_probs, const Tensor& target,
             const Tensor& weight, int64_t reduction, int64_t ignore, const Tensor& total) {
    const Tensor g = dense(grad), index = as_indices(target), w = dense(weight);
    const ClassLoss c = class_loss(log_probs, index, w, reduction, ignore);
    check_target(c);
    kernels::cross_entropy_backward(c, g.data(), log_probs.data(), total.data(), result.data());
  })
  // With q the gradient of nll_loss: result = q - p * sum(q), p = exp(log_probs).
  .grad("grad_output, log_probs",
        "grad, grad_output, log_probs, target, weight, reduction, ignore_index, total_weight, "
        "needs",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& log_probs,
           const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore,
           const Tensor& total, Needs needs) {
    const int64_t dim = class_dim(log_probs);
    const Tensor p = softmax(log_probs, dim);
    Two made;
    if (needs[0]) {
      const Tensor inner = sum_dim(p * grad, Ints(&dim, 1), true);
      made.first = nll_loss_nd(grad - inner, target, weight, reduction, ignore);
    }
    if (needs[1]) {
      const Tensor q = nll_gradient(grad_output, log_probs, target, weight, reduction, ignore,
                                    total);
      made.second = -(p * sum_dim(q, Ints(&dim, 1), true) * grad);
    }
    return made;
  });

namespace {

// The gradient of the logits, from that of the loss and, in double backward, of log_probs.
Tensor logits_gradient(const Tensor& grad, const Tensor& grad_log_probs, const Tensor& log_probs,
                       const Tensor& target, const Tensor& weight, int64_t reduction,
                       int64_t ignore, const Tensor& total) {
  Tensor made;
  if (grad)
    made = cross_entropy_backward(grad, log_probs, target, weight, reduction, ignore, total);
  if (!grad_log_probs) return made;
  const int64_t dim = class_dim(log_probs);
  const Tensor all = sum_dim(grad_log_probs, Ints(&dim, 1), true);
  const Tensor more = grad_log_probs - exp(log_probs) * all;
  return made ? made + more : more;
}

}  // namespace

// log_softmax and nll_loss in one pass; what a gradient needs are the log-probabilities. They are a
// result, so that the gradient's own gradient finds its way through them.
#define RL_CROSS_ENTROPY(NAME, TEXT, NODE)                                                       \
  const auto NAME = define<Three(Tensor, Tensor, Tensor, int64_t, int64_t)>(                     \
      TEXT "(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) "      \
      "-> (Tensor output, Tensor total_weight, Tensor log_probs)")                               \
    .doc("Cross entropy of logits against class indices; " NODE " in PyTorch.")                  \
    .node(NODE)                                                                                  \
    .nondiff("total_weight")                                                                     \
    .forms(Hidden)                                                                               \
    .infer([](Infer& r, const Tensor& self, const Tensor& target, const Tensor& weight,          \
              int64_t reduction, int64_t) {                                                      \
      infer_cross_entropy(r, self, target, weight, reduction);                                   \
    })                                                                                           \
    .kernel([](Tensor& output, Tensor& total, Tensor& log_probs, const Tensor& self,             \
               const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore) {  \
      cross_entropy_kernel(output, total, log_probs, self, target, weight, reduction, ignore);   \
    })                                                                                           \
    .grad("self",                                                                                \
          "grad.output, grad.log_probs, log_probs, target, weight, reduction, ignore_index, "    \
          "total_weight",                                                                        \
          [](const Tensor& grad, const Tensor& grad_log_probs, const Tensor& log_probs,          \
             const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore,      \
             const Tensor& total) {                                                              \
      return logits_gradient(grad, grad_log_probs, log_probs, target, weight, reduction, ignore, \
                             total);                                                             \
    })
RL_CROSS_ENTROPY(cross_entropy_rows, "_cross_entropy_rows", "NllLossBackward0");
RL_CROSS_ENTROPY(cross_entropy_areas, "_cross_entropy_areas", "NllLoss2DBackward0");
#undef RL_CROSS_ENTROPY

namespace {

Tensor cross_entropy_indices(const Tensor& self, const Tensor& target, const Tensor& weight,
                             int64_t reduction, int64_t ignore) {
  check(self.dim() == 1 || target.dim() == 0 || self->sizes[0] == target->sizes[0],
        ErrorKind::Value, "Expected input batch_size (", self->sizes[0],
        ") to match target batch_size (", target.dim() ? target->sizes[0] : 0, ").");
  if (self.dim() <= 2)
    return std::get<0>(cross_entropy_rows(self, target, weight, reduction, ignore));
  if (self.dim() == 4) {
    check_areas(self, target, weight);
  } else {
    Dims expected(self.sizes());
    expected.erase(1);
    check(target.sizes() == Ints(expected), "Expected target size ", expected, ", got ",
          target.sizes());
  }
  return std::get<0>(cross_entropy_areas(self, target, weight, reduction, ignore));
}

// A division by a count has a node's name of its own.
extern const Op<Tensor(Tensor, Scalar)> over_number;
const Op<Tensor(Tensor, Scalar)> over_number = define<Tensor(Tensor, Scalar)>(
    "_div_number(Tensor self, Scalar other) -> Tensor")
  .doc("A tensor over a number.")
  .node("DivBackward1")
  .forms(Hidden)
  .produce([](const Tensor& self, const Scalar& other) {
    NoGrad quiet;
    return detached(self) / other;
  })
  .grad("self", "grad, other", [](const Tensor& grad, const Scalar& other) {
    return over_number(grad, other);
  });

// A weight per class, laid along the classes of the input.
Tensor along_classes(const Tensor& weight, const Tensor& input) {
  Dims shape(size_t(input.dim()), 1);
  shape[size_t(class_dim(input))] = weight->sizes[0];
  return view(weight, Ints(shape));
}

Tensor cross_entropy_probabilities(const Tensor& self, const Tensor& target, const Tensor& weight,
                                   int64_t reduction, double smoothing) {
  const int64_t dim = class_dim(self), classes = self->sizes[dim];
  check(target.is_floating(), "Expected floating point type for target with class probabilities, "
        "got ", type_name_of(target.dtype()));
  check(!weight || (weight.dim() == 1 && weight.numel() == classes),
        "cross_entropy: weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ",
        weight ? weight.sizes() : Ints());
  const Tensor logp = log_softmax(self, dim);
  Tensor goal = target;
  if (smoothing > 0) goal = target * Scalar(1 - smoothing) + Scalar(smoothing / double(classes));
  Tensor product = logp * goal;
  if (weight) product = product * along_classes(weight, self);
  if (Reduction(reduction) == Reduction::None) return -sum_dim(product, Ints(&dim, 1), false);
  const Tensor total = -sum(product);
  if (Reduction(reduction) == Reduction::Sum) return total;
  return over_number(total, Scalar(double(self.numel()) / double(std::max<int64_t>(classes, 1))));
}

// (1 - e) nll + e / C * (minus the sum of log-probabilities), over the targets that count.
Tensor cross_entropy_smoothed(const Tensor& self, const Tensor& target, const Tensor& weight,
                              int64_t reduction, int64_t ignore, double smoothing) {
  const int64_t dim = class_dim(self), classes = self->sizes[dim];
  const Tensor logp = log_softmax(self, dim);
  const Tensor nll = nll_loss_nd(logp, target, weight, reduction, ignore);
  const Tensor scores = weight ? Tensor(logp * along_classes(weight, self)) : logp;
  // Each row's sum stands at all its classes, so that nll_loss picks it and leaves out ignored
  // rows.
  const Tensor sums = expand(sum_dim(scores, Ints(&dim, 1), true), scores.sizes());
  const bool weighted = weight && Reduction(reduction) == Reduction::Mean;
  Tensor smooth = nll_loss_nd(sums, target, Tensor(),
                              weighted ? int64_t(Reduction::Sum) : reduction, ignore);
  if (weighted) {
    const Tensor ones = expand(full({1}, -1, self.dtype(), self.device()), scores.sizes());
    smooth = smooth / nll_loss_nd(ones, target, detached(weight), int64_t(Reduction::Sum), ignore);
  }
  return nll * Scalar(1 - smoothing) + smooth * Scalar(smoothing / double(classes));
}

}  // namespace

const auto cross_entropy_loss =
    define<Tensor(Tensor, Tensor, Tensor, int64_t, int64_t, double)>(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "int ignore_index=-100, float label_smoothing=0.0) -> Tensor")
  .doc("Cross entropy of logits against class indices, or against class probabilities.")
  .forms(NN)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore, double smoothing) -> Tensor {
    check(smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: ",
          smoothing);
    if (self.sizes() == target.sizes() && self.dim() > 0) {
      check(ignore < 0, "ignore_index is not supported for floating point target");
      return cross_entropy_probabilities(self, target, weight, reduction, smoothing);
    }
    wrap_dim(class_dim(self), self.dim(), false);
    check(self.is_floating() || self.is_meta(), ErrorKind::NotImplemented, "\"log_softmax_",
          self.dim() == class_dim(self) + 1 ? "lastdim_" : "",
          "kernel_impl\" not implemented for '", type_name_of(self.dtype()), "'");
    if (smoothing > 0)
      return cross_entropy_smoothed(self, target, weight, reduction, ignore, smoothing);
    return cross_entropy_indices(self, target, weight, reduction, ignore);
  });

}  // namespace rl::ops
