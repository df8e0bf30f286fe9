// Rows sorted by digits of integer keys; short ones by comparison.
#include "kernels/sorting.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/sort_keys.h"

namespace rl::kernels {
namespace {

// An element under way: its key, made unsigned and counted from the row's least, and its index.
struct Narrow {
  uint64_t word;  // key in the upper half: ordered by key, then index
  Narrow() = default;
  Narrow(uint64_t key, int64_t index) : word(key << 32 | uint64_t(index)) {}
  uint64_t key() const { return word >> 32; }
  int64_t index() const { return int64_t(word & 0xffffffffu); }
  bool operator<(const Narrow& o) const { return word < o.word; }
};
struct Wide {
  uint64_t high;
  int64_t place;
  Wide() = default;
  Wide(uint64_t key, int64_t index) : high(key), place(index) {}
  uint64_t key() const { return high; }
  int64_t index() const { return place; }
  bool operator<(const Wide& o) const {
    return high != o.high ? high < o.high : place < o.place;
  }
};

constexpr int64_t kInserted = 16;       // the library's unstable sort is stable up to here
constexpr int64_t kShortRow = 32;
constexpr int64_t kByComparison = 64;  // below, comparing beats counting digits
constexpr int64_t kThreadedRow = 1 << 16;
constexpr int64_t kBlock = 512;
constexpr int64_t kMoved = 4096;        // elements whose keys are made, or put in place, at once
constexpr int64_t kStretch = 1 << 20;   // between two looks whether the user wants to stop

// f(i) for each in [begin, end), with a look now and then.
template <class F> void in_stretches(int64_t begin, int64_t end, F&& f) {
  for (int64_t i = begin; i < end;) {
    for (const int64_t last = std::min(end, i + kStretch); i < last; ++i) f(i);
    if (i < end) poll_interrupt();
  }
}

// Memory that the rows of one thread share.
struct Scratch {
  std::unique_ptr<char[]> memory;
  size_t size = 0;
  template <class E> E* get(int64_t n) {
    const size_t need = size_t(n) * sizeof(E);
    if (need > size) {
      memory.reset(new char[need]);
      size = need;
    }
    return reinterpret_cast<E*>(memory.get());
  }
};

template <class E>
void count_digits(const E* from, int64_t n, int shift, int digit, int64_t* count) {
  const uint64_t mask = (uint64_t(1) << digit) - 1;
  std::fill(count, count + mask + 1, 0);
  in_stretches(0, n, [&](int64_t i) { ++count[(from[i].key() >> shift) & mask]; });
}

// Counts of all digits in one go: increments of different tables need not wait for each other.
template <int kPasses, class E>
void count_all(const E* from, int64_t n, int digit, int64_t* counts) {
  const uint64_t mask = (uint64_t(1) << digit) - 1;
  std::fill(counts, counts + (kPasses << digit), 0);
  in_stretches(0, n, [&](int64_t i) {
    uint64_t key = from[i].key();
#pragma GCC unroll 8
    for (int p = 0; p < kPasses; ++p, key >>= digit) ++counts[(key & mask) + (p << digit)];
  });
}

// From counts (parts x buckets) to the places where each part's elements of a bucket begin.
void counts_to_places(int64_t* counts, int64_t buckets, int parts) {
  int64_t place = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    for (int t = 0; t < parts; ++t) {
      const int64_t c = counts[t * buckets + b];
      counts[t * buckets + b] = place;
      place += c;
    }
  }
}

template <class E>
void scatter(const E* from, E* to, int64_t n, int shift, int digit, int64_t* place) {
  const uint64_t mask = (uint64_t(1) << digit) - 1;
  in_stretches(0, n, [&](int64_t i) { to[place[(from[i].key() >> shift) & mask]++] = from[i]; });
}

struct Digits { int passes, width; };
Digits digits_for(int64_t n, int bits) {
  const int widest = n < 8192 ? 8 : 11;  // 2,048 buckets have to pay
  const int passes = (bits + widest - 1) / widest;
  return {passes, (bits + passes - 1) / passes};
}

// Sorts by key, equal keys in the order they come; the result lies in a or in b.
template <class E> E* sort_by_digits(E* a, E* b, int64_t n, int bits) {
  const auto [passes, width] = digits_for(n, bits);
  std::unique_ptr<int64_t[]> counts(new int64_t[size_t(passes) << width]);
  constexpr void (*kCount[])(const E*, int64_t, int, int64_t*) = {
      count_all<1, E>, count_all<2, E>, count_all<3, E>, count_all<4, E>,
      count_all<5, E>, count_all<6, E>, count_all<7, E>, count_all<8, E>};
  kCount[passes - 1](a, n, width, counts.get());
  for (int p = 0; p < passes; ++p) {
    int64_t* places = counts.get() + (int64_t(p) << width);
    counts_to_places(places, int64_t(1) << width, 1);
    scatter(a, b, n, p * width, width, places);
    std::swap(a, b);
  }
  return a;
}

// The same with a stretch of the row for each of several threads.
template <class E> E* sort_by_digits_threaded(E* a, E* b, int64_t n, int bits, int parts) {
  const auto [passes, width] = digits_for(n, bits);
  std::unique_ptr<int64_t[]> counts(new int64_t[size_t(parts) << width]);
  const auto each_part = [&](auto&& f) {
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t t = first; t < last; ++t) {
        f(n * t / parts, n * (t + 1) / parts, counts.get() + (t << width));
      }
    });
  };
  for (int p = 0; p < passes; ++p) {
    const int shift = p * width, digit = width;
    each_part([&](int64_t begin, int64_t end, int64_t* count) {
      count_digits(a + begin, end - begin, shift, digit, count);
    });
    counts_to_places(counts.get(), int64_t(1) << width, parts);
    each_part([&](int64_t begin, int64_t end, int64_t* places) {
      scatter(a + begin, b, end - begin, shift, digit, places);
    });
    std::swap(a, b);
  }
  return a;
}

