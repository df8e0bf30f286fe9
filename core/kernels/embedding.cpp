// Embedding: rows gathered in parallel; gradients shared out by ranges of the table.
#include "kernels/embedding.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "kernels/levels/rows.h"
#include "kernels/row_buffers.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 16384;  // elements: less is not worth another thread

int64_t grain_of(int64_t row) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(row, 1)); }

// Calls f with the indices as a typed pointer.
template <class F> decltype(auto) with_indices(const Indices& index, F&& f) {
  if (index.dtype == DType::Int32) return f(static_cast<const int32_t*>(index.data));
  return f(static_cast<const int64_t*>(index.data));
}

std::vector<int64_t> as_int64(const Indices& index) {
  return with_indices(index, [&](auto* at) {
    return std::vector<int64_t>(at, at + index.count);
  });
}

// y += a * x, rounding to T after each row as PyTorch does.
template <class T> void accumulate(const T* x, ComputeOf<T> a, T* y, int64_t n) {
  if constexpr (std::is_same_v<T, ComputeOf<T>>) {
    const auto& loops = row_loops<T>();
    if (a == T(1)) loops.add(x, y, n);
    else loops.add_scaled(x, a, y, n);
  } else {
    for (int64_t i = 0; i < n; ++i) narrow(widen(y[i]) + a * widen(x[i]), y[i]);
  }
}

// Adds factor(i) * source(i), a row, to the row of the table that each index names. A thread owns a
// range of the table and looks at every index.
template <class T, class Source, class Factor>
void scatter_rows(const std::vector<int64_t>& index, int64_t rows, int64_t dim,
                  int64_t padding_idx, T* table, Source&& source, Factor&& factor) {
  const int64_t work = int64_t(index.size()) * dim + rows * dim / 4;
  const int64_t grain = work < kGrain ? rows : grain_of(dim);
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    std::fill(table + begin * dim, table + end * dim, T{});
    for (size_t i = 0; i < index.size(); ++i)
      if (index[i] >= begin && index[i] < end && index[i] != padding_idx)
        accumulate(source(i), factor(i), table + index[i] * dim, dim);
  });
}

std::vector<int64_t> frequencies(const std::vector<int64_t>& index, int64_t rows) {
  std::vector<int64_t> counts(static_cast<size_t>(rows));
  for (int64_t i : index) ++counts[size_t(i)];
  return counts;
}

int64_t bag_end(const Bags& b, int64_t k) {
  return k + 1 < b.bags ? b.offsets[k + 1] : b.index.count;
}

std::vector<int64_t> bag_of_each(const Bags& b) {
  std::vector<int64_t> bag(static_cast<size_t>(b.index.count));
  for (int64_t k = 0; k < b.bags; ++k)
    for (int64_t i = b.offsets[k]; i < bag_end(b, k); ++i) bag[size_t(i)] = k;
  return bag;
}

// Calls for a row some indices ahead: no CPU foresees where the next ones lie.
template <class T, class Index>
inline void foresee(const T* table, const Index* index, int64_t i, int64_t end, int64_t dim) {
  constexpr int64_t kAhead = 8, kMost = 512;
  if (i + kAhead >= end) return;
  const char* const row = reinterpret_cast<const char*>(table + index[i + kAhead] * dim);
  const int64_t bytes = std::min<int64_t>(dim * int64_t(sizeof(T)), kMost);
  for (int64_t k = 0; k < bytes; k += 64) __builtin_prefetch(row + k);
}

// One bag by sum or mean, accumulated in `acc`.
template <class T, class Index>
int64_t add_bag(const Bags& b, const T* table, const Index* index, int64_t k,
                ComputeOf<T>* acc, RowIn<T>& in) {
  using C = ComputeOf<T>;
  constexpr int64_t kMany = std::is_same_v<T, C> ? 16 : 1;  // halves have room for one row
  const auto& loops = row_loops<C>();
  std::fill(acc, acc + b.dim, C(0));
  const C* rows[kMany];
  int64_t size = 0, gathered = 0;
  for (int64_t i = b.offsets[k]; i < bag_end(b, k); ++i) {
    foresee(table, index, i, b.index.count, b.dim);
    if (index[i] == b.padding_idx) continue;
    ++size;
    const C* const row = in(table + index[i] * b.dim, b.dim);
    if (b.weights) {
      loops.add_scaled(row, widen(static_cast<const T*>(b.weights)[i]), acc, b.dim);
      continue;
    }
    rows[gathered++] = row;
    if (gathered < kMany) continue;
    loops.add_many(rows, gathered, acc, b.dim);
    gathered = 0;
  }
  loops.add_many(rows, gathered, acc, b.dim);
  if (b.mode == BagMode::Mean && size) loops.divide(acc, C(size), b.dim);
  return size;
}

