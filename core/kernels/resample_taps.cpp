// The filters of resampling.
#include "kernels/resample_taps.h"

#include <algorithm>
#include <cmath>

namespace rl::kernels {
namespace {

// How far the source moves per element of the result.
template <class T> T step_of(const Resampling& r, int d) {
  const int64_t in = r.in[d], out = r.out[d];
  if (r.align_corners) return out > 1 ? T(in - 1) / T(out - 1) : T(0);
  return r.scale[d] > 0 ? T(1.0 / r.scale[d]) : T(in) / T(out);
}

// A position as a number from 0 to last, whatever it is.
template <class T> int64_t cell(T x, int64_t last) {
  return x > 0 ? x < T(last) ? std::min(int64_t(x), last) : last : 0;
}

template <class T> Taps<T> empty_taps(const Resampling& r, int d, int64_t width) {
  Taps<T> t;
  t.in = r.in[d];
  t.out = r.out[d];
  t.width = width;
  t.index.resize(size_t(width * t.out));
  t.weight.resize(size_t(width * t.out));
  return t;
}

template <class T> Taps<T> identity_taps(const Resampling& r, int d) {
  Taps<T> t = empty_taps<T>(r, d, 1);
  for (int64_t o = 0; o < t.out; ++o) t.index[size_t(o)] = int32_t(o);
  std::fill(t.weight.begin(), t.weight.end(), T(1));
  return t;
}

template <class T> Taps<T> linear_taps(const Resampling& r, int d) {
  Taps<T> t = empty_taps<T>(r, d, 2);
  const T step = step_of<T>(r, d);
  for (int64_t o = 0; o < t.out; ++o) {
    T at = r.align_corners ? step * T(o) : step * (T(o) + T(0.5)) - T(0.5);
    at = std::max(at, T(0));
    const int64_t low = cell(at, t.in - 1), high = low + (low < t.in - 1);
    const T part = std::min(std::max(at - T(low), T(0)), T(1));
    t.index[size_t(o)] = int32_t(low);
    t.index[size_t(t.out + o)] = int32_t(high);
    t.weight[size_t(o)] = T(1) - part;
    t.weight[size_t(t.out + o)] = part;
  }
  return t;
}

// Keys' cubic convolution (IEEE Trans. ASSP 29, 1981, eq. 5) with slope a, at distance |x| < 2.
template <class T> T keys(T x, T a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : T(0);
}

template <class T> Taps<T> cubic_taps(const Resampling& r, int d) {
  Taps<T> t = empty_taps<T>(r, d, 4);
  const T step = step_of<T>(r, d);
  for (int64_t o = 0; o < t.out; ++o) {
    const T at = r.align_corners ? step * T(o) : step * (T(o) + T(0.5)) - T(0.5);
    const int64_t low = at < 0 ? -1 : cell(at, t.in - 1);  // never below -0.5
    const T part = std::min(std::max(at - T(low), T(0)), T(1));
    for (int64_t k = 0; k < 4; ++k) {
      const size_t i = size_t(k * t.out + o);
      t.index[i] = int32_t(std::min(std::max<int64_t>(low + k - 1, 0), t.in - 1));
      t.weight[i] = keys(part - T(k - 1), T(-0.75));
    }
  }
  return t;
}

template <class T> T sinc(T x) {
  const T y = x * T(3.14159265358979323846);
  return x == 0 ? T(1) : std::sin(y) / y;
}

template <class T> T filter_at(Resample how, T x) {
  if (how == Resample::SmoothCubic) return keys(x, T(-0.5));
  x = std::abs(x);
  if (how == Resample::SmoothLinear) return x < 1 ? 1 - x : T(0);
  return x < 3 ? sinc(x) * sinc(x / 3) : T(0);
}

// A filter over all elements within its support, normed to 1.
template <class T> Taps<T> smooth_taps(const Resampling& r, int d) {
  const int64_t reach = r.how == Resample::SmoothLinear ? 2
                      : r.how == Resample::SmoothCubic  ? 4 : 6;
  const T step = step_of<T>(r, d);
  const T support = step >= 1 ? T(reach * 0.5) * step : T(reach * 0.5);
  const T shrink = step >= 1 ? 1 / step : T(1);
  // Not more than there are elements, whatever scale was given.
  const int64_t widest = int64_t(std::min(std::ceil(double(support)), 1e9)) * 2 + 1;
  Taps<T> t = empty_taps<T>(r, d, std::min(widest, r.in[d]));
  t.filled = true;
  for (int64_t o = 0; o < t.out; ++o) {
    const T center = step * (T(o) + T(0.5));
    const int64_t low = cell(center - support + T(0.5), t.in - 1);
    const int64_t high = cell(center + support + T(0.5), t.in);
    const int64_t count = std::min(std::max<int64_t>(high - low, 0), t.width);
    T total = 0;
    for (int64_t k = 0; k < t.width; ++k) {
      const size_t i = size_t(k * t.out + o);
      t.index[i] = int32_t(low + std::max<int64_t>(std::min(k, count - 1), 0));
      t.weight[i] = k < count ? filter_at(r.how, (T(k + low) - center + T(0.5)) * shrink) : T(0);
      total += t.weight[i];
    }
    if (total != 0)
      for (int64_t k = 0; k < count; ++k) t.weight[size_t(k * t.out + o)] /= total;
  }
  return t;
}

}  // namespace

std::vector<int64_t> nearest_places(const Resampling& r, int d) {
  const int64_t in = r.in[d], out = r.out[d];
  const bool exact = r.how == Resample::NearestExact;
  // Whatever factor was given, PyTorch takes a line that keeps or doubles its size by its sizes,
  // but not the forward pass of plain lines and volumes.
  const bool by_size = !exact && (r.spatial == 2 || r.channels_last || r.backward) &&
                       (out == in || out == 2 * in);
  const float step = step_of<float>(r, d), shift = exact ? 0.5f : 0.0f;
  std::vector<int64_t> places(static_cast<size_t>(out));
  for (int64_t o = 0; o < out; ++o) {
    places[size_t(o)] = by_size ? o * in / out : cell((float(o) + shift) * step, in - 1);
  }
  return places;
}

template <class T> Taps<T> taps_of(const Resampling& r, int d) {
  // As PyTorch does it: the gradient of the smooth modes goes by the factor all the same.
  const bool same = r.in[d] == r.out[d] && !(r.backward && r.how >= Resample::SmoothLinear);
  if (same && (r.how == Resample::Linear || r.how >= Resample::SmoothLinear))
    return identity_taps<T>(r, d);
  if (r.how == Resample::Linear) return linear_taps<T>(r, d);
  if (r.how == Resample::Cubic) return cubic_taps<T>(r, d);
  if (r.how >= Resample::SmoothLinear) return smooth_taps<T>(r, d);
  Taps<T> t = empty_taps<T>(r, d, 1);
  const std::vector<int64_t> places = nearest_places(r, d);
  for (int64_t o = 0; o < t.out; ++o) t.index[size_t(o)] = int32_t(places[size_t(o)]);
  std::fill(t.weight.begin(), t.weight.end(), T(1));
  return t;
}

template <class T> Taps<T> transposed(const Taps<T>& taps) {
  const auto filling = [&](int64_t k, int64_t o) {
    return taps.filled && k && taps.weight[size_t(k * taps.out + o)] == 0;
  };
  std::vector<int64_t> count(size_t(taps.in));
  for (int64_t o = 0; o < taps.out; ++o)
    for (int64_t k = 0; k < taps.width; ++k)
      if (!filling(k, o)) ++count[size_t(taps.index[size_t(k * taps.out + o)])];
  Taps<T> t;
  t.in = taps.out;
  t.out = taps.in;
  t.filled = true;
  t.width = std::max<int64_t>(*std::max_element(count.begin(), count.end()), 1);
  t.index.resize(size_t(t.width * t.out));
  t.weight.resize(size_t(t.width * t.out));
  std::fill(count.begin(), count.end(), 0);
  for (int64_t o = 0; o < taps.out; ++o)
    for (int64_t k = 0; k < taps.width; ++k) {
      if (filling(k, o)) continue;
      const int64_t i = taps.index[size_t(k * taps.out + o)];
      const size_t to = size_t(count[size_t(i)]++ * t.out + i);
      t.index[to] = int32_t(o);
      t.weight[to] = taps.weight[size_t(k * taps.out + o)];
    }
  for (int64_t i = 0; i < t.out; ++i)
    for (int64_t k = std::max<int64_t>(count[size_t(i)], 1); k < t.width; ++k)
      t.index[size_t(k * t.out + i)] = t.index[size_t((k - 1) * t.out + i)];
  return t;
}

template Taps<float> taps_of(const Resampling& r, int d);
template Taps<double> taps_of(const Resampling& r, int d);
template Taps<float> transposed(const Taps<float>& taps);
template Taps<double> transposed(const Taps<double>& taps);

}  // namespace rl::kernels
