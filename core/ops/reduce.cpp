// The driver of reductions: dimensions sorted and joined, shared out between threads.
#include "ops/reduce.h"

#include <algorithm>
#include <vector>

#include "kernels/cast.h"
#include "kernels/functors/scalar.h"
#include "kernels/vectorised.h"

namespace rl::ops {

uint64_t reduced_mask(const MaybeInts& dims, int64_t rank) {
  if (!dims || dims->empty()) return kAllDims;
  check(rank <= 64, "only tensors with up to 64 dims are supported");
  uint64_t mask = 0;
  for (int64_t d : wrap_dims(*dims, rank)) mask |= uint64_t(1) << d;
  return mask;
}

uint64_t reduced_mask(int64_t dim, int64_t rank) { return uint64_t(1) << wrap_dim(dim, rank); }

Dims reduced_sizes(Ints sizes, uint64_t mask, bool keepdim) {
  Dims r;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(mask >> i & 1)) r.push_back(sizes[i]);
    else if (keepdim) r.push_back(1);
  }
  return r;
}

// An empty tensor's other sizes may be large: their product wraps around, and nothing is read.
using kernels::fn::times;

int64_t reduced_count(Ints sizes, uint64_t mask) {
  int64_t n = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (mask >> i & 1) n = times(n, sizes[i]);
  return n;
}

Tensor spread(const Tensor& t, Ints sizes, uint64_t mask, bool keepdim) {
  if (keepdim || sizes.empty()) return t;
  return reshape(t, reduced_sizes(sizes, mask, true));
}

Tensor keeping_dims(const Tensor& t, Ints sizes, uint64_t mask) {
  Dims kept = reduced_sizes(sizes, mask, true), strides;
  int64_t from = t.dim();
  strides.resize(kept.size());
  for (size_t i = kept.size(); i-- > 0;)
    strides[i] = t.dim() == int64_t(kept.size()) ? t.strides()[i]
               : mask >> i & 1                   ? 1
                                                 : t.strides()[--from];
  return alias(t, kept, strides, t.offset());
}

Tensor rows_of(const Tensor& self, uint64_t mask) {
  Dims sizes, strides, shape;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t d = 0; d < self.dim(); ++d) {
      if ((mask >> d & 1) != uint64_t(pass)) continue;
      sizes.push_back(self.sizes()[d]);
      strides.push_back(self.strides()[d]);
      if (pass == 0) shape.push_back(self.sizes()[d]);
    }
  }
  shape.push_back(reduced_count(self.sizes(), mask));
  Tensor r = alias(self, sizes, strides, self.offset());
  if (!r.is_contiguous()) {
    const Tensor dense = empty(sizes, self.dtype());
    copy_data(dense, r);
    r = dense;
  }
  return alias(r, shape, contiguous_strides(shape), r.offset());
}

Spans::Spans(const Tensor& self, uint64_t mask) : total(self.numel()) {
  const Ints sizes = self.sizes(), strides = self.strides();
  Small<int, 6> dims;
  for (int d = 0; d < int(self.dim()); ++d) {
    if (sizes[d] == 1) continue;
    dims.push_back(d);
    for (size_t i = dims.size() - 1; i > 0 && strides[dims[i - 1]] < strides[d]; --i) {
      std::swap(dims[i], dims[i - 1]);
    }
  }
  const int64_t item = self.element_size();
  for (int d : dims) {
    const bool keeps = !(mask >> d & 1);
    Axes& axes = keeps ? kept : gone;
    if (keeps) {
      ordered &= order.empty() || order.back() < d;
      order.push_back(d);
      results = times(results, sizes[d]);
    }
    if (!axes.empty() && axes.back().in == times(sizes[d], strides[d] * item)) {
      axes.back().size = times(axes.back().size, sizes[d]);
      axes.back().in = strides[d] * item;
    } else {
      axes.push_back({sizes[d], strides[d] * item, 0});
    }
  }
  int64_t step = 1;
  for (size_t i = kept.size(); i-- > 0;) {
    kept[i].out = step;
    step = times(step, kept[i].size);
  }
}