template <class T, class Index>
int64_t max_bag(const Bags& b, const T* table, const Index* index, int64_t k, T* out,
                int64_t* from) {
  std::fill(out, out + b.dim, T{});
  std::fill(from, from + b.dim, int64_t(-1));
  int64_t size = 0;
  for (int64_t i = b.offsets[k]; i < bag_end(b, k); ++i) {
    foresee(table, index, i, b.index.count, b.dim);
    if (index[i] == b.padding_idx) continue;
    const T* const row = table + index[i] * b.dim;
    for (int64_t d = 0; d < b.dim; ++d)
      if (size == 0 || widen(row[d]) > widen(out[d])) {
        out[d] = row[d];
        from[d] = index[i];
      }
    ++size;
  }
  return size;
}

// The p-norm of a row, rounded to the precision that the table has.
template <class T> double row_norm(const T* row, int64_t dim, double p) {
  const auto size_of = [&](int64_t i) {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      return double(std::abs(row[i]));
    else return std::abs(double(widen(row[i])));
  };
  double sum = p < 0 && std::isinf(p) ? HUGE_VAL : 0;
  for (int64_t i = 0; i < dim; ++i) {
    const double v = size_of(i);
    if (p == 2) sum += v * v;
    else if (p == 1) sum += v;
    else if (p == 0) sum += v != 0;
    else if (std::isinf(p)) sum = p > 0 ? std::fmax(sum, v) : std::fmin(sum, v);
    else sum += std::pow(v, p);
  }
  const double norm = p == 2 ? std::sqrt(sum) : p == 0 || p == 1 || std::isinf(p)
                             ? sum : std::pow(sum, 1 / p);
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
    return norm;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    T rounded;
    narrow(float(norm), rounded);
    return double(widen(rounded));
  } else {
    return double(float(norm));
  }
}

template <class T> void scale_row(T* row, int64_t dim, double scale) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    for (int64_t i = 0; i < dim; ++i) row[i] *= float(scale);
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    for (int64_t i = 0; i < dim; ++i) row[i] *= scale;
  } else {
    for (int64_t i = 0; i < dim; ++i) narrow(widen(row[i]) * ComputeOf<T>(scale), row[i]);
  }
}

}  // namespace

int64_t first_bad_index(const Indices& index, int64_t rows) {
  return with_indices(index, [&](auto* at) -> int64_t {
    for (int64_t i = 0; i < index.count; ++i)
      if (uint64_t(int64_t(at[i])) >= uint64_t(rows)) return i;
    return -1;
  });
}

void embedding(const void* table, int64_t row_bytes, int64_t step, const Indices& index,
               void* out) {
  constexpr int64_t kLine = 64;  // bytes
  const char* from = static_cast<const char*>(table);
  const int64_t called = std::min<int64_t>(row_bytes, 8 * kLine);  // the CPU foresees the rest
  const int64_t ahead = std::clamp<int64_t>(4096 / std::max<int64_t>(row_bytes, 1), 8, 32);  // rows
  with_indices(index, [&](auto* at) {
    parallel_for(0, index.count, grain_of(row_bytes / 4), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const char* next = from + int64_t(at[std::min(i + ahead, end - 1)]) * step;
        for (int64_t b = 0; b < called; b += kLine) __builtin_prefetch(next + b, 0, 2);
        std::memcpy(static_cast<char*>(out) + i * row_bytes, from + int64_t(at[i]) * step,
                    size_t(row_bytes));
      }
    });
  });
}

void embedding_backward(DType t, const void* grad, const Indices& index, int64_t rows, int64_t dim,
                        int64_t padding_idx, bool scale_by_freq, void* dtable) {
  const std::vector<int64_t> at = as_int64(index);
  const std::vector<int64_t> counts =
      scale_by_freq ? frequencies(at, rows) : std::vector<int64_t>();
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    scatter_rows(
        at, rows, dim, padding_idx, static_cast<T*>(dtable),
        [&](size_t i) { return static_cast<const T*>(grad) + int64_t(i) * dim; },
        [&](size_t i) { return scale_by_freq ? C(1) / C(counts[size_t(at[i])]) : C(1); });
  });
}

