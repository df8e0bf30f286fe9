// Matrix products on one thread: register tiles, packing, and the choice between them by shape.
#include "kernels/levels/gemm_level.h"
#include "kernels/levels/gemm_pack.h"
#include "kernels/levels/registers.h"
#include "kernels/scratch.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace tiles {
namespace {

constexpr int64_t kBlockK = 320;    // a panel of B of this depth stays in the first cache
constexpr int64_t kBlockM = 192;    // a block of A of this height stays in the second
constexpr int64_t kBlockN = 3072;
constexpr int64_t kFewRows = 40;    // of A: too few to pay for packing B

enum class Start : uint8_t { Zero, FromC, ColumnBias, RowBias };  // FromC: added at the end

// What all register tiles of one sweep share.
template <class T> struct Sweep {
  int64_t k;
  int64_t a_row, a_col;   // of A as the tile reads it, packed or not
  int64_t b_row;
  int64_t c_row, c_col;
  Start start;
  bool relu;
  bool scaled;            // alpha, beta other than 0 and 1, or both a bias and beta
  bool by_element;        // C's rows are not dense
  T alpha, beta;
  const T* bias;
  bool bias_per_row;
};

// The slow finish of a tile, from a copy: the registers themselves must have no address.
template <class T>
__attribute__((noinline)) void finish_by_element(const Sweep<T>& s, const T* values, int width,
                                                 T* c, int rows, int cols, int64_t i0,
                                                 int64_t j0) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      T* to = c + i * s.c_row + j * s.c_col;
      T v = s.alpha * values[i * width + j];
      if (s.beta != T(0)) v += s.beta * *to;
      if (s.bias) v += s.bias_per_row ? s.bias[i0 + i] : s.bias[j0 + j];
      *to = s.relu && v < T(0) ? T(0) : v;
    }
  }
}

// R rows by N vectors of C, all in registers. Partial: fewer columns than N vectors hold.
template <class T, int R, int N, bool PackedA, bool Partial>
void tile(const Sweep<T>& s, const T* a, const T* b, T* c, int cols, int64_t i0, int64_t j0) {
  constexpr int w = Lanes<T>::count;
  Vec<T> acc[R][N];
  Mask<T> mask = first<T>(Partial ? cols - (N - 1) * w : w);
  const auto get = [&](const T* p, int j) RL_INLINE_LAMBDA {
    return Partial && j == N - 1 ? load(p + j * w, mask) : load(p + j * w);
  };
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) acc[i][j] = zero<T>();
  }
  if (s.start == Start::ColumnBias) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const Vec<T> v = get(s.bias + j0, j);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) acc[i][j] = v;
    }
  } else if (s.start == Start::RowBias) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) acc[i][j] = splat(s.bias[i0 + i]);
    }
  }
  const int64_t a_row = s.a_row, a_col = s.a_col, b_row = s.b_row;
  for (int64_t p = s.k; p > 0; --p) {
    Vec<T> bv[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) bv[j] = get(b, j);
    if (!PackedA) __builtin_prefetch(b + 8 * b_row);  // unpacked rows are far apart
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec<T> av = splat(PackedA ? a[i] : a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) acc[i][j] = fma(av, bv[j], acc[i][j]);
    }
    a += PackedA ? R : a_col;
    b += b_row;
  }
  if (s.start == Start::FromC) {  // not sooner: a sum of sums loses fewer digits than a long one
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) acc[i][j] += get(c + i * s.c_row, j);
    }
  }
  if (s.scaled && !s.by_element) {
    const Vec<T> alpha = splat(s.alpha), beta = splat(s.beta);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        acc[i][j] = alpha * acc[i][j];
        if (s.beta != T(0)) acc[i][j] += beta * get(c + i * s.c_row, j);
        if (s.bias) acc[i][j] += s.bias_per_row ? splat(s.bias[i0 + i]) : get(s.bias + j0, j);
      }
    }
  }
  if (s.by_element) {
    alignas(64) T values[R * N * w];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) store(values + (i * N + j) * w, acc[i][j]);
    }
    return finish_by_element(s, values, N * w, c, R, cols, i0, j0);
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const Vec<T> v = s.relu ? positive_part(acc[i][j]) : acc[i][j];
      T* to = c + i * s.c_row + j * w;
      if (Partial && j == N - 1) store(to, v, mask);
      else store(to, v);
    }
  }
}

template <class T>
using TileFunction = void (*)(const Sweep<T>&, const T*, const T*, T*, int, int64_t, int64_t);
template <class T> struct TileTable { TileFunction<T> at[kTileRows][2][2]; };