Spans::Inner Spans::take_inner(Axes& kept, Axes& gone, int64_t shortest) {
  Inner r{{1, 0, 0}, {1, 0, 0}, false};
  if (!kept.empty()) {
    r.kept = kept.back();
    kept.pop_back();
  }
  if (gone.empty()) {
    r.columns = r.kept.size > 1;
    return r;
  }
  size_t at = gone.size() - 1;
  r.columns = r.kept.size > 1 && (r.kept.in < gone[at].in ||
                                  (gone[at].size < shortest && r.kept.size > 4 * gone[at].size));
  if (gone[at].size < shortest) {
    for (size_t i = 0; i < gone.size(); ++i)
      if (gone[i].size > gone[at].size) at = i;
  }
  r.gone = gone[at];
  gone.erase(at);
  return r;
}

Dims Spans::strides_for(const Tensor& self, uint64_t mask, Ints sizes) const {
  Dims full;
  full.resize(size_t(self.dim()), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    full[order[i]] = step;
    step = times(step, self.sizes()[order[i]]);
  }
  if (int64_t(sizes.size()) == self.dim()) return full;
  Dims r;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (!(mask >> d & 1)) r.push_back(full[d]);
  return r;
}

int64_t parts_for(int64_t elements) {
  if (elements < 2 * StridedLoop::kGrain || in_parallel_region()) return 1;
  return std::min<int64_t>(num_threads(), elements / StridedLoop::kGrain);
}

namespace {
template <class T, class D> RL_VECTORISED void divide(T* v, int64_t n, D by) {
  for (int64_t i = 0; i < n; ++i) v[i] /= by;
}
}  // namespace

void finish_divide(DType accumulator, char* data, int64_t n, double x) {
  dispatch(accumulator, [&](auto* none) {
    using T = pointee<decltype(none)>;
    T* const v = reinterpret_cast<T*>(data);
    if constexpr (std::is_floating_point_v<T>) {
      divide(v, n, T(x));
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      divide(v, n, typename T::value_type(x));
    }
  });
}

namespace {

class Folder {
 public:
  Folder(Fold fold, DType type, double p)
      : fold_(fold), type_(type), accumulator_(kernels::accumulator_of(fold, type)), p_(p),
        item_(item_size(accumulator_)) {}
  DType accumulator() const { return accumulator_; }
  void begin(char* sums, int64_t n) const { kernels::fold_begin(fold_, accumulator_, sums, n); }

  // Dense elements, one result.
  void row(char* sum, const char* in, int64_t n) const {
    kernels::fold_rows(fold_, type_, sum, in, 1, 0, n, item_size(type_), p_);
  }
  void run(const Spans& s, char* sums, const char* in) const {
    const int64_t parts = parts_for(s.total);
    if (parts < 2) return part(s.kept, s.gone, sums, in);
    const auto kept_part = [&](const Axes& kept, int64_t from, int64_t to) {
      part(kept, s.gone, sums + to * item_, in + from);
    };
    if (split_kept(s, parts, false, kept_part) || split_gone(s, parts, sums, in) ||
        split_kept(s, parts, true, kept_part)) {
      return;
    }
    part(s.kept, s.gone, sums, in);
  }

