// Counting and finding: by sorting, by bisection, by proportion.
#include "kernels/counting.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/parallel.h"
#include "kernels/sort_keys.h"
#include "kernels/sorting.h"

namespace rl::kernels {
namespace {

template <class T> bool differ(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return to_float(a) != to_float(b);
  } else {
    return element(a) != element(b);
  }
}

template <class T> auto number(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else return v;
}

// Groups n elements whose neighbours `starts(i)` tells apart. at(i): the element's own place.
template <class Starts, class Place>
int64_t group(int64_t n, Starts starts, Place place, int64_t* first, int64_t* inverse,
              int64_t* counts) {
  int64_t groups = 0, begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || starts(i)) {
      if (counts && i > 0) counts[groups - 1] = i - begin;
      begin = i;
      first[groups++] = place(i);
    }
    if (inverse) inverse[place(i)] = groups - 1;
  }
  if (counts && n > 0) counts[groups - 1] = n - begin;
  return groups;
}

// The place among `size` boundaries, seen through `at`; comparisons as PyTorch's, so that NaN
// compares false and goes to the end.
template <bool kRight, class T, class At> int64_t place_of(At at, int64_t size, T value) {
  int64_t begin = 0;
  while (size > 0) {
    const int64_t half = size / 2;
    const auto middle = at(begin + half);
    const bool on = kRight ? !(middle > value) : !(middle >= value);
    begin = on ? begin + half + 1 : begin;
    size = on ? size - half - 1 : half;
  }
  return begin;
}

template <class T, bool kRight> void search_all(const Search& s, void* result) {
  const auto* input = static_cast<const T*>(s.input);
  parallel_for(0, s.rows * s.width, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t offset = s.shared ? 0 : i / s.width * s.size;
      const T* bounds = static_cast<const T*>(s.boundaries) + offset;
      const auto value = number(input[i]);
      int64_t place;
      if (s.sorter) {
        const int64_t* sorter = s.sorter + offset;
        place = place_of<kRight>([&](int64_t j) { return number(bounds[sorter[j]]); }, s.size,
                                 value);
      } else {
        place = place_of<kRight>([&](int64_t j) { return number(bounds[j]); }, s.size, value);
      }
      if (s.narrow) static_cast<int32_t*>(result)[i] = int32_t(place);
      else static_cast<int64_t*>(result)[i] = place;
    }
  });
}

template <class F> void dispatch_integral(DType t, F&& f) {
  switch (t) {
    case DType::UInt8: return f(static_cast<uint8_t*>(nullptr));
    case DType::Int8: return f(static_cast<int8_t*>(nullptr));
    case DType::Int16: return f(static_cast<int16_t*>(nullptr));
    case DType::Int32: return f(static_cast<int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<int64_t*>(nullptr));
    default: return;
  }
}

template <class S, class Weight>
void count_into(const void* input, DType dtype, int64_t n, int64_t bins, S* sums, Weight weight) {
  std::fill(sums, sums + bins, S(0));
  dispatch_integral(dtype, [&](auto* p) {
    const auto* values = static_cast<const pointee<decltype(p)>*>(input);
    for (int64_t i = 0; i < n; ++i) sums[values[i]] += weight(i);
  });
}

// Arithmetic of T, each step rounded to it: halves are not computed in float throughout.
template <class T, class V> auto rounded(V v) {
  if constexpr (std::is_same_v<T, Half>) return to_float(to_half(v));
  else if constexpr (std::is_same_v<T, BFloat16>) return to_float(to_bfloat16(v));
  else return T(v);
}

template <class T> struct Axis {
  const T* edges;
  int64_t bins;
  decltype(number(T())) left, right;

  // The bin, or -1 outside.
  int64_t bin_of(decltype(number(T())) v, Binning binning) const {
    if (!(v >= left && v <= right)) return -1;
    int64_t bin;
    if (binning == Binning::Search) {
      bin = last_not_above(0, bins + 1, v);
    } else {
      using W = decltype(v);
      const W width = rounded<T>(W(right - left));
      bin = int64_t(rounded<T>(W(rounded<T>(W(rounded<T>(W(v - left)) * W(bins))) / width)));
      if (binning == Binning::Corrected) {
        bin = last_not_above(std::max<int64_t>(0, bin - 1), std::min(bin + 2, bins + 1), v);
      }
    }
    return bin == bins ? bin - 1 : bin;
  }
  int64_t last_not_above(int64_t begin, int64_t end, decltype(number(T())) v) const {
    return begin - 1 +
           place_of<true>([&](int64_t j) { return number(edges[begin + j]); }, end - begin, v);
  }
};