template <class T, int... R>
constexpr TileTable<T> make_table(std::integer_sequence<int, R...>) {
  return {{{{tile<T, R + 1, 1, false, false>, tile<T, R + 1, 1, false, true>},
            {tile<T, R + 1, 2, false, false>, tile<T, R + 1, 2, false, true>}}...}};
}
template <class T>
constexpr TileTable<T> kTiles = make_table<T>(std::make_integer_sequence<int, kTileRows>());

template <class T> constexpr int kTileCols = 2 * Lanes<T>::count;

template <class T> Sweep<T> sweep_of(const Tile<T>& t) {
  Sweep<T> s{t.k,    t.a_row, t.a_col, t.b_row, t.c_row, t.c_col,       Start::Zero,
             t.relu, false,   false,   t.alpha, t.beta,  t.bias,      t.bias_per_row};
  s.scaled = t.alpha != T(1) || (t.beta != T(0) && t.beta != T(1)) || (t.bias && t.beta != T(0));
  s.by_element = t.c_col != 1;
  if (!s.scaled && !s.by_element) {
    s.start = t.bias ? (t.bias_per_row ? Start::RowBias : Start::ColumnBias)
                     : t.beta != T(0) ? Start::FromC : Start::Zero;
  }
  return s;
}

template <class T>
RL_INLINE void run_tile(const Sweep<T>& s, int rows, const T* a, const T* b, T* c, int cols,
                        int64_t i0, int64_t j0) {
  constexpr int w = Lanes<T>::count;
  const bool wide = cols > w;
  const bool partial = cols != (wide ? 2 * w : w);
  kTiles<T>.at[rows - 1][wide][partial](s, a, b, c, cols, i0, j0);
}

// A is read where it lies, in strips of nearly equal height. B likewise, or in packed panels.
template <class T>
void strips(const Tile<T>& t, const T* b, int64_t b_row, int64_t panel_step) {
  constexpr int nr = kTileCols<T>;
  Sweep<T> s = sweep_of(t);
  s.b_row = b_row;
  const int64_t count = (t.m + kTileRows - 1) / kTileRows, panels = (t.n + nr - 1) / nr;
  const int64_t rows = t.m / count, taller = t.m % count;  // the first `taller` have a row more
  for (int64_t panel = 0; panel < panels; ++panel) {
    for (int64_t strip = 0; strip < count; ++strip) {
      const int64_t i = strip * rows + (strip < taller ? strip : taller), j = panel * nr;
      const int cols = int(t.n - j < nr ? t.n - j : nr);
      run_tile(s, int(rows + (strip < taller)), t.a + i * t.a_row, b + panel * panel_step,
               t.c + i * t.c_row + j * t.c_col, cols, i, j);
    }
  }
}

// One block of depth: packed A against packed B. Of the tile only C, k and the finish count.
template <class T> void packed(const Tile<T>& t, const T* a, const T* b) {
  constexpr int nr = kTileCols<T>, mr = kTileRows;
  Sweep<T> s = sweep_of(t);
  s.a_row = 1;
  s.a_col = mr;
  s.b_row = nr;
  for (int64_t j = 0; j < t.n; j += nr) {
    const int cols = int(t.n - j < nr ? t.n - j : nr);
    for (int64_t i = 0; i < t.m; i += mr) {
      const T* pa = a + i * t.k;
      const T* pb = b + j * t.k;
      T* c = t.c + i * t.c_row + j * t.c_col;
      if (cols == nr && t.m - i >= mr) {
        tile<T, mr, 2, true, false>(s, pa, pb, c, cols, i, j);
      } else {
        run_tile(s, int(t.m - i < mr ? t.m - i : mr), pa, pb, c, cols, i, j);
      }
    }
  }
}

template <class T> int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

template <class T> T* buffer(Scratch use, int64_t elements) {
  return static_cast<T*>(scratch(use, size_t(elements + kPackSlack) * sizeof(T)));
}

template <class T> void pack_b(T* to, const Tile<T>& t, int64_t p, int64_t kb, int64_t j,
                               int64_t nb) {
  pack<T, kTileCols<T>>(to, t.b + p * t.b_row + j * t.b_col, t.b_col, t.b_row, nb, kb);
}
template <class T>
void pack_a(T* to, const T* from, int64_t row, int64_t col, int64_t m, int64_t k) {
  pack<T, kTileRows>(to, from, row, col, m, k);
}

