// CTC: sums over alignments, forward (alpha) and backward (beta), in logarithms.
#include "kernels/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 2048;  // exponentials: less is not worth another thread

// The labels of one sequence with blanks between and around them.
struct Path {
  const int64_t* targets;
  int64_t stride, blank, length;  // length: of the target

  int64_t places() const { return 2 * length + 1; }
  int64_t operator[](int64_t s) const { return s & 1 ? targets[(s / 2) * stride] : blank; }
  // Whether an alignment may go from place s - 2 to s: past a blank between different labels.
  bool skips(int64_t s) const { return s >= 2 && (s & 1) && (*this)[s] != (*this)[s - 2]; }
};

Path path_of(const Ctc& c, int64_t b) {
  return {c.targets + c.starts[b], c.target_stride, c.blank, c.target_lengths[b]};
}

template <class T> constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T> T log_sum(T a, T b, T c) {
  T most = std::max(std::max(a, b), c);
  if (most == kNever<T>) most = 0;
  return std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most)) + most;
}

template <class T> T log_sum(T a, T b) {
  if (a == kNever<T>) return b;
  const T most = std::max(a, b);
  return std::log(std::exp(a - most) + std::exp(b - most)) + most;
}

// One step along the path: ways into each place from the step before.
template <class T> void advance(const Path& path, const T* before, const T* probs, T* now) {
  for (int64_t s = 0; s < path.places(); ++s) {
    const T one = s > 0 ? before[s - 1] : kNever<T>;
    const T two = path.skips(s) ? before[s - 2] : kNever<T>;
    now[s] = log_sum(before[s], one, two) + probs[path[s]];
  }
}

// And against it: beta, ways from each place to the end.
template <class T> void retreat(const Path& path, const T* after, const T* probs, T* now) {
  const int64_t n = path.places();
  for (int64_t s = 0; s < n; ++s) {
    const T one = s + 1 < n ? after[s + 1] : kNever<T>;
    const T two = s + 2 < n && path.skips(s + 2) ? after[s + 2] : kNever<T>;
    now[s] = log_sum(after[s], one, two) + probs[path[s]];
  }
}

template <class T> const T* step_of(const Ctc& c, const T* log_probs, int64_t t, int64_t b) {
  return log_probs + (t * c.batch + b) * c.labels;
}

template <class T> T loss_of(const Ctc& c, const T* log_probs, int64_t b, T* alpha) {
  const Path path = path_of(c, b);
  const int64_t steps = c.input_lengths[b], n = path.places();
  std::fill(alpha, alpha + c.steps * c.width, kNever<T>);
  if (steps == 0) return path.length == 0 ? T(0) : -kNever<T>;
  const T* const first = step_of(c, log_probs, 0, b);
  alpha[0] = first[path[0]];
  if (path.length > 0) alpha[1] = first[path[1]];
  for (int64_t t = 1; t < steps; ++t)
    advance(path, alpha + (t - 1) * c.width, step_of(c, log_probs, t, b), alpha + t * c.width);
  const T* const last = alpha + (steps - 1) * c.width;
  return -log_sum(last[n - 1], path.length > 0 ? last[n - 2] : kNever<T>, kNever<T>);
}

// The gradient is exp(log_probs) less the share of the alignments that emit the label there.
template <class T>
void gradient_of(const Ctc& c, T grad, const T* log_probs, T loss, const T* alpha, int64_t b,
                 T* out) {
  const Path path = path_of(c, b);
  const int64_t steps = c.input_lengths[b], n = path.places();
  std::vector<T> beta(size_t(2 * n), kNever<T>), share(size_t(c.labels));
  T *now = beta.data(), *after = now + n;
  for (int64_t t = steps - 1; t >= 0; --t) {
    const T* const probs = step_of(c, log_probs, t, b);
    if (t == steps - 1) {
      now[n - 1] = probs[path[n - 1]];
      if (path.length > 0) now[n - 2] = probs[path[n - 2]];
    } else {
      std::swap(now, after);
      retreat(path, after, probs, now);
    }
    std::fill(share.begin(), share.end(), kNever<T>);
    for (int64_t s = 0; s < n; ++s) {
      T& label = share[size_t(path[s])];
      label = log_sum(label, alpha[t * c.width + s] + now[s]);
    }
    T* const row = out + (t * c.batch + b) * c.labels;
    for (int64_t k = 0; k < c.labels; ++k)
      row[k] = (std::exp(probs[k]) - std::exp(share[size_t(k)] + loss - probs[k])) * grad;
  }
}

template <class F> void dispatch_wide(DType t, F&& f) {
  if (t == DType::Double) f(double());
  else f(float());
}

template <class F> void over_batch(const Ctc& c, F&& f) {
  const int64_t work = std::max<int64_t>(1, c.steps * c.width * 3);
  parallel_for(0, c.batch, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) f(b);
  });
}

}  // namespace

bool first_bad_label(const Ctc& c, int64_t* label) {
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t k = 0; k < c.target_lengths[b]; ++k) {
      *label = c.targets[c.starts[b] + k * c.target_stride];
      if (uint64_t(*label) >= uint64_t(c.labels)) return true;
    }
  }
  return false;
}

void ctc_loss(const Ctc& c, const void* log_probs, void* loss, void* log_alpha) {
  dispatch_wide(c.dtype, [&](auto number) {
    using T = decltype(number);
    over_batch(c, [&](int64_t b) {
      static_cast<T*>(loss)[b] = loss_of(c, static_cast<const T*>(log_probs), b,
                                         static_cast<T*>(log_alpha) + b * c.steps * c.width);
    });
  });
}

void ctc_loss_backward(const Ctc& c, const void* grad, int64_t grad_stride, const void* log_probs,
                       const void* loss, const void* log_alpha, bool zero_infinity,
                       void* dlog_probs) {
  dispatch_wide(c.dtype, [&](auto number) {
    using T = decltype(number);
    T* const out = static_cast<T*>(dlog_probs);
    std::fill(out, out + c.steps * c.batch * c.labels, T(0));
    over_batch(c, [&](int64_t b) {
      const T nll = static_cast<const T*>(loss)[b];
      if (zero_infinity && nll == std::numeric_limits<T>::infinity()) return;
      gradient_of(c, static_cast<const T*>(grad)[b * grad_stride],
                  static_cast<const T*>(log_probs), nll,
                  static_cast<const T*>(log_alpha) + b * c.steps * c.width, b, out);
    });
  });
}

}  // namespace rl::kernels
