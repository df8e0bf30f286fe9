// Where the samples of a grid lie and what they are made of, a vector of samples at a time.
#include "kernels/levels/grid_sample.h"

#include "kernels/levels/gather.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace gridding {
namespace {

template <class T> using Cells = typename Places<T>::Raw;

// A position along one dimension and its derivative by the grid's number.
template <class T> struct Position {
  Vec<T> at, slope;
};

// What samples take from up to four cells of one dimension.
template <class T> struct Line {
  Cells<T> cell[4];
  Vec<T> weight[4], first[4], second[4];
};

template <class T> RL_INLINE Position<T> clipped(Position<T> p, T size) {
  const Vec<T> zero(T(0)), last(size - 1);
  const auto inside = (p.at > zero) & (p.at < last);
  return {least_of(most_of(p.at, zero), last), select(inside, p.slope, zero)};  // NaN becomes 0
}

// Mirrored at low / 2 and high / 2 until it lies between.
template <class T> RL_INLINE Position<T> reflected(Position<T> p, T low, T high) {
  if (low == high) return {Vec<T>(T(0)), Vec<T>(T(0))};
  const Vec<T> least(low / 2), span((high - low) / 2);
  const Vec<T> from = p.at - least, distance = abs(from);
  const Vec<T> flips = floor(distance / span), rest = distance - flips * span;
  const auto odd = floor(flips * Vec<T>(T(0.5))) * Vec<T>(T(2)) != flips;
  const auto back = (from < Vec<T>(T(0))) ^ odd;
  return {select(odd, span - rest, rest) + least, select(back, -p.slope, p.slope)};
}

template <class T> RL_INLINE Position<T> padded(Position<T> p, T size, const GridSample& s) {
  if (s.padding == GridSample::Zeros) return p;
  if (s.padding == GridSample::Reflection)
    p = s.align_corners ? reflected(p, T(0), 2 * (size - 1)) : reflected(p, T(-1), 2 * size - 1);
  return clipped(p, size);
}

template <class T> RL_INLINE Cells<T> cell_of(Vec<T> at, T size) {
  const auto inside = (at >= Vec<T>(T(0))) & (at <= Vec<T>(size - 1));
  return __builtin_convertvector(select(inside, at, Vec<T>(T(-1))).raw, Cells<T>);
}

// Keys' cubic convolution with slope -0.75 for a cell at distance j - 1 - t, with derivatives.
template <class T> RL_INLINE void cubic_weights(Vec<T> t, Vec<T> slope, Line<T>& line) {
  constexpr T a = T(-0.75);
  const auto near = [&](Vec<T> x, T sign, int j) {  // |x| <= 1
    line.weight[j] = ((x * T(a + 2) - Vec<T>(T(a + 3))) * x * x) + Vec<T>(T(1));
    line.first[j] = (x * T(3 * (a + 2)) - Vec<T>(T(2 * (a + 3)))) * x * slope * sign;
    line.second[j] = (x * T(6 * (a + 2)) - Vec<T>(T(2 * (a + 3)))) * slope * slope;
  };
  const auto far = [&](Vec<T> x, T sign, int j) {   // 1 < |x| < 2
    line.weight[j] = ((x * a - Vec<T>(T(5 * a))) * x + Vec<T>(T(8 * a))) * x - Vec<T>(T(4 * a));
    line.first[j] = ((x * T(3 * a) - Vec<T>(T(10 * a))) * x + Vec<T>(T(8 * a))) * slope * sign;
    line.second[j] = (x * T(6 * a) - Vec<T>(T(10 * a))) * slope * slope;
  };
  const Vec<T> one(T(1));
  far(t + one, T(1), 0);
  near(t, T(1), 1);
  near(one - t, T(-1), 2);
  far(Vec<T>(T(2)) - t, T(-1), 3);
}

template <class T> RL_INLINE void find_line(Line<T>& line, Vec<T> number, T size,
                                            const GridSample& s) {
  const Vec<T> one(T(1));
  Position<T> p;
  if (s.align_corners) p = {(number + one) * T((size - 1) / 2), Vec<T>(T((size - 1) / 2))};
  else p = {((number + one) * size - one) * T(0.5), Vec<T>(size / 2)};
  if (s.mode == GridSample::Cubic) {
    const Vec<T> low = floor(p.at);
    for (int j = 0; j < 4; ++j) {
      const Position<T> tap = padded<T>({low + Vec<T>(T(j - 1)), one}, size, s);
      line.cell[j] = cell_of(s.padding == GridSample::Reflection ? round(tap.at) : tap.at, size);
    }
    cubic_weights(p.at - low, p.slope, line);
    return;
  }
  p = padded(p, size, s);
  const Vec<T> zero(T(0));
  line.second[0] = line.second[1] = zero;
  if (s.mode == GridSample::Nearest) {
    line.cell[0] = cell_of(round(p.at), size);
    line.weight[0] = one;
    line.first[0] = zero;
    return;
  }
  const Vec<T> low = floor(p.at), high = low + one;
  line.cell[0] = cell_of(low, size);
  line.cell[1] = cell_of(high, size);
  line.weight[0] = high - p.at;
  line.weight[1] = p.at - low;
  line.first[0] = -p.slope;
  line.first[1] = p.slope;
}

// The taps of `spatial` dimensions: products of those of each.
template <class T, int spatial>
RL_INLINE void combine(GridTaps<T>& taps, const Line<T>* lines, int m, const GridSample& s,
                       int64_t i, int order) {
  const auto put = [&](T (*to)[kGridBlock], int k, Vec<T> v) { store(to[k] + i, v.raw, Full{}); };
  for (int k = 0; k < taps.count; ++k) {
    const int j[3] = {k % m, k / m % m, k / m / m};
    Cells<T> cell = lines[1].cell[j[1]], outside = (lines[0].cell[j[0]] < 0) | (cell < 0);
    if (spatial == 3) {
      const Cells<T> deep = lines[2].cell[j[2]];
      outside |= deep < 0;
      cell += deep * int32_t(s.in[1]);
    }
    cell = (cell * int32_t(s.in[2]) + lines[0].cell[j[0]]) | outside;
    __builtin_memcpy(taps.index[k] + i, &cell, sizeof cell);
    Vec<T> w[3], f[3], g[3];
    for (int d = 0; d < spatial; ++d) {
      w[d] = lines[d].weight[j[d]];
      f[d] = lines[d].first[j[d]];
      g[d] = lines[d].second[j[d]];
    }
    if (spatial == 2) w[2] = Vec<T>(T(1));
    put(taps.weight, k, spatial == 2 ? w[0] * w[1] : w[0] * w[1] * w[2]);
    if (order == 0) continue;
    put(taps.first[0], k, f[0] * w[1] * w[2]);
    put(taps.first[1], k, w[0] * f[1] * w[2]);
    if (spatial == 3) put(taps.first[2], k, w[0] * w[1] * f[2]);
    if (order == 1) continue;
    put(taps.second[0], k, g[0] * w[1] * w[2]);
    put(taps.second[1], k, f[0] * f[1] * w[2]);
    put(taps.second[3], k, w[0] * g[1] * w[2]);
    if (spatial == 2) continue;
    put(taps.second[2], k, f[0] * w[1] * f[2]);
    put(taps.second[4], k, w[0] * f[1] * f[2]);
    put(taps.second[5], k, w[0] * w[1] * g[2]);
  }
}

template <class T, int spatial>
void find_taps(GridTaps<T>& taps, const GridSample& s, const T* grid, int64_t n, int order) {
  const int m = s.mode == GridSample::Nearest ? 1 : s.mode == GridSample::Linear ? 2 : 4;
  taps.count = spatial == 2 ? m * m : m * m * m;
  alignas(64) T number[spatial][kGridBlock];
  const int64_t whole = (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  for (int d = 0; d < spatial; ++d) {
    for (int64_t i = 0; i < n; ++i) number[d][i] = grid[i * spatial + d];
    for (int64_t i = n; i < whole; ++i) number[d][i] = 0;
  }
  for (int64_t i = 0; i < whole; i += kLanes<T>) {
    Line<T> lines[spatial];
    for (int d = 0; d < spatial; ++d)
      find_line(lines[d], Vec<T>(load(number[d] + i, Full{})), T(s.in[2 - d]), s);
    combine<T, spatial>(taps, lines, m, s, i, order);
  }
}

template <class T>
void find(GridTaps<T>& taps, const GridSample& s, const T* grid, int64_t n, int order) {
  if (s.spatial == 2) find_taps<T, 2>(taps, s, grid, n, order);
  else find_taps<T, 3>(taps, s, grid, n, order);
}

template <class T>
void sample(T* out, const T* in, const GridTaps<T>& taps, const T (*weight)[kGridBlock],
            int64_t n, bool add) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    Lanes<T> sum{};
    for (int k = 0; k < taps.count; ++k)
      sum += load(weight[k] + i, Full{}) * gather_inside(in, load_places<T>(taps.index[k] + i));
    if (add) sum += load(out + i, lanes);
    store(out + i, sum, lanes);
  });
}

template <class T>
void multiply(T (*products)[kGridBlock], const T* by, const T* in, const GridTaps<T>& taps,
              int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    const Lanes<T> factor = load(by + i, lanes);
    for (int k = 0; k < taps.count; ++k) {
      const Lanes<T> value = gather_inside(in, load_places<T>(taps.index[k] + i));
      store(products[k] + i, load(products[k] + i, Full{}) + factor * value, Full{});
    }
  });
}

template <class T> constexpr GridLoops<T> table() { return {find<T>, sample<T>, multiply<T>}; }

}  // namespace
}  // namespace gridding

const GridLoops<float> grid_loops_float = gridding::table<float>();
const GridLoops<double> grid_loops_double = gridding::table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