// The part of a tile at rows i.., columns j.., depth p..: what is added to C in one go.
template <class T>
Tile<T> part(const Tile<T>& t, int64_t i, int64_t mb, int64_t j, int64_t nb, int64_t p,
             int64_t kb) {
  Tile<T> s = t;
  s.m = mb;
  s.n = nb;
  s.k = kb;
  s.a = t.a + i * t.a_row + p * t.a_col;
  s.c = t.c + i * t.c_row + j * t.c_col;
  if (p > 0) {
    s.beta = T(1);
    s.bias = nullptr;
  }
  if (s.bias) s.bias += t.bias_per_row ? i : j;
  if (p + kb < t.k) s.relu = false;
  return s;
}

// How much of the depth is done in one go: as equal parts as can be.
template <class T> int64_t depth_of_block(const Tile<T>& t) {
  const int64_t depth = kBlockK * 4 / int64_t(sizeof(T)) * (sizeof(T) == 8 ? 3 : 2) / 2;
  const int64_t blocks = (t.k + depth - 1) / depth;
  return (t.k + blocks - 1) / blocks;
}

// Small products read B where it lies.
template <class T> void unpacked(const Tile<T>& t) {
  const int64_t depth = depth_of_block(t);
  for (int64_t p = 0; p < t.k; p += depth) {
    const int64_t kb = t.k - p < depth ? t.k - p : depth;
    strips(part(t, 0, t.m, 0, t.n, p, kb), t.b + p * t.b_row, t.b_row, kTileCols<T>);
  }
}

// Large products: blocks of B and A are packed so that the tile reads them in order.
template <class T> void blocked(const Tile<T>& t) {
  constexpr int nr = kTileCols<T>, mr = kTileRows;
  const int64_t most_k = depth_of_block(t);
  const int64_t height = kBlockM / mr * mr;
  T* pb = buffer<T>(Scratch::PackB,
                    padded<T>(t.n < kBlockN ? t.n : kBlockN, nr) * most_k);
  const bool copy_a = t.n > 4 * nr || t.a_col != 1;
  T* pa = copy_a ? buffer<T>(Scratch::PackA, padded<T>(t.m < height ? t.m : height, mr) * most_k)
                 : nullptr;
  for (int64_t j = 0; j < t.n; j += kBlockN) {
    const int64_t nb = t.n - j < kBlockN ? t.n - j : kBlockN;
    for (int64_t p = 0; p < t.k; p += most_k) {
      const int64_t kb = t.k - p < most_k ? t.k - p : most_k;
      pack_b(pb, t, p, kb, j, nb);
      for (int64_t i = 0; i < t.m; i += height) {
        const int64_t mb = t.m - i < height ? t.m - i : height;
        const Tile<T> now = part(t, i, mb, j, nb, p, kb);
        if (!copy_a) {
          strips(now, pb, nr, nr * kb);
          continue;
        }
        pack_a(pa, now.a, t.a_row, t.a_col, mb, kb);
        packed(now, pa, pb);
      }
    }
  }
}

template <class T> void store_vector(const Tile<T>& t, int64_t j, T sum) {
  T* to = t.c + j * t.c_col;
  T v = t.alpha * sum;
  if (t.beta != T(0)) v += t.beta * *to;
  if (t.bias) v += t.bias_per_row ? t.bias[0] : t.bias[j];
  *to = t.relu && v < T(0) ? T(0) : v;
}

// One row times B with dense rows: four rows of B are added to a stretch of the result at a time.
template <class T> void row_by_matrix(const Tile<T>& t) {
  constexpr int w = Lanes<T>::count;
  constexpr int64_t stretch = 2048;
  alignas(64) T sum[stretch];
  for (int64_t j0 = 0; j0 < t.n; j0 += stretch) {
    const int64_t n = t.n - j0 < stretch ? t.n - j0 : stretch;
    for (int64_t j = 0; j < n; ++j) sum[j] = T(0);
    for (int64_t p = 0; p < t.k; p += 4) {
      const int rows = int(t.k - p < 4 ? t.k - p : 4);
      const T* b[4];
      Vec<T> a[4];
      for (int r = 0; r < 4; ++r) {
        const int64_t q = r < rows ? p + r : p;
        b[r] = t.b + q * t.b_row + j0;
        a[r] = splat(r < rows ? t.a[q * t.a_col] : T(0));
      }
      int64_t j = 0;
      if (rows == 4) {
        for (; j + w <= n; j += w) {
          Vec<T> v = load(sum + j);
          for (int r = 0; r < 4; ++r) v = fma(a[r], load(b[r] + j), v);
          store(sum + j, v);
        }
      }
      for (; j < n; ++j) {
        for (int r = 0; r < rows; ++r) sum[j] += a[r][0] * b[r][j];
      }
    }
    for (int64_t j = 0; j < n; ++j) store_vector(t, j0 + j, sum[j]);
  }
}