int bits_of(uint64_t v) { return v == 0 ? 0 : 64 - __builtin_clzll(v); }

template <class T> struct Row {
  const T* input;
  int64_t n;
  KeyOf<T> flip;
  T* values;
  int64_t* indices;

  void put(int64_t i, KeyOf<T> flipped_key, int64_t index) const {
    indices[i] = index;
    if (values && !value_of<T>(flipped_key ^ flip, values + i)) values[i] = input[index];
  }
};

// The same comparisons and moves as PyTorch's sort of pairs, hence the same order of equals.
template <class T> void replay_unstable(const Row<T>& row, Scratch& scratch) {
  using K = KeyOf<T>;
  Entry<K>* entries = scratch.get<Entry<K>>(row.n);
  for (int64_t i = 0; i < row.n; ++i) entries[i] = {K(key_of(row.input[i]) ^ row.flip), i};
  std::sort(entries, entries + row.n);
  for (int64_t i = 0; i < row.n; ++i) row.put(i, entries[i].key, entries[i].index);
}

template <class K> struct Bounds { K low, high; };

template <class T> Bounds<KeyOf<T>> bounds_of(const Row<T>& row, int parts) {
  using K = KeyOf<T>;
  std::unique_ptr<Bounds<K>[]> found(new Bounds<K>[size_t(parts)]);
  parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const int64_t begin = row.n * t / parts, end = row.n * (t + 1) / parts;
      K low = std::numeric_limits<K>::max(), high = std::numeric_limits<K>::min(), keys[kBlock];
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t m = std::min(kBlock, end - i);
        make_keys(row.input + i, m, row.flip, keys);
        low = std::min(low, least(keys, m));
        high = std::max(high, greatest(keys, m));
        if ((i - begin) % kStretch == 0) poll_interrupt();
      }
      found[t] = {low, high};
    }
  });
  for (int t = 1; t < parts; ++t) {
    found[0].low = std::min(found[0].low, found[t].low);
    found[0].high = std::max(found[0].high, found[t].high);
  }
  return found[0];
}

