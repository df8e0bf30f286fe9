// Loops over elements at indexed places, shared out among threads where writes cannot meet.
#include "ops/places.h"

#include <atomic>

#include "kernels/embedding.h"
#include "kernels/streaming.h"
#include "ops/ops.h"

namespace rl::ops {
namespace {

constexpr int64_t kItem = int64_t(sizeof(int64_t));

// The first, in memory, of the indices that threads note.
class First {
 public:
  void note(const char* index) {
    const auto* here = reinterpret_cast<const int64_t*>(index);
    const int64_t* before = found_.load();
    while ((!before || here < before) && !found_.compare_exchange_weak(before, here)) {}
  }
  MaybeInt value() const {
    const int64_t* p = found_.load();
    return p ? MaybeInt(*p) : std::nullopt;
  }

 private:
  std::atomic<const int64_t*> found_{nullptr};
};

// Runs f(places, values) over parts of the shape that write to different memory: pieces of the
// longest dimension along which the data itself moves.
template <class F> void share_out(const Places& p, const Tensor& values, F&& f) {
  const Dims places = broadcast_strides(p.places.sizes(), p.places.strides(), p.shape);
  const Dims from = broadcast_strides(values.sizes(), values.strides(), p.shape);
  int64_t longest = -1;
  for (size_t d = 0; d < p.shape.size(); ++d)
    if (p.strides[d] != 0 && (longest < 0 || p.shape[d] > p.shape[size_t(longest)]))
      longest = int64_t(d);
  const auto part = [&](int64_t begin, int64_t end) {
    Dims shape = p.shape;
    char *data = p.data.data(), *index = p.places.data(), *in = values.data();
    if (longest >= 0) {
      shape[size_t(longest)] = end - begin;
      data += begin * p.strides[size_t(longest)] * p.data.element_size();
      index += begin * places[size_t(longest)] * kItem;
      in += begin * from[size_t(longest)] * values.element_size();
    }
    StridedLoop over(shape);
    // Rows of places come before rows of memory, so that equal places are met in row order.
    over.add(in, from, values.element_size());
    over.add(index, places, kItem);
    over.add(data, p.strides, p.data.element_size());
    over.prepare();
    over.run(f, INT64_MAX);
  };
  const int64_t total = numel_of(p.shape);
  if (total == 0) return;
  const int64_t extent = longest < 0 ? 1 : p.shape[size_t(longest)];
  const int64_t inner = std::max<int64_t>(1, total / extent);
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / inner);
  parallel_for(0, extent, grain, part);
}

// Rows of dense memory at dense places, as embedding reads them: the last dimensions move in the
// data alone, those before in the places alone.
bool read_rows(const Tensor& result, const Places& p) {
  constexpr int64_t kLeast = 64;  // bytes of a row
  int64_t row = 1, count = 1;
  size_t d = p.shape.size();
  for (; d > 0 && (p.places.strides()[d - 1] == 0 || p.shape[d - 1] == 1); --d) {
    if (p.strides[d - 1] != row && p.shape[d - 1] != 1) return false;
    row *= p.shape[d - 1];
  }
  for (; d > 0; --d) {
    const int64_t n = p.shape[d - 1];
    if (n != 1 && (p.strides[d - 1] != 0 || p.places.strides()[d - 1] != count)) return false;
    count *= n;
  }
  const int64_t bytes = row * result.element_size();
  if (bytes < kLeast || !result.is_contiguous()) return false;
  kernels::embedding(p.data.data(), bytes, p.step, {DType::Int64, p.places.data(), count},
                     result.data());
  return true;
}

}  // namespace

void read_places(const Tensor& result, const Places& p) {
  if (read_rows(result, p)) return;
  StridedLoop over(p.shape);
  over.add(result);
  over.add(p.data.data(), p.strides, p.data.element_size());
  over.add(p.places);
  over.prepare();
  const int64_t size = result.element_size();
  over.run([&](char* const* at, const int64_t* s, int64_t n) {
    kernels::gather_items(at[0], s[0], at[1], s[1], at[2], s[2], p.step, n, size);
  });
}

