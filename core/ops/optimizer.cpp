// Optimizer steps over lists of tensors: one op call per group of parameters.
#include <vector>

#include "kernels/optimizer.h"
#include "ops/ops.h"

namespace rl::ops {
namespace {

using kernels::StepItem;
using Lists = std::initializer_list<TensorList>;

// A state list that an optimizer's options leave out is empty.
void check_lists(TensorList params, TensorList grads, Lists states, TensorList steps) {
  check(grads.size() == params.size(), "expected as many gradients as parameters, but got ",
        int64_t(grads.size()), " and ", int64_t(params.size()));
  for (const TensorList& s : states)
    check(s.empty() || s.size() == params.size(), "expected a state for each parameter, but got ",
          int64_t(s.size()), " states and ", int64_t(params.size()), " parameters");
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    check(is_differentiable(p.dtype()), "optimizer steps need floating point or complex "
          "parameters, but got ", name_of(p.dtype()));
    check(grads[i].sizes() == p.sizes(), "the gradient of a parameter of size ", p.sizes(),
          " has size ", grads[i].sizes());
    if (!p.is_contiguous()) refuse_internal_overlap(p);
    for (const TensorList& s : states) {
      if (s.empty()) continue;
      check(s[i].sizes() == p.sizes(), "the state of a parameter of size ", p.sizes(),
            " has size ", s[i].sizes());
      if (!s[i].is_contiguous()) refuse_internal_overlap(s[i]);
    }
  }
  for (const Tensor& s : steps)
    check(s.numel() == 1 && !s.is_complex(), "a step count has one real element");
}

// A number that a 0-d tensor keeps between steps.
double read_number(const Tensor& t) {
  return t.dtype() == DType::Float ? double(*t.ptr<float>()) : item_of(t).to_double();
}

// The parameters of a step as flat arrays of float or double. Tensors that are not so laid out,
// halves among them, go through copies that are written back at the end.
class Flattened {
 public:
  Flattened(TensorList params, TensorList grads, Lists states, TensorList steps,
            TensorList products = {}, const kernels::AdamOptions* nadam = nullptr) {
    for (size_t i = 0; i < params.size(); ++i) {
      const Tensor& p = params[i];
      if (p.is_meta()) continue;
      StepItem item{};
      const Layout layout(p);
      item.size = p.numel() * (p.is_complex() ? 2 : 1);
      item.param = array(p, layout, true);
      item.grad = array(grads[i], layout, false);
      int k = 0;
      for (const TensorList& s : states) {
        if (!s.empty()) item.state[k] = array(s[i], layout, true);
        ++k;
      }
      item.step = steps.empty() ? 1 : advance(steps[i], read_number(steps[i]) + 1);
      if (nadam) {
        const double factor = kernels::nadam_factor(item.step, *nadam);
        const double before = read_number(products[i]);
        item.product = advance(products[i], products[i].dtype() == DType::Double
                                                ? before * factor
                                                : double(float(before) * float(factor)));
      }
      (real_of(layout.dtype) == DType::Double ? doubles_ : floats_).push_back(item);
    }
  }

  template <class Step> void run(Step&& step) {
    if (!floats_.empty()) step(DType::Float, floats_.data(), int64_t(floats_.size()));
    if (!doubles_.empty()) step(DType::Double, doubles_.data(), int64_t(doubles_.size()));
    for (const auto& [target, copy] : copies_)
      if (target) copy_data(target, copy);
  }

 private:
  // What the arrays of one parameter have in common: the parameter's own layout if it is dense.
  struct Layout {
    explicit Layout(const Tensor& p) {
      const bool twice = real_of(p.dtype()) == DType::Double;
      dtype = twice ? DType::Double : DType::Float;
      if (p.is_complex()) dtype = complex_of(dtype);
      contiguous = p.is_contiguous() || !is_dense(p.sizes(), p.strides());
      if (!contiguous) strides = Dims(p.strides());
    }
    bool fits(const Tensor& t) const {
      return t.dtype() == dtype && !t.is_conj() && !t.is_negative() &&
             (contiguous ? t.is_contiguous() : t.strides() == Ints(strides));
    }
    DType dtype;
    bool contiguous;
    Dims strides;
  };

  void* array(const Tensor& t, const Layout& layout, bool written) {
    if (layout.fits(t)) return t.data();
    const Tensor copy = layout.contiguous ? empty(t.sizes(), layout.dtype)
                                          : empty_strided(t.sizes(), layout.strides, layout.dtype);
    copy_data(copy, t);
    copies_.push_back({written ? t : Tensor(), copy});
    return copy.data();
  }

