// Anomaly mode: what nodes remember, and the search for NaN.
#include "autograd/anomaly.h"

#include "autograd/meta.h"
#include "ops/ops.h"

namespace rl {

AnomalyHooks anomaly_hooks;
bool anomaly_checks_nan = true;

namespace {

template <class T> bool any_nan(const Tensor& t, int64_t per_item) {
  const T* p = t.ptr<T>();
  for (int64_t i = 0, n = t.numel() * per_item; i < n; ++i)
    if (p[i] != p[i]) return true;
  return false;
}

bool holds_nan(const Tensor& t) {
  if (t.is_meta() || !is_differentiable(t.dtype())) return false;
  NoGrad quiet;
  const bool complex = t.is_complex();
  Tensor plain = ops::contiguous(complex ? ops::resolve_conj(t) : t);
  switch (plain.dtype()) {
    case DType::Float: return any_nan<float>(plain, 1);
    case DType::Double: return any_nan<double>(plain, 1);
    case DType::ComplexFloat: return any_nan<float>(plain, 2);
    case DType::ComplexDouble: return any_nan<double>(plain, 2);
    default: return any_nan<float>(ops::to_dtype(plain, DType::Float), 1);
  }
}

}  // namespace

void remember_origin(Node& node) {
  if (anomaly_hooks.trace) node.anomaly_trace = anomaly_hooks.trace();
  node.anomaly_parent = Ref<Node>::share(current_node());
}

void refuse_nan(const Node& node, const Tensors& made) {
  if (!anomaly_checks_nan) return;
  for (size_t i = 0; i < made.size(); ++i) {
    check(!made[i] || !holds_nan(made[i]), "Function '", node.name(),
          "' returned nan values in its ", int64_t(i), "th output.");
  }
}

}  // namespace rl