MaybeInt read_checked(const Tensor& result, const Places& p, int64_t low,
                                    int64_t high) {
  constexpr int64_t kRun = 1024;  // indices that are still in the nearest cache when read again
  StridedLoop over(p.shape);
  over.add(result);
  over.add(p.data.data(), p.strides, p.data.element_size());
  over.add(p.places);
  over.prepare();
  const int64_t size = result.element_size(), row = (high - low) * p.step;
  const bool large = kernels::worth_streaming(
      result.numel() * (size + int64_t(sizeof(int64_t))) + p.data.numel() * size);
  First bad;
  const auto read = [&](char* const* at, const int64_t* s, int64_t n) {
    const bool dense = s[0] == size && s[1] == 0 && s[2] == kItem && p.step == size && low == 0;
    if (dense && kernels::gather_row(at[0], at[1], high, reinterpret_cast<const int64_t*>(at[2]), n,
                                     size))
      return;
    const int64_t wrong = kernels::first_outside(at[2], s[2], s[2] ? n : 1, low, high);
    if (wrong >= 0) return bad.note(at[2] + wrong * s[2]);
    kernels::gather_items(at[0], s[0], at[1], s[1], at[2], s[2], p.step, n, size);
  };
  over.run([&](char* const* at, const int64_t* s, int64_t n) {
    // A dense row that is read all over: the CPU does not foresee where, so the next is called for.
    const bool all_over = p.step == size && s[1] == 0 && n * 64 >= row;
    for (int64_t i = 0; i < n; i += kRun) {
      const int64_t m = std::min(kRun, n - i);
      char* from[3] = {at[0] + i * s[0], at[1] + i * s[1], at[2] + i * s[2]};
      if (all_over) {
        const char* const next = at[1] + row;
        for (int64_t b = row * i / n; b < row * (i + m) / n; b += 64) {
          __builtin_prefetch(next + b, 0, 2);
        }
      }
      if (large && s[0] == size) kernels::in_streamed_tiles(read, 2, from, s, m);
      else read(from, s, m);
    }
  });
  return bad.value();
}

void write_places(const Places& p, const Tensor& values) {
  const int64_t size = p.data.element_size();
  share_out(p, values, [&](char* const* at, const int64_t* s, int64_t n) {
    kernels::scatter_items(at[2], s[2], at[0], s[0], at[1], s[1], p.step, n, size);
  });
}

void combine_places(const Places& p, const Tensor& values, kernels::Combine how) {
  const DType dtype = p.data.dtype();
  share_out(p, values, [&](char* const* at, const int64_t* s, int64_t n) {
    kernels::combine_items(how, dtype, at[2], s[2], at[0], s[0], at[1], s[1], p.step, n);
  });
}

Nonzero find_nonzero(const Tensor& dense) {
  const int64_t n = dense.numel(), size = dense.element_size();
  const int64_t chunks = (n + Nonzero::kChunk - 1) / Nonzero::kChunk;
  Nonzero found;
  found.starts.resize(size_t(chunks) + 1);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * Nonzero::kChunk, length = std::min(Nonzero::kChunk, n - first);
      found.starts[size_t(c) + 1] =
          kernels::count_nonzero(dense.dtype(), dense.data() + first * size, size, length);
    }
  });
  for (int64_t c = 0; c < chunks; ++c) found.starts[size_t(c) + 1] += found.starts[size_t(c)];
  return found;
}

Tensor positions_of(const Tensor& dense, const Nonzero& found) {
  const Tensor at = empty({found.total()}, DType::Int64);
  const int64_t size = dense.element_size(), chunks = int64_t(found.starts.size()) - 1;
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * Nonzero::kChunk;
      kernels::list_nonzero(dense.dtype(), dense.data() + first * size, size, found.count(c), first,
                            at.ptr<int64_t>() + found.starts[size_t(c)]);
    }
  });
  return at;
}

MaybeInt outside(const Tensor& index, int64_t low, int64_t high) {
  StridedLoop over(index.sizes());
  over.add(index);
  over.prepare();
  First found;
  over.run([&](char* const* at, const int64_t* s, int64_t n) {
    const int64_t i = kernels::first_outside(at[0], s[0], n, low, high);
    if (i >= 0) found.note(at[0] + i * s[0]);
  });
  return found.value();
}

Tensor without_negatives(const Tensor& index, int64_t size) {
  if (!outside(index, 0, INT64_MAX)) return index;
  const Tensor positive = empty(index.sizes(), DType::Int64);
  StridedLoop over(index.sizes());
  over.add(positive);
  over.add(index);
  over.prepare();
  over.run([&](char* const* at, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t v = *reinterpret_cast<const int64_t*>(at[1] + i * s[1]);
      *reinterpret_cast<int64_t*>(at[0] + i * s[0]) = v < 0 ? v + size : v;
    }
  });
  return positive;
}

}  // namespace rl::ops