  static double advance(const Tensor& t, double value) {
    if (t.dtype() == DType::Float) *t.ptr<float>() = float(value);
    else copy_data(t, scalar_tensor(value, DType::Double));
    return value;
  }

  Small<StepItem, 16> floats_, doubles_;
  std::vector<std::pair<Tensor, Tensor>> copies_;  // where to write back (or nowhere), the copy
};

}  // namespace

const auto sgd_step = define<void(TensorList, TensorList, TensorList, double, double, double,
                                  double, bool, bool, bool)>(
    "_sgd_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] momentum_buffers, float lr, "
    "float momentum, float dampening, float weight_decay, bool nesterov, bool maximize, "
    "bool first) -> ()")
  .doc(R"(
    One step of SGD over lists of tensors. `first` says that the buffers are fresh: they become
    the gradients. Without momentum their list is empty.
  )")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& buffers,
            double, double, double, double, bool, bool, bool) {
    check_lists(params, grads, {buffers}, {});
  })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& buffers,
             double lr, double momentum, double dampening, double weight_decay, bool nesterov,
             bool maximize, bool first) {
    Flattened lists(params, grads, {buffers}, {});
    lists.run([&](DType t, StepItem* items, int64_t n) {
      for (int64_t i = 0; i < n; ++i) items[i].step = first ? 1 : 2;
      kernels::sgd_step(t, items, n,
                        {lr, momentum, dampening, weight_decay, nesterov, maximize});
    });
  });

const auto adam_step = define<void(TensorList, TensorList, TensorList, TensorList, TensorList,
                                   TensorList, double, double, double, double, double, bool, bool,
                                   bool)>(
    "_adam_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, "
    "Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] steps, float lr, "
    "float beta1, float beta2, float eps, float weight_decay, bool amsgrad, bool maximize, "
    "bool decoupled) -> ()")
  .doc("One step of Adam, or AdamW if `decoupled`, over lists of tensors; advances the steps.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& avgs,
            const TensorList& sqs, const TensorList& maxima, const TensorList& steps, double,
            double, double, double, double, bool amsgrad, bool, bool) {
    check_lists(params, grads, {avgs, sqs, maxima}, steps);
    check(!amsgrad || maxima.size() == params.size(), "amsgrad needs max_exp_avg_sqs");
  })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& avgs,
             const TensorList& sqs, const TensorList& maxima, const TensorList& steps, double lr,
             double beta1, double beta2, double eps, double weight_decay, bool amsgrad,
             bool maximize, bool decoupled) {
    const kernels::AdamOptions o{lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled};
    Flattened lists(params, grads, {avgs, sqs, maxima}, steps);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::adam_step(t, items, n, o);
    });
  });

const auto nadam_step = define<void(TensorList, TensorList, TensorList, TensorList, TensorList,
                                    TensorList, double, double, double, double, double, double,
                                    bool, bool)>(
    "_nadam_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, "
    "Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] mu_products, Tensor(e!)[] steps, float lr, "
    "float beta1, float beta2, float eps, float weight_decay, float momentum_decay, "
    "bool maximize, bool decoupled) -> ()")
  .doc("One step of NAdam over lists of tensors; advances the steps and momentum products.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& avgs,
            const TensorList& sqs, const TensorList& products, const TensorList& steps, double,
            double, double, double, double, double, bool, bool) {
    check_lists(params, grads, {avgs, sqs}, steps);
    check_lists({}, {}, {}, products);
  })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& avgs,
             const TensorList& sqs, const TensorList& products, const TensorList& steps, double lr,
             double beta1, double beta2, double eps, double weight_decay, double momentum_decay,
             bool maximize, bool decoupled) {
    const kernels::AdamOptions o{lr,    beta1,    beta2,     eps,           weight_decay,
                                 false, maximize, decoupled, momentum_decay};
    Flattened lists(params, grads, {avgs, sqs}, steps, products, &o);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::nadam_step(t, items, n, o);
    });
  });

const auto radam_step = define<void(TensorList, TensorList, TensorList, TensorList, TensorList,
                                    double, double, double, double, double, bool, bool)>(
    "_radam_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, "
    "Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] steps, float lr, float beta1, float beta2, float eps, "
    "float weight_decay, bool maximize, bool decoupled) -> ()")
  .doc("One step of RAdam over lists of tensors; advances the steps.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& avgs,
            const TensorList& sqs, const TensorList& steps, double, double, double, double, double,
            bool, bool) { check_lists(params, grads, {avgs, sqs}, steps); })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& avgs,
             const TensorList& sqs, const TensorList& steps, double lr, double beta1, double beta2,
             double eps, double weight_decay, bool maximize, bool decoupled) {
    const kernels::AdamOptions o{lr, beta1, beta2, eps, weight_decay, false, maximize, decoupled};
    Flattened lists(params, grads, {avgs, sqs}, steps);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::radam_step(t, items, n, o);
    });
  });