template <class E> bool any_equal(const E* sorted, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    if (sorted[i].key() == sorted[i - 1].key()) return true;
  }
  return false;
}

// A few elements, by insertion.
template <class T, class E>
void sort_short_row(const Row<T>& row, bool stable, Scratch& scratch) {
  using K = KeyOf<T>;
  using U = std::make_unsigned_t<K>;
  constexpr U kLow = U(std::numeric_limits<K>::min());
  E entries[kShortRow];
  for (int64_t i = 0; i < row.n; ++i) {
    const E entry(U(U(key_of(row.input[i]) ^ row.flip) - kLow), i);
    int64_t j = i;
    for (; j > 0 && entry < entries[j - 1]; --j) entries[j] = entries[j - 1];
    entries[j] = entry;
  }
  if (!stable && row.n > kInserted && any_equal(entries, row.n)) {
    return replay_unstable(row, scratch);
  }
  for (int64_t i = 0; i < row.n; ++i) {
    row.put(i, K(U(entries[i].key()) + kLow), entries[i].index());
  }
}

template <class T, class E>
void sort_row(const Row<T>& row, bool stable, int parts, Scratch& scratch) {
  using K = KeyOf<T>;
  using U = std::make_unsigned_t<K>;
  const int64_t n = row.n;
  if (n <= kShortRow) return sort_short_row<T, E>(row, stable, scratch);
  // The indices' own memory serves as one of two rooms where an entry is as large as an index.
  constexpr bool kShared = sizeof(E) == sizeof(int64_t);
  E* a = scratch.get<E>(kShared ? n : 2 * n);
  E* b = kShared ? reinterpret_cast<E*>(row.indices) : a + n;
  const Bounds<K> bounds = bounds_of(row, parts);
  const U low = U(bounds.low);
  const int bits = bits_of(U(U(bounds.high) - low));
  parallel_for(0, n, kMoved, [&](int64_t begin, int64_t end) {
    K keys[kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t m = std::min(kBlock, end - i);
      make_keys(row.input + i, m, row.flip, keys);
      for (int64_t j = 0; j < m; ++j) a[i + j] = E(U(U(keys[j]) - low), i + j);
    }
  });
  const E* sorted = a;
  if (n < kByComparison) std::sort(a, a + n);
  else if (bits > 0 && parts > 1) sorted = sort_by_digits_threaded(a, b, n, bits, parts);
  else if (bits > 0) sorted = sort_by_digits(a, b, n, bits);
  if (!stable && n < kReplayedSort && any_equal(sorted, n)) {
    return replay_unstable(row, scratch);
  }
  parallel_for(0, n, kMoved, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const E entry = sorted[i];  // may lie where put writes
      row.put(i, K(U(entry.key()) + low), entry.index());
    }
  });
}

}  // namespace

void sort(const void* input, DType dtype, int64_t rows, int64_t size, bool descending, bool stable,
          void* values, int64_t* indices) {
  if (size == 0) return;
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const KeyOf<T> flip = descending ? -1 : 0;
    const auto one = [&](int64_t r, int parts, Scratch& scratch) {
      const Row<T> row{static_cast<const T*>(input) + r * size, size, flip,
                       values ? static_cast<T*>(values) + r * size : nullptr, indices + r * size};
      if (!stable && sizeof(T) == 1 && size > 256 && size < kReplayedSort) {
        replay_unstable(row, scratch);  // some are equal for sure
      } else if (sizeof(T) > 4 || size > int64_t(0xffffffff)) {
        sort_row<T, Wide>(row, stable, parts, scratch);
      } else {
        sort_row<T, Narrow>(row, stable, parts, scratch);
      }
    };
    if (size >= kThreadedRow && rows < 2 * num_threads()) {
      Scratch scratch;
      for (int64_t r = 0; r < rows; ++r) one(r, num_threads(), scratch);
    } else {
      parallel_for(0, rows, std::max<int64_t>(1, 2048 / size), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        for (int64_t r = begin; r < end; ++r) one(r, 1, scratch);
      });
    }
  });
}

}  // namespace rl::kernels
