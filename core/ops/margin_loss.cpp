// multi_margin_loss and multilabel_margin_loss: hinge losses over classes.
#include "kernels/margin.h"

#include "ops/dense.h"
#include "ops/random.h"

namespace rl::ops {
namespace {

using kernels::MarginLoss;
using kernels::Reduction;
using Two = std::pair<Tensor, Tensor>;

int64_t rows_of(const Tensor& self) { return self.dim() == 2 ? self->sizes[0] : 1; }
int64_t classes_of(const Tensor& self) { return self.dim() ? self->sizes[self.dim() - 1] : 1; }

MarginLoss margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  MarginLoss m{};
  m.dtype = self.dtype();
  m.rows = rows_of(self);
  m.classes = classes_of(self);
  m.target = target.ptr<int64_t>();
  m.reduction = Reduction(reduction);
  return m;
}

void check_scores(const Tensor& self) {
  check(self.dim() == 0 || (self.dim() <= 2 && classes_of(self) > 0),
        "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
        self.sizes());
}

void check_dtypes(const char* kernel, const Tensor& self, const Tensor& target) {
  if (self.is_meta()) return;
  const DType t = self.dtype();
  if (t != DType::Float && t != DType::Double) not_for(kernel, t);
  check(target.dtype() == DType::Int64, "expected scalar type Long but found ",
        type_name_of(target.dtype()));
}

// ---- One right class

void check_multi(const Tensor& self, const Tensor& target, const Scalar& p, const Tensor& weight) {
  check(p.to_double() == 1 || p.to_double() == 2, "only p == 1 and p == 2 supported");
  check_scores(self);
  const int64_t rows = rows_of(self), classes = classes_of(self);
  check(target.dim() <= 1 && target.numel() == rows, "multi_margin_loss: target tensor should be "
        "1-D with size equal to the number of input samples (batch size). Expected target size [",
        rows, "], but got ", target.sizes(), ". Input has shape ", self.sizes(), ".");
  check(!weight || (weight.dim() <= 1 && weight.numel() == classes),
        "inconsistent weight size, expected ", classes, " but got ",
        weight ? weight.sizes() : Ints());
  check_dtypes("multi_margin_loss_cpu_kernel", self, target);
  check(!weight || weight.dtype() == self.dtype(), "expected scalar type ",
        type_name_of(self.dtype()), " but found ", weight ? type_name_of(weight.dtype()) : "");
}

struct MultiCall {
  Tensor scores, index, weight;
  MarginLoss loss;

  MultiCall(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
            const Tensor& w, int64_t reduction)
      : scores(dense(self)), index(dense(target)), weight(dense(w)),
        loss(margin_loss(self, index, reduction)) {
    loss.squared = p.to_double() == 2;
    loss.margin = margin.to_double();
    loss.weight = data_or_null(weight);
    check(!bad_margin_target(loss, false), "target out of range");
  }
};

}  // namespace

const auto multi_margin_loss_backward =
    define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar, Tensor, int64_t)>(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, "
    "Scalar margin, Tensor? weight=None, int reduction=Mean) -> Tensor")
  .doc("The gradient of `multi_margin_loss`.")
  .forms(Hidden)
  .no_derivative("derivative for aten::multi_margin_loss_backward is not implemented")
  .infer([](Infer& r, const Tensor& grad, const Tensor& self, const Tensor& target,
            const Scalar& p, const Scalar&, const Tensor& weight, int64_t reduction) {
    check_multi(self, target, p, weight);
    check(grad.dtype() == self.dtype(), "expected scalar type ", type_name_of(self.dtype()),
          " but found ", type_name_of(grad.dtype()));
    const bool each = Reduction(reduction) == Reduction::None && target.dim() > 0;
    check(grad.numel() == (each ? target.numel() : 1), "expected a gradient per loss");
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& self, const Tensor& target,
             const Scalar& p, const Scalar& margin, const Tensor& weight, int64_t reduction) {
    const MultiCall call(self, target, p, margin, weight, reduction);
    const Tensor g = dense(grad);
    kernels::multi_margin_loss_backward(call.loss, g.data(), call.scores.data(), result.data());
  });