 private:
  bool split_gone(const Spans& s, int64_t parts, char* sums, const char* in) const {
    size_t at = 0;
    for (size_t i = 1; i < s.gone.size(); ++i)
      if (s.gone[i].size > s.gone[at].size) at = i;
    if (s.gone.empty() || s.gone[at].size < parts) return false;
    const Axis& a = s.gone[at];
    std::vector<Tensor> others;
    for (int64_t q = 1; q < parts; ++q) {
      others.push_back(empty({s.results}, accumulator_));
      begin(others.back().data(), s.results);
    }
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t q = first; q < last; ++q) {
        const int64_t from = a.size * q / parts, to = a.size * (q + 1) / parts;
        Axes gone = s.gone;
        gone[at].size = to - from;
        part(s.kept, gone, q ? others[size_t(q - 1)].data() : sums, in + from * a.in);
      }
    });
    for (const Tensor& other : others) {
      kernels::fold_merge(fold_, accumulator_, sums, other.data(), s.results);
    }
    return true;
  }
  void part(Axes kept, Axes gone, char* sums, const char* in) const {
    const Spans::Inner inner = Spans::take_inner(kept, gone, 8);
    auto fold = [&](int64_t from, int64_t to) {
      outer(inner, gone.data(), gone.size(), 0, gone.empty() ? 1 : gone[0].size, in + from,
            sums + to * item_);
    };
    each(kept.data(), kept.size(), 0, 0, fold);
  }
  // The outer reduced axes are halved down to few steps, which keeps the error of sums small.
  void outer(const Spans::Inner& inner, const Axis* a, size_t n, int64_t begins, int64_t ends,
             const char* in, char* sums) const {
    if (n == 0) return kernel(inner, in, sums);
    constexpr int64_t kFew = 8;
    if (ends - begins > kFew) {
      const int64_t middle = (begins + ends) / 2;
      outer(inner, a, n, begins, middle, in, sums);
      Small<std::complex<double>, 16> other;
      other.resize(size_t(inner.kept.size * item_ + 15) / 16);
      char* const more = reinterpret_cast<char*>(other.data());
      begin(more, inner.kept.size);
      outer(inner, a, n, middle, ends, in, more);
      kernels::fold_merge(fold_, accumulator_, sums, more, inner.kept.size);
      return;
    }
    for (int64_t i = begins; i < ends; ++i) {
      outer(inner, a + 1, n - 1, 0, n > 1 ? a[1].size : 1, in + i * a->in, sums);
    }
  }
  void kernel(const Spans::Inner& inner, const char* in, char* sums) const {
    const Axis &k = inner.kept, &g = inner.gone;
    if (inner.columns) {
      kernels::fold_columns(fold_, type_, sums, in, g.size, g.in, k.size, k.in, p_);
    } else {
      kernels::fold_rows(fold_, type_, sums, in, k.size, k.in, g.size, g.in, p_);
    }
  }

  Fold fold_;
  DType type_, accumulator_;
  double p_;
  int64_t item_;
};

void fold_to_one(const Tensor& out, const Tensor& self, const Folder& folder, Finish finish,
                 double x) {
  alignas(16) char room[16];
  const bool direct = folder.accumulator() == out.dtype();
  char* const sum = direct ? out.data() : room;
  folder.begin(sum, 1);
  if (self.numel() > 0) folder.row(sum, self.data(), self.numel());
  if (finish) finish(folder.accumulator(), sum, 1, x);
  if (!direct) kernels::cast(folder.accumulator(), out.dtype())(out.data(), 0, sum, 0, 1);
}

}  // namespace

void fold_into(const Tensor& out, const Tensor& self, uint64_t mask, Fold fold, double p,
               Finish finish, double x) {
  const Folder folder(fold, self.dtype(), p);
  if (out.numel() == 1 && self.is_contiguous() && self.numel() < 2 * StridedLoop::kGrain) {
    return fold_to_one(out, self, folder, finish, x);
  }
  if (out.numel() == 0) return;
  const Spans s(self, mask);
  const bool direct = s.ordered && folder.accumulator() == out.dtype();
  const Tensor sums = direct ? out : empty({out.numel()}, folder.accumulator());
  folder.begin(sums.data(), out.numel());
  if (self.numel() > 0) folder.run(s, sums.data(), self.data());
  if (finish) finish(folder.accumulator(), sums.data(), out.numel(), x);
  if (!direct) copy_data(out, alias(sums, out.sizes(), s.strides_for(self, mask, out.sizes()), 0));
}

