// Largest, k-th, median and most frequent elements, without sorting what need not be.
#include "kernels/selection.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/sort_keys.h"
#include "kernels/sorting.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // elements per thread, at least
constexpr int64_t kBlock = 256;

template <class F> void for_rows(int64_t rows, int64_t size, F&& f) {
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) f(r);
               });
}

// Puts `entry` where the heap's largest was: the hole sinks to a leaf, the entry rises from there.
template <class K> void replace_top(Entry<K>* heap, int64_t n, Entry<K> entry) {
  int64_t hole = 0;
  for (int64_t child = 2; child <= n; child = 2 * hole + 2) {
    if (child == n || heap[child] < heap[child - 1]) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  for (int64_t parent = (hole - 1) / 2; hole > 0 && heap[parent] < entry; parent = (hole - 1) / 2) {
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = entry;
}

// The k least keys in the order of std::partial_sort on all n pairs: that keeps a heap of the
// first k and looks only at what is below its top, so the other pairs need not exist.
template <class T>
void least_by_heap(const T* row, int64_t n, int64_t k, KeyOf<T> flip, Entry<KeyOf<T>>* heap) {
  for (int64_t i = 0; i < k; ++i) heap[i] = {KeyOf<T>(key_of(row[i]) ^ flip), i};
  std::make_heap(heap, heap + k);
  KeyOf<T> keys[kBlock];
  for (int64_t i = k; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    make_keys(row + i, m, flip, keys);
    if (least(keys, m) >= heap[0].key) continue;
    for (int64_t j = 0; j < m; ++j) {
      if (keys[j] < heap[0].key) replace_top(heap, k, {keys[j], i + j});
    }
  }
  std::sort_heap(heap, heap + k);
}

template <class T>
void least_by_partition(const T* row, int64_t n, int64_t k, KeyOf<T> flip, bool sorted,
                        Entry<KeyOf<T>>* entries) {
  for (int64_t i = 0; i < n; ++i) entries[i] = {KeyOf<T>(key_of(row[i]) ^ flip), i};
  std::nth_element(entries, entries + k - 1, entries + n);
  if (sorted) std::sort(entries, entries + k - 1);  // the k-th is in place
}

// Partition with median of three, from both ends (Sedgewick 1978), as PyTorch's kthvalue does:
// which of several equals ends at place k depends on each exchange.
template <class K> void quick_select(K* keys, int64_t* index, int64_t n, int64_t k) {
  const auto exchange = [&](int64_t a, int64_t b) {
    std::swap(keys[a], keys[b]);
    std::swap(index[a], index[b]);
  };
  const auto order = [&](int64_t a, int64_t b) {
    if (keys[a] > keys[b]) exchange(a, b);
  };
  int64_t left = 0, right = n - 1;
  while (right > left) {
    if (right - left > 1 << 16) poll_interrupt();
    if (right == left + 1) return order(left, right);
    exchange((left + right) / 2, left + 1);
    order(left + 1, right);
    order(left, right);
    order(left + 1, left);
    int64_t i = left + 1, j = right;
    const K pivot = keys[left];
    for (;;) {
      do ++i; while (pivot > keys[i]);
      do --j; while (keys[j] > pivot);
      if (j < i) break;
      exchange(i, j);
    }
    exchange(left, j);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
}

// The key of rank r: by buckets of the upper bits, until few are left in the right one. The keys
// of that bucket gather at the front of scratch (n long), at last in place.
template <class K> K key_of_rank(const K* keys, int64_t n, int64_t r, K* scratch) {
  using U = std::make_unsigned_t<K>;
  while (n >= 4096) {
    const U low = U(least(keys, n)), range = U(U(greatest(keys, n)) - low);
    const int shift = range < 2048 ? 0 : 53 - __builtin_clzll(uint64_t(range));
    int64_t counts[2048] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[U(U(keys[i]) - low) >> shift];
    int64_t bucket = 0;
    for (; r >= counts[bucket]; ++bucket) r -= counts[bucket];
    if (shift == 0) return K(U(low + U(bucket)));
    int64_t m = 0;
    for (int64_t i = 0; i < n; ++i) {
      scratch[m] = keys[i];
      m += (U(U(keys[i]) - low) >> shift) == U(bucket);
    }
    keys = scratch;
    n = m;
  }
  if (keys != scratch) std::copy(keys, keys + n, scratch);
  std::nth_element(scratch, scratch + r, scratch + n);
  return scratch[r];
}

template <class K> RL_VECTORISED int64_t count_below(const K* keys, int64_t n, K bound) {
  int64_t total = 0;
  for (int64_t begin = 0; begin < n; begin += 4096) {
    const int64_t end = std::min(n, begin + 4096);
    K count = 0;
    for (int64_t i = begin; i < end; ++i) count += keys[i] < bound;
    total += count;
  }
  return total;
}
template <class K> int64_t find(const K* keys, int64_t n, K key, int64_t occurrence) {
  int64_t i = 0;
  for (; i < n; ++i) {
    if (keys[i] == key && occurrence-- == 0) break;
  }
  return i;
}

// The index in the order of (value, index) pairs.
template <class T> int64_t median_index(const T* row, int64_t n, bool ignore_nan) {
  using K = KeyOf<T>;
  std::unique_ptr<K[]> keys(new K[size_t(2 * n)]);
  make_keys(row, n, K(0), keys.get());
  int64_t ranked = n;
  if constexpr (!std::is_integral_v<T>) {
    const int64_t numbers = count_below(keys.get(), n, kNanKey<T>);
    if (!ignore_nan && numbers < n) return find(keys.get(), n, kNanKey<T>, 0);
    if (numbers == 0) {  // all equal: where nth_element leaves them
      std::iota(keys.get(), keys.get() + n, K(0));
      std::nth_element(keys.get(), keys.get(), keys.get() + n, [](K, K) { return false; });
      return keys[0];
    }
    ranked = numbers;
  }
  const int64_t rank = (ranked - 1) / 2;
  const K key = key_of_rank<K>(keys.get(), n, rank, keys.get() + n);
  return find(keys.get(), n, key, rank - count_below(keys.get(), n, key));
}

// The last of each run of equals counts for it, in the order of the sort.
template <class T>
int64_t mode_index(const T* row, const int64_t* order, int64_t n) {
  int64_t best = order[0], most = 0, start = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto key = key_of(row[order[i]]);
    const bool nan = !std::is_integral_v<T> && key == kNanKey<T>;  // equals nothing
    if (i + 1 < n && !nan && key_of(row[order[i + 1]]) == key) continue;
    if (i + 1 - start > most) {
      most = i + 1 - start;
      best = order[i];
    }
    start = i + 1;
  }
  return best;
}

}  // namespace

void topk(const void* input, DType dtype, int64_t rows, int64_t size, int64_t k, bool largest,
          bool sorted, void* values, int64_t* indices) {
  if (k == 0) return;
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using K = KeyOf<T>;
    const K flip = largest ? -1 : 0;
    const bool by_heap = k * 64 <= size;
    for_rows(rows, size, [&](int64_t r) {
      const T* row = static_cast<const T*>(input) + r * size;
      std::unique_ptr<Entry<K>[]> entries(new Entry<K>[size_t(by_heap ? k : size)]);
      if (by_heap) least_by_heap(row, size, k, flip, entries.get());
      else least_by_partition(row, size, k, flip, sorted, entries.get());
      for (int64_t i = 0; i < k; ++i) {
        indices[r * k + i] = entries[i].index;
        static_cast<T*>(values)[r * k + i] = row[entries[i].index];
      }
    });
  });
}

