// Losses over class indices: one pass over the targets, sums in double.
#include "kernels/loss.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/levels/rows.h"
#include "kernels/row_buffers.h"
#include "kernels/softmax.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 8192;  // elements: less is not worth another thread

int64_t at(const ClassLoss& l, int64_t b, int64_t c, int64_t s) {
  return (b * l.classes + c) * l.area + s;
}

template <class T> double weight_of(const ClassLoss& l, int64_t c) {
  return l.weight ? double(widen(static_cast<const T*>(l.weight)[c])) : 1.0;
}

// -sum over classes of weight * log-probability, at one position: the smoothing term.
template <class T> double smooth_term(const ClassLoss& l, const T* scores, int64_t b, int64_t s) {
  if constexpr (std::is_same_v<T, ComputeOf<T>>) {
    if (l.area == 1) {
      const T* const row = scores + b * l.classes;
      const auto& loops = row_loops<T>();
      return -double(l.weight ? loops.dot(row, static_cast<const T*>(l.weight), l.classes)
                              : loops.sum(row, l.classes));
    }
  }
  double sum = 0;
  for (int64_t c = 0; c < l.classes; ++c)
    sum -= weight_of<T>(l, c) * double(widen(scores[at(l, b, c, s)]));
  return sum;
}

// The loss at one position, before any reduction.
template <class T> double term_at(const ClassLoss& l, const T* scores, int64_t position) {
  const int64_t target = l.target[position];
  if (target == l.ignore_index) return 0;
  const int64_t b = position / l.area, s = position % l.area;
  const double keep = 1 - l.smoothing, share = l.smoothing / double(l.classes);
  double term = -keep * weight_of<T>(l, target) * double(widen(scores[at(l, b, target, s)]));
  if (l.smoothing > 0) term += share * smooth_term(l, scores, b, s);
  return term;
}

template <class T>
void reduce_loss(const ClassLoss& l, const T* scores, T* out, T* total_weight) {
  const int64_t n = l.batch * l.area;
  std::vector<double> terms(static_cast<size_t>(n));
  const int64_t work = l.smoothing > 0 ? l.classes : 1;
  parallel_for(0, n, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) terms[size_t(i)] = term_at(l, scores, i);
  });
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += terms[size_t(i)];
    if (l.target[i] != l.ignore_index) weights += weight_of<T>(l, l.target[i]);
    if (l.reduction == Reduction::None) narrow(ComputeOf<T>(terms[size_t(i)]), out[i]);
  }
  if (l.reduction == Reduction::Mean) sum /= weights;
  if (l.reduction != Reduction::None) narrow(ComputeOf<T>(sum), *out);
  narrow(ComputeOf<T>(weights), *total_weight);
}

// The gradient with respect to the log-probabilities of one batch entry.
template <class T>
void fill_gradient(const ClassLoss& l, const T* grad, double denominator, int64_t b, T* out) {
  using C = ComputeOf<T>;
  T* const slab = out + b * l.classes * l.area;
  std::fill(slab, slab + l.classes * l.area, T{});
  const double keep = 1 - l.smoothing, share = l.smoothing / double(l.classes);
  for (int64_t s = 0; s < l.area; ++s) {
    const int64_t position = b * l.area + s, target = l.target[position];
    if (target == l.ignore_index) continue;
    const double g = double(widen(l.reduction == Reduction::None ? grad[position] : grad[0])) /
                     denominator;
    if (l.smoothing > 0)
      for (int64_t c = 0; c < l.classes; ++c)
        narrow(C(-g * share * weight_of<T>(l, c)), slab[c * l.area + s]);
    T& hit = slab[target * l.area + s];
    narrow(C(double(widen(hit)) - g * keep * weight_of<T>(l, target)), hit);
  }
}

template <class Each> void over_batch(const ClassLoss& l, Each&& each) {
  const int64_t slab = std::max<int64_t>(1, l.classes * l.area);
  parallel_for(0, l.batch, std::max<int64_t>(1, kGrain / slab), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) each(b);
  });
}

template <class T> double denominator_of(const ClassLoss& l, const void* total_weight) {
  if (l.reduction != Reduction::Mean) return 1;
  return double(widen(*static_cast<const T*>(total_weight)));
}

}  // namespace

int64_t first_bad_target(const ClassLoss& l) {
  const int64_t n = l.batch * l.area;
  for (int64_t i = 0; i < n; ++i)
    if (uint64_t(l.target[i]) >= uint64_t(l.classes) && l.target[i] != l.ignore_index) return i;
  return -1;
}

void nll_loss(const ClassLoss& l, const void* log_probs, void* out, void* total_weight) {
  dispatch_floating(l.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    reduce_loss(l, static_cast<const T*>(log_probs), static_cast<T*>(out),
                static_cast<T*>(total_weight));
  });
}

void cross_entropy(const ClassLoss& l, const void* logits, void* log_probs, void* out,
                   void* total_weight) {
  log_softmax(l.dtype, logits, log_probs, l.batch, l.classes, l.area);
  nll_loss(l, log_probs, out, total_weight);
}

void nll_loss_backward(const ClassLoss& l, const void* grad, const void* total_weight,
                       void* dlog_probs) {
  dispatch_floating(l.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const double denominator = denominator_of<T>(l, total_weight);
    over_batch(l, [&](int64_t b) {
      fill_gradient(l, static_cast<const T*>(grad), denominator, b, static_cast<T*>(dlog_probs));
    });
  });
}

void cross_entropy_backward(const ClassLoss& l, const void* grad, const void* log_probs,
                            const void* total_weight, void* dlogits) {
  dispatch_floating(l.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const double denominator = denominator_of<T>(l, total_weight);
    T* const out = static_cast<T*>(dlogits);
    const int64_t slab = l.classes * l.area;
    over_batch(l, [&](int64_t b) {
      fill_gradient(l, static_cast<const T*>(grad), denominator, b, out);
      log_softmax_backward(l.dtype, out + b * slab, static_cast<const T*>(log_probs) + b * slab,
                           out + b * slab, 1, l.classes, l.area);
    });
  });
}

}  // namespace rl::kernels