template <class T> void fill_histogram(const Histogram& h, void* result) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::unique_ptr<Axis<T>[]> axes(new Axis<T>[size_t(h.dims)]);
  int64_t total = 1;
  for (int d = 0; d < h.dims; ++d) {
    const T* edges = static_cast<const T*>(h.edges[d]);
    axes[d] = {edges, h.bins[d], number(edges[0]), number(edges[h.bins[d]])};
    total *= h.bins[d];
  }
  std::unique_ptr<double[]> sums(new double[size_t(total)]());
  std::unique_ptr<Sum[]> weighted(h.weights ? new Sum[size_t(total)]() : nullptr);
  const T* points = static_cast<const T*>(h.points);
  const T* weights = static_cast<const T*>(h.weights);
  for (int64_t i = 0; i < h.n; ++i) {
    int64_t place = 0;
    for (int d = 0; d < h.dims && place >= 0; ++d) {
      const int64_t bin = axes[d].bin_of(number(points[i * h.dims + d]), h.binning);
      place = bin < 0 ? -1 : place * h.bins[d] + bin;
    }
    if (place < 0) continue;
    if (weights) weighted[place] += Sum(number(weights[i]));
    else sums[place] += 1;
  }
  T* out = static_cast<T*>(result);
  for (int64_t i = 0; i < total; ++i) {
    const double v = weights ? double(weighted[i]) : sums[i];
    if constexpr (std::is_same_v<T, Half>) out[i] = to_half(float(v));
    else if constexpr (std::is_same_v<T, BFloat16>) out[i] = to_bfloat16(float(v));
    else out[i] = T(v);
  }
}

}  // namespace

int64_t unique(const void* input, DType dtype, int64_t n, void* values, int64_t* inverse,
               int64_t* counts) {
  int64_t groups = 0;
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    T* sorted = static_cast<T*>(values);
    std::unique_ptr<int64_t[]> order(new int64_t[size_t(2 * n)]);
    int64_t* first = order.get() + n;
    sort(input, dtype, 1, n, false, false, sorted, order.get());
    groups = group(n, [&](int64_t i) { return differ(sorted[i], sorted[i - 1]); },
                   [&](int64_t i) { return order[i]; }, first, inverse, counts);
    const T* x = static_cast<const T*>(input);
    for (int64_t g = 0; g < groups; ++g) sorted[g] = element(x[first[g]]);
  });
  return groups;
}

int64_t unique_consecutive(const void* input, DType dtype, int64_t n, void* values,
                           int64_t* inverse, int64_t* counts) {
  int64_t groups = 0;
  dispatch(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const T* x = static_cast<const T*>(input);
    std::unique_ptr<int64_t[]> first(new int64_t[size_t(n)]);
    groups = group(n, [&](int64_t i) { return differ(x[i], x[i - 1]); },
                   [](int64_t i) { return i; }, first.get(), inverse, counts);
    for (int64_t g = 0; g < groups; ++g) static_cast<T*>(values)[g] = element(x[first[g]]);
  });
  return groups;
}

int64_t unique_rows(const void* input, DType dtype, int64_t rows, int64_t size, int64_t* first,
                    int64_t* inverse, int64_t* counts) {
  int64_t groups = 0;
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using K = KeyOf<T>;
    std::unique_ptr<K[]> keys(new K[size_t(rows * size)]);
    make_keys(static_cast<const T*>(input), rows * size, K(0), keys.get());
    std::unique_ptr<int64_t[]> order(new int64_t[size_t(rows)]);
    std::iota(order.get(), order.get() + rows, int64_t(0));
    std::stable_sort(order.get(), order.get() + rows, [&](int64_t a, int64_t b) {
      const K* x = keys.get() + a * size;
      const K* y = keys.get() + b * size;
      return std::lexicographical_compare(x, x + size, y, y + size);
    });
    const T* x = static_cast<const T*>(input);
    const auto starts = [&](int64_t i) {
      for (int64_t j = 0; j < size; ++j) {
        if (differ(x[order[i] * size + j], x[order[i - 1] * size + j])) return true;
      }
      return false;
    };
    groups = group(rows, starts, [&](int64_t i) { return order[i]; }, first, inverse, counts);
  });
  return groups;
}

void searchsorted(const Search& s, void* result) {
  dispatch_sortable(s.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if (s.right) search_all<T, true>(s, result);
    else search_all<T, false>(s, result);
  });
}

int64_t bincount_size(const void* input, DType dtype, int64_t n) {
  int64_t size = 0;
  dispatch_integral(dtype, [&](auto* p) {
    const auto* values = static_cast<const pointee<decltype(p)>*>(input);
    for (int64_t i = 0; i < n && size >= 0; ++i) {
      size = values[i] < 0 ? -1 : std::max<int64_t>(size, int64_t(values[i]) + 1);
    }
  });
  return size;
}

void bincount(const void* input, DType dtype, int64_t n, int64_t bins, int64_t* counts) {
  count_into(input, dtype, n, bins, counts, [](int64_t) { return 1; });
}
void bincount(const void* input, DType dtype, int64_t n, int64_t bins, const float* weights,
              float* sums) {
  count_into(input, dtype, n, bins, sums, [&](int64_t i) { return weights[i]; });
}
void bincount(const void* input, DType dtype, int64_t n, int64_t bins, const double* weights,
              double* sums) {
  count_into(input, dtype, n, bins, sums, [&](int64_t i) { return weights[i]; });
}

void histogram(const Histogram& h, void* result) {
  switch (h.dtype) {
    case DType::Half: return fill_histogram<Half>(h, result);
    case DType::BFloat16: return fill_histogram<BFloat16>(h, result);
    case DType::Float: return fill_histogram<float>(h, result);
    case DType::Double: return fill_histogram<double>(h, result);
    default: return;
  }
}

}  // namespace rl::kernels