void kthvalue(const void* input, DType dtype, int64_t rows, int64_t size, int64_t k, void* values,
              int64_t* indices) {
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for_rows(rows, size, [&](int64_t r) {
      const T* row = static_cast<const T*>(input) + r * size;
      std::unique_ptr<KeyOf<T>[]> keys(new KeyOf<T>[size_t(size)]);
      std::unique_ptr<int64_t[]> places(new int64_t[size_t(size)]);
      make_keys(row, size, KeyOf<T>(0), keys.get());
      std::iota(places.get(), places.get() + size, int64_t(0));
      quick_select(keys.get(), places.get(), size, k - 1);
      indices[r] = places[k - 1];
      static_cast<T*>(values)[r] = element(row[indices[r]]);
    });
  });
}

void median(const void* input, DType dtype, int64_t rows, int64_t size, bool ignore_nan,
            void* values, int64_t* indices) {
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for_rows(rows, size, [&](int64_t r) {
      const T* row = static_cast<const T*>(input) + r * size;
      indices[r] = median_index(row, size, ignore_nan);
      static_cast<T*>(values)[r] = element(row[indices[r]]);
    });
  });
}

void mode(const void* input, DType dtype, int64_t rows, int64_t size, void* values,
          int64_t* indices) {
  dispatch_sortable(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for_rows(rows, size, [&](int64_t r) {
      const T* row = static_cast<const T*>(input) + r * size;
      std::unique_ptr<int64_t[]> order(new int64_t[size_t(size)]);
      sort(row, dtype, 1, size, false, false, nullptr, order.get());
      indices[r] = mode_index(row, order.get(), size);
      static_cast<T*>(values)[r] = element(row[indices[r]]);
    });
  });
}

}  // namespace rl::kernels