namespace {

void arg_part(const Tensor& self, bool largest, Axes kept, Axes gone, const char* in,
              int64_t* indices) {
  const Spans::Inner inner = Spans::take_inner(kept, gone, 64);
  const Axis &k = inner.kept, &g = inner.gone;
  auto find = [&](int64_t from, int64_t to) {
    const char* x = in + from;
    if (inner.columns) {
      kernels::arg_extreme_columns(self.dtype(), largest, indices + to, x, g.size, g.in, k.size,
                                   k.in);
      return;
    }
    for (int64_t i = 0; i < k.size; ++i) {
      indices[to + i] = kernels::arg_extreme(self.dtype(), largest, x + i * k.in, g.size, g.in);
    }
  };
  each(kept.data(), kept.size(), 0, 0, find);
}

// One result from many elements: each thread finds its own, then the best of those is taken.
int64_t arg_of_dense(const Tensor& self, bool largest) {
  const int64_t n = self.numel(), item = self.element_size(), parts = parts_for(n);
  const DType t = self.dtype();
  if (parts < 2) return kernels::arg_extreme(t, largest, self.data(), n, item);
  Dims found;
  found.resize(size_t(parts));
  parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t q = first; q < last; ++q) {
      const int64_t from = n * q / parts, to = n * (q + 1) / parts;
      found[q] =
          from + kernels::arg_extreme(t, largest, self.data() + from * item, to - from, item);
    }
  });
  const Tensor best = empty({parts}, t);
  for (int64_t q = 0; q < parts; ++q) {
    std::memcpy(best.data() + q * item, self.data() + found[q] * item, size_t(item));
  }
  return found[kernels::arg_extreme(t, largest, best.data(), parts, item)];
}

}  // namespace

void arg_extreme_into(const Tensor& out, const Tensor& self, int64_t dim, bool largest) {
  if (out.numel() == 0) return;
  if (dim < 0) {
    *out.ptr<int64_t>() = arg_of_dense(rows_of(self, kAllDims), largest);
    return;
  }
  const uint64_t mask = uint64_t(1) << dim;
  const Spans s(self, mask);
  const Tensor found = s.ordered ? out : empty({out.numel()}, DType::Int64);
  const auto part = [&](const Axes& kept, int64_t from, int64_t to) {
    arg_part(self, largest, kept, s.gone, self.data() + from, found.ptr<int64_t>() + to);
  };
  const int64_t parts = parts_for(s.total);
  if (parts < 2 || !split_kept(s, parts, true, part)) part(s.kept, 0, 0);
  if (!s.ordered) {
    copy_data(out, alias(found, out.sizes(), s.strides_for(self, mask, out.sizes()), 0));
  }
}

namespace {

void moments_part(DType t, Axes kept, Axes gone, const char* in, double* mean, double* deviation) {
  const Spans::Inner inner = Spans::take_inner(kept, gone, 16);
  const Axis &k = inner.kept, &g = inner.gone;
  auto run = [&](int64_t from, int64_t to) {
    if (inner.columns) {
      kernels::column_moments(t, mean + to, deviation + to, in + from, g.size, g.in, k.size, k.in);
    } else {
      kernels::row_moments(t, mean + to, deviation + to, in + from, k.size, k.in, g.size, g.in);
    }
  };
  each(kept.data(), kept.size(), 0, 0, run);
}

void moments_of_all(double* mean, double* deviation, const Tensor& self) {
  const Tensor sum = empty({}, compute_of(self.dtype()));
  const auto value = [&] {
    return sum.dtype() == DType::Float ? double(*sum.ptr<float>()) : *sum.ptr<double>();
  };
  fold_into(sum, self, kAllDims, Fold::Sum);
  *mean = value() / double(self.numel());
  fold_into(sum, self, kAllDims, Fold::SquaredDeviation, *mean);
  *deviation = value();
}

}  // namespace

void moments(const Tensor& mean, const Tensor& deviation, const Tensor& self, uint64_t mask) {
  if (mean.numel() == 0) return;
  double *m = mean.ptr<double>(), *v = deviation.ptr<double>();
  const Spans s(self, mask);
  if (self.numel() == 0) {
    set_value(mean, std::numeric_limits<double>::quiet_NaN());
    set_zero(deviation);
  } else if (s.results == 1) {
    moments_of_all(m, v, self);
  } else if (s.gone.size() > 1 || !s.ordered) {
    const Tensor rows = rows_of(self, mask);
    moments(mean, deviation, rows, uint64_t(1) << (rows.dim() - 1));
  } else {
    const auto part = [&](const Axes& kept, int64_t from, int64_t to) {
      moments_part(self.dtype(), kept, s.gone, self.data() + from, m + to, v + to);
    };
    const int64_t parts = parts_for(s.total);
    if (parts < 2 || !split_kept(s, parts, true, part)) part(s.kept, 0, 0);
  }
}

}  // namespace rl::ops