// Dot products of R rows of A with C columns of B, all dense along k, one vector of sums each.
// Ahead: so many rows of `next`, which other columns will need, are called for from memory.
template <class T, int R, int C, int Ahead>
RL_INLINE void dots(const Tile<T>& t, const T* a, const T* b, const T* next, Vec<T>* sums) {
  constexpr int w = Lanes<T>::count;
  Vec<T> acc[R][C];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < C; ++j) acc[i][j] = zero<T>();
  }
  int64_t p = 0;
  const auto step = [&](auto get) RL_INLINE_LAMBDA {
    Vec<T> av[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) av[i] = get(a + i * t.a_row);
#pragma GCC unroll 16
    for (int j = 0; j < C; ++j) {
      const Vec<T> bv = get(b + j * t.b_col);
      if (j < Ahead) __builtin_prefetch(next + j * t.b_col + p, 0, 2);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) acc[i][j] = fma(av[i], bv, acc[i][j]);
    }
  };
  for (; p + w <= t.k; p += w) {
    step([&](const T* row) RL_INLINE_LAMBDA { return load(row + p); });
  }
  if (p < t.k) {
    const Mask<T> mask = first<T>(int(t.k - p));
    step([&](const T* row) RL_INLINE_LAMBDA { return load(row + p, mask); });
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < C; ++j) sums[i * C + j] = acc[i][j];
  }
}

// One row by B: eight columns at a time, which is as fast as memory delivers them.
template <class T> void dot_row(const Tile<T>& t) {
  constexpr int cols = 8;
  Vec<T> sums[cols];
  int64_t j = 0;
  for (; j + cols <= t.n; j += cols) {
    dots<T, 1, cols, cols>(t, t.a, t.b + j * t.b_col, t.b + (j + 2 * cols) * t.b_col, sums);
    for (int q = 0; q < cols; ++q) store_vector(t, j + q, sum_lanes<T>(sums[q]));
  }
  for (; j < t.n; ++j) {
    dots<T, 1, 1, 0>(t, t.a, t.b + j * t.b_col, nullptr, sums);
    store_vector(t, j, sum_lanes<T>(sums[0]));
  }
}

// Note [Dot products]
// With both operands dense along k nothing is packed: a block of C is kDotRows x kDotCols running
// sums, a vector each, that are folded into one register at the end. Four rows of B stay in the
// first cache while all rows of A pass by, which stay in the second. With more rows packing pays:
// at some depths, powers of two most of all, rows so far apart share few lines of the caches.
constexpr int kDotRows = RL_LEVEL == 2 ? 4 : 2, kDotCols = 4;
constexpr int64_t kDotRowsOfA = RL_LEVEL == 1 ? 8 : 64, kDotBytesOfA = 512 * 1024;

// The slow finish of a block, from a copy, as for tiles.
template <class T>
__attribute__((noinline)) void finish_dots(const Tile<T>& t, int64_t i, int rows, int64_t j,
                                           const T* values) {
  for (int r = 0; r < rows; ++r) {
    const Tile<T> row = part(t, i + r, 1, 0, t.n, 0, t.k);
    for (int q = 0; q < kDotCols; ++q) store_vector(row, j + q, values[r * kDotCols + q]);
  }
}

// Plain: nothing but a bias of the columns and relu is to be done to the sums.
template <class T, int R, bool Plain>
RL_INLINE void dot_block(const Tile<T>& t, int64_t i, int64_t j, const T* bias) {
  constexpr int w = Lanes<T>::count, count = kDotRows * kDotCols, size = count < w ? w : count;
  Vec<T> sums[size];
#pragma GCC unroll 16
  for (int q = R * kDotCols; q < size; ++q) sums[q] = zero<T>();
  const T* a = t.a + i * t.a_row;
  const T* b = t.b + j * t.b_col;
  const T* next = b + 4 * kDotCols * t.b_col;
  if (t.m <= kDotRows) {
    dots<T, R, kDotCols, 4>(t, a, b, next, sums);
  } else if (t.m <= 2 * kDotRows) {
    dots<T, R, kDotCols, 2>(t, a, b, i == 0 ? next : next + 2 * t.b_col, sums);
  } else {
    dots<T, R, kDotCols, 1>(t, a, b, next + (i / kDotRows) * t.b_col, sums);
  }
  alignas(64) T values[size];
#pragma GCC unroll 8
  for (int q = 0; q < count; q += w) {
    Vec<T> v = sum_each<T>(sums + q);
    if (Plain) {
      v += load(bias + q);
      if (t.relu) v = positive_part(v);
    }
    store(values + q, v);
  }
  if (!Plain) return finish_dots(t, i, R, j, values);
  T* c = t.c + i * t.c_row + j;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    std::memcpy(c + r * t.c_row, values + r * kDotCols, kDotCols * sizeof(T));
  }
}