const auto multi_margin_loss =
    define<Tensor(Tensor, Tensor, Scalar, Scalar, Tensor, int64_t)>(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
    "Tensor? weight=None, int reduction=Mean) -> Tensor")
  .doc("Per row, the mean over classes of max(0, margin - x[target] + x[class]) ** p.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .exact_out()
  .infer([](Infer& r, const Tensor& self, const Tensor& target, const Scalar& p, const Scalar&,
            const Tensor& weight, int64_t reduction) {
    check_multi(self, target, p, weight);
    const bool each = Reduction(reduction) == Reduction::None && target.dim() > 0;
    r.result(each ? target.sizes() : Ints(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& target, const Scalar& p,
             const Scalar& margin, const Tensor& weight, int64_t reduction) {
    const MultiCall call(self, target, p, margin, weight, reduction);
    kernels::multi_margin_loss(call.loss, call.scores.data(), result.data());
  })
  .grad("self", "grad, self, target, p, margin, weight, reduction",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, const Scalar& p,
           const Scalar& margin, const Tensor& weight, int64_t reduction) {
    return multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction);
  });

// ---- Several labels

namespace {

void check_multilabel(const Tensor& self, const Tensor& target) {
  check_scores(self);
  const bool fits = self.dim() == 2 ? target.sizes() == self.sizes()
                                    : target.dim() <= 1 && target.numel() == classes_of(self);
  check(fits, "inconsistent target size: ", target.sizes(), " for input of size: ", self.sizes());
  check_dtypes("multilabel_margin_loss_forward_out_frame", self, target);
}

MarginLoss checked_labels(const Tensor& self, const Tensor& target, int64_t reduction) {
  const MarginLoss m = margin_loss(self, target, reduction);
  check(!bad_margin_target(m, true), "argument #2 'target' is out of range");
  return m;
}

}  // namespace

const auto multilabel_margin_loss_backward =
    define<Tensor(Tensor, Tensor, Tensor, int64_t, Tensor)>(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, "
    "int reduction, Tensor is_target) -> Tensor")
  .doc("The gradient of `multilabel_margin_loss`.")
  .forms(Hidden)
  .no_derivative("derivative for aten::multilabel_margin_loss_backward is not implemented")
  .infer([](Infer& r, const Tensor& grad, const Tensor& self, const Tensor& target,
            int64_t reduction, const Tensor& is_target) {
    check_multilabel(self, target);
    check(grad.dtype() == self.dtype() && is_target.dtype() == self.dtype(), "expected one dtype");
    check(is_target.sizes() == target.sizes(), "inconsistent is_target size: ", is_target.sizes(),
          " for target of size: ", target.sizes());
    const bool each = Reduction(reduction) == Reduction::None && self.dim() == 2;
    check(grad.numel() == (each ? self->sizes[0] : 1), "expected a gradient per loss");
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& self, const Tensor& target,
             int64_t reduction, const Tensor& is_target) {
    const Tensor g = dense(grad), scores = dense(self), index = dense(target);
    const Tensor marks = dense(is_target);
    kernels::multilabel_margin_loss_backward(checked_labels(scores, index, reduction), g.data(),
                                             scores.data(), marks.data(), result.data());
  });

const auto multilabel_margin_loss_forward = define<Two(Tensor, Tensor, int64_t)>(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) "
    "-> (Tensor output, Tensor is_target)")
  .doc("`multilabel_margin_loss`, and ones at the labels of each row.")
  .node("MultilabelMarginLossBackward0")
  .nondiff("is_target")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& self, const Tensor& target, int64_t reduction) {
    check_multilabel(self, target);
    const bool each = Reduction(reduction) == Reduction::None && self.dim() == 2;
    r.result(each ? Ints{self->sizes[0]} : Ints(), self.dtype(), self.device());
    r.result(target.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& output, Tensor& is_target, const Tensor& self, const Tensor& target,
             int64_t reduction) {
    const Tensor scores = dense(self), index = dense(target);
    kernels::multilabel_margin_loss(checked_labels(scores, index, reduction), scores.data(),
                                    output.data(), is_target.data());
  })
  .grad("self", "grad.output, self, target, reduction, is_target",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
           const Tensor& is_target) {
    return multilabel_margin_loss_backward(grad, self, target, reduction, is_target);
  });

const auto multilabel_margin_loss = define<Tensor(Tensor, Tensor, int64_t)>(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")
  .doc("Per row, the mean over classes of max(0, 1 - x[label] + x[other]), summed over the labels; "
       "-1 ends a row of labels.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& target, int64_t reduction) {
    return std::get<0>(multilabel_margin_loss_forward(self, target, reduction));
  });

}  // namespace rl::ops