const auto adamax_step = define<void(TensorList, TensorList, TensorList, TensorList, TensorList,
                                     double, double, double, double, double, bool)>(
    "_adamax_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, "
    "Tensor(c!)[] exp_infs, Tensor(d!)[] steps, float lr, float beta1, float beta2, float eps, "
    "float weight_decay, bool maximize) -> ()")
  .doc("One step of Adamax over lists of tensors; advances the steps.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& avgs,
            const TensorList& infs, const TensorList& steps, double, double, double, double,
            double, bool) { check_lists(params, grads, {avgs, infs}, steps); })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& avgs,
             const TensorList& infs, const TensorList& steps, double lr, double beta1,
             double beta2, double eps, double weight_decay, bool maximize) {
    const kernels::AdamOptions o{lr, beta1, beta2, eps, weight_decay, false, maximize};
    Flattened lists(params, grads, {avgs, infs}, steps);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::adamax_step(t, items, n, o);
    });
  });

const auto adagrad_step = define<void(TensorList, TensorList, TensorList, TensorList, double,
                                      double, double, double, bool)>(
    "_adagrad_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] sums, Tensor(c!)[] steps, "
    "float lr, float lr_decay, float weight_decay, float eps, bool maximize) -> ()")
  .doc("One step of Adagrad over lists of tensors; advances the steps.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& sums,
            const TensorList& steps, double, double, double, double, bool) {
    check_lists(params, grads, {sums}, steps);
  })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& sums,
             const TensorList& steps, double lr, double lr_decay, double weight_decay, double eps,
             bool maximize) {
    Flattened lists(params, grads, {sums}, steps);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::adagrad_step(t, items, n, {lr, lr_decay, weight_decay, eps, maximize});
    });
  });

const auto adadelta_step = define<void(TensorList, TensorList, TensorList, TensorList, TensorList,
                                       double, double, double, double, bool)>(
    "_adadelta_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] square_avgs, "
    "Tensor(c!)[] acc_deltas, Tensor(d!)[] steps, float lr, float rho, float eps, "
    "float weight_decay, bool maximize) -> ()")
  .doc("One step of Adadelta over lists of tensors; advances the steps.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& squares,
            const TensorList& deltas, const TensorList& steps, double, double, double, double,
            bool) { check_lists(params, grads, {squares, deltas}, steps); })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& squares,
             const TensorList& deltas, const TensorList& steps, double lr, double rho, double eps,
             double weight_decay, bool maximize) {
    Flattened lists(params, grads, {squares, deltas}, steps);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::adadelta_step(t, items, n, {lr, rho, eps, weight_decay, maximize});
    });
  });

const auto rmsprop_step = define<void(TensorList, TensorList, TensorList, TensorList, TensorList,
                                      TensorList, double, double, double, double, double, bool,
                                      bool)>(
    "_rmsprop_step(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] square_avgs, "
    "Tensor(c!)[] grad_avgs, Tensor(d!)[] momentum_buffers, Tensor(e!)[] steps, float lr, "
    "float alpha, float eps, float weight_decay, float momentum, bool centered, "
    "bool maximize) -> ()")
  .doc(R"(
    One step of RMSprop over lists of tensors; advances the steps. Without `centered` the list of
    mean gradients is empty, without momentum that of buffers.
  )")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& params, const TensorList& grads, const TensorList& squares,
            const TensorList& means, const TensorList& buffers, const TensorList& steps, double,
            double, double, double, double, bool centered, bool) {
    check_lists(params, grads, {squares, means, buffers}, steps);
    check(!centered || means.size() == params.size(), "centered needs grad_avgs");
  })
  .effect([](const TensorList& params, const TensorList& grads, const TensorList& squares,
             const TensorList& means, const TensorList& buffers, const TensorList& steps,
             double lr, double alpha, double eps, double weight_decay, double momentum,
             bool centered, bool maximize) {
    Flattened lists(params, grads, {squares, means, buffers}, steps);
    lists.run([&](DType t, const StepItem* items, int64_t n) {
      kernels::rmsprop_step(t, items, n,
                            {lr, alpha, eps, weight_decay, momentum, centered, maximize});
    });
  });

}  // namespace rl::ops