void embedding_bag(const Bags& b, const void* table, void* out, int64_t* bag_size,
                   int64_t* max_index) {
  dispatch_floating(b.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    with_indices(b.index, [&](auto* index) {
      const int64_t per_bag = b.dim * (b.index.count / std::max<int64_t>(1, b.bags) + 1);
      parallel_for(0, b.bags, grain_of(per_bag), [&](int64_t begin, int64_t end) {
        RowIn<T> in(b.dim);
        RowOut<T> result(b.dim);
        for (int64_t k = begin; k < end; ++k) {
          T* const row = static_cast<T*>(out) + k * b.dim;
          const T* const rows = static_cast<const T*>(table);
          if (b.mode == BagMode::Max) {
            bag_size[k] = max_bag(b, rows, index, k, row, max_index + k * b.dim);
            continue;
          }
          bag_size[k] = add_bag(b, rows, index, k, result.target(row), in);
          result.commit(row, b.dim);
        }
      });
    });
  });
}

void embedding_bag_backward(const Bags& b, const void* grad, const int64_t* bag_size,
                            const int64_t* max_index, void* dtable) {
  const std::vector<int64_t> at = as_int64(b.index);
  const std::vector<int64_t> bag = bag_of_each(b);
  const std::vector<int64_t> counts =
      b.scale_by_freq ? frequencies(at, b.rows) : std::vector<int64_t>();
  dispatch_floating(b.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const T* const g = static_cast<const T*>(grad);
    T* const out = static_cast<T*>(dtable);
    if (b.mode == BagMode::Max) {
      std::fill(out, out + b.rows * b.dim, T{});
      for (int64_t k = 0; k < b.bags * b.dim; ++k) {
        if (max_index[k] < 0) continue;
        T& hit = out[max_index[k] * b.dim + k % b.dim];
        narrow(widen(hit) + widen(g[k]), hit);
      }
      return;
    }
    scatter_rows(
        at, b.rows, b.dim, b.padding_idx, out,
        [&](size_t i) { return g + bag[i] * b.dim; },
        [&](size_t i) {
          C factor = b.weights ? widen(static_cast<const T*>(b.weights)[i]) : C(1);
          if (b.mode == BagMode::Mean) factor /= C(bag_size[bag[i]]);
          if (b.scale_by_freq) factor /= C(counts[size_t(at[i])]);
          return factor;
        });
  });
}

void embedding_bag_weights_backward(const Bags& b, const void* grad, const void* table,
                                    void* dweights) {
  const std::vector<int64_t> at = as_int64(b.index);
  const std::vector<int64_t> bag = bag_of_each(b);
  dispatch_floating(b.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    parallel_for(0, b.index.count, grain_of(b.dim), [&](int64_t begin, int64_t end) {
      RowIn<T> in_grad(b.dim), in_row(b.dim);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = at[size_t(i)];
        const C dot = row == b.padding_idx ? C(0) : row_loops<C>().dot(
            in_grad(static_cast<const T*>(grad) + bag[size_t(i)] * b.dim, b.dim),
            in_row(static_cast<const T*>(table) + row * b.dim, b.dim), b.dim);
        narrow(dot, static_cast<T*>(dweights)[i]);
      }
    });
  });
}

void embedding_renorm(DType t, void* table, int64_t rows, int64_t dim, const Indices& index,
                      double max_norm, double norm_type) {
  std::vector<int64_t> at = as_int64(index);
  for (int64_t& i : at) i += i < 0 ? rows : 0;
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  const auto scale_rows = [&](auto* p) {
    using T = pointee<decltype(p)>;
    parallel_for(0, int64_t(at.size()), grain_of(dim), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        T* const row = static_cast<T*>(table) + at[size_t(k)] * dim;
        const double norm = row_norm(row, dim, norm_type);
        if (norm > max_norm) scale_row(row, dim, max_norm / (norm + 1e-7));
      }
    });
  };
  if (t == DType::ComplexFloat) scale_rows(static_cast<std::complex<float>*>(nullptr));
  else if (t == DType::ComplexDouble) scale_rows(static_cast<std::complex<double>*>(nullptr));
  else dispatch_floating(t, scale_rows);
}

}  // namespace rl::kernels