template <class T, bool Plain>
RL_INLINE void dot_columns(const Tile<T>& t, int64_t j, const T* bias) {
  int64_t i = 0;
  for (; i + kDotRows <= t.m; i += kDotRows) dot_block<T, kDotRows, Plain>(t, i, j, bias);
  const int left = int(t.m - i);
  if (kDotRows > 3 && left == 3) dot_block<T, 3, Plain>(t, i, j, bias);
  if (kDotRows > 2 && left == 2) dot_block<T, 2, Plain>(t, i, j, bias);
  if (left == 1) dot_block<T, 1, Plain>(t, i, j, bias);
}

// Few rows of A and both operands dense along k: B is read once, where it lies.
template <class T> void dot_products(const Tile<T>& t) {
  if (t.m == 1) return dot_row(t);
  const bool plain = t.c_col == 1 && t.alpha == T(1) && t.beta == T(0) &&
                     !(t.bias && t.bias_per_row);
  alignas(64) T bias[kDotRows * kDotCols + Lanes<T>::count] = {};
  int64_t j = 0;
  for (; j + kDotCols <= t.n; j += kDotCols) {
    if (!plain) {
      dot_columns<T, false>(t, j, bias);
      continue;
    }
    for (int r = 0; t.bias && r < kDotRows; ++r) {
      std::memcpy(bias + r * kDotCols, t.bias + j, kDotCols * sizeof(T));
    }
    dot_columns<T, true>(t, j, bias);
  }
  if (j == t.n) return;
  for (int64_t i = 0; i < t.m; ++i) {
    Tile<T> rest = part(t, i, 1, j, t.n - j, 0, t.k);
    rest.b += j * t.b_col;
    dot_row(rest);
  }
}

template <class T> bool by_dot_products(const Tile<T>& t) {
  if (t.a_col != 1 || !(t.b_row == 1 || t.k == 1) || t.b_col == 1) return false;
  if (t.m <= 4) return true;
  return t.m <= kDotRowsOfA && t.m * t.k * int64_t(sizeof(T)) <= kDotBytesOfA;
}

template <class T> Tile<T> transposed(const Tile<T>& t) {
  Tile<T> s = t;
  s.m = t.n;
  s.n = t.m;
  s.a = t.b;
  s.a_row = t.b_col;
  s.a_col = t.b_row;
  s.b = t.a;
  s.b_row = t.a_col;
  s.b_col = t.a_row;
  s.c_row = t.c_col;
  s.c_col = t.c_row;
  s.bias_per_row = !t.bias_per_row;
  return s;
}

template <class T> void product_oriented(const Tile<T>& t) {
  constexpr int nr = kTileCols<T>;
  const int64_t bytes_b = t.n * t.k * int64_t(sizeof(T));
  if (t.k == 0) return strips(t, t.b, 0, 0);
  if (t.m == 1 && t.b_col == 1 && t.n > nr) return row_by_matrix(t);
  if (by_dot_products(t)) return dot_products(t);
  if (t.b_col == 1 && (bytes_b <= 24 * 1024 || t.m <= kFewRows)) {
    return unpacked(t);
  }
  blocked(t);
}

template <class T> void product(const Tile<T>& t) {
  const bool turn = (t.n == 1 && t.m != 1) || (t.c_col != 1 && t.c_row == 1 && t.n != 1);
  product_oriented(turn ? transposed(t) : t);
}

}  // namespace
}  // namespace tiles

extern const GemmLevel<float> gemm_f32 = {tiles::kTileRows, tiles::kTileCols<float>,
                                          tiles::product<float>, tiles::packed<float>,
                                          tiles::pack_a<float>};
extern const GemmLevel<double> gemm_f64 = {tiles::kTileRows, tiles::kTileCols<double>,
                                           tiles::product<double>, tiles::packed<double>,
                                           tiles::pack_a<double>};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
