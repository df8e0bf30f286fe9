// Plans of Fourier transforms: factors, twiddle tables in higher precision, and their cache.
#include "kernels/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

namespace rl::kernels {
namespace {

// Tables are computed in double for float, and in long double for double.
template <class T> struct Wider { using type = double; };
template <> struct Wider<double> { using type = long double; };

// exp(-2 pi i k / n), 0 <= k < n, from an angle of at most pi / 4.
template <class T> void root(int64_t k, int64_t n, T* cos, T* sin) {
  using W = typename Wider<T>::type;
  using Product = __int128;  // 8 k may not fit into 64 bits
  const int octant = int(Product(8) * k / n);
  const int quarter = (octant + 1) / 2;
  const Product rest = Product(4) * k - Product(quarter) * n;  // of a quarter turn, times n
  const W angle = W(1.57079632679489661923132169163975144L) * W(int64_t(rest)) / W(n);
  const W c = std::cos(angle), s = std::sin(angle);
  const W turned[5][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}, {c, s}};
  *cos = T(turned[quarter][0]);
  *sin = T(-turned[quarter][1]);
}

// Ascending, but powers of two first: their passes are the quickest over short rows. What has a
// larger prime factor than passes take gives none.
std::vector<int> radices(int64_t n) {
  std::vector<int> found;
  while (n % 8 == 0) {
    found.push_back(8);
    n /= 8;
  }
  if (n % 4 == 0) {
    found.push_back(4);
    n /= 4;
  } else if (n % 2 == 0) {
    if (!found.empty()) {  // 8 * 2 as 4 * 4
      found.back() = 4;
      found.push_back(4);
    } else {
      found.push_back(2);
    }
    n /= 2;
  }
  for (int p = 3; p <= kMostRadix; p += 2)
    for (; n % p == 0; n /= p) found.push_back(p);
  if (n > 1) found.clear();
  return found;
}

int64_t log2_floor(int64_t n) { return 63 - __builtin_clzll(uint64_t(n)); }

// The least length of at least `least` that has good passes.
int64_t convolution_length(int64_t least) {
  int64_t best = int64_t(1) << (log2_floor(least) + 1);
  for (int64_t odd : {int64_t(3), int64_t(5), int64_t(9), int64_t(15)}) {
    int64_t n = odd * 8;
    while (n < least) n *= 2;
    if (n < best) best = n;
  }
  return best;
}

template <class T> void add_tables(FftPlan<T>& plan, FftPass<T>& pass, bool tiny_rows) {
  const int r = pass.radix;
  std::vector<T> all(size_t(pass.m * (r - 1) * 2));
  for (int64_t p = 0; p < pass.m; ++p)
    for (int k = 1; k < r; ++k) {
      T* to = all.data() + (p * (r - 1) + k - 1) * 2;
      root(p * k, r * pass.m, to, to + 1);
    }
  const int w = fft_loops<T>().width;
  if (tiny_rows) {
    const int64_t vectors = (pass.s * pass.m + w - 1) / w;
    std::vector<T> wide(size_t(vectors * (r - 1) * 2 * w));
    for (int64_t i = 0; i < pass.s * pass.m; ++i)
      for (int k = 1; k < r; ++k) {
        const T* from = all.data() + (i / pass.s * (r - 1) + k - 1) * 2;
        T* to = wide.data() + ((i / w * (r - 1) + k - 1) * 2) * w + i % w;
        to[0] = from[0];
        to[w] = from[1];
      }
    plan.tables.push_back(std::move(wide));
    pass.wide = plan.tables.back().data();
  }
  plan.tables.push_back(std::move(all));
  pass.twiddles = plan.tables.back().data();
}

template <class T> void plan_passes(FftPlan<T>& plan, const std::vector<int>& factors) {
  const int w = fft_loops<T>().width;
  int64_t m = plan.n, s = 1;
  for (int r : factors) {
    m /= r;
    FftPass<T> pass{r, m, s, nullptr, nullptr, nullptr};
    const bool divides = (s & (s - 1)) == 0 && s < w;
    if (m > 1) add_tables(plan, pass, divides && (r <= 8 || r == 11));
    if (r > 11) {
      std::vector<T> roots(size_t(2 * r));
      for (int k = 0; k < r; ++k) root(k, r, &roots[size_t(2 * k)], &roots[size_t(2 * k + 1)]);
      plan.tables.push_back(std::move(roots));
      pass.roots = plan.tables.back().data();
    }
    plan.passes.push_back(pass);
    s *= r;
  }
}

// Passes over planes that are all in the second-level cache, or so long that nothing is.
template <class T> constexpr int64_t kMostPasses = 131072 / int64_t(sizeof(T));

template <class T> void plan_convolution(FftPlan<T>& plan) {
  const int64_t n = plan.n, length = convolution_length(2 * n - 1);
  plan.kind = FftPlan<T>::Convolution;
  plan.first = fft_plan<T>(length);
  plan.chirp_re.resize(size_t(n));
  plan.chirp_im.resize(size_t(n));
  const auto exact = fft_plan<double>(length);
  const size_t room = size_t(exact->room());
  std::vector<double> planes(4 * room);
  double *const re = planes.data(), *const im = re + room;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t square = int64_t(static_cast<__int128>(k) * k % (2 * n));
    double c, s;
    root(square, 2 * n, &c, &s);
    root(square, 2 * n, &plan.chirp_re[size_t(k)], &plan.chirp_im[size_t(k)]);
    const int64_t back = k ? length - k : 0;
    re[k] = re[back] = c / double(length);
    im[k] = im[back] = -s / double(length);
  }
  FftPlanes<double> at{re, im, im + room, im + 2 * room};
  fft_in_planes(*exact, at);
  plan.kernel_re.assign(at.re, at.re + length);
  plan.kernel_im.assign(at.im, at.im + length);
}

// The divisor made of `factors` that is nearest to the root of n.
int64_t middle_divisor(int64_t n, const std::vector<int>& factors) {
  std::vector<int64_t> divisors{1};
  for (int f : factors) {
    std::vector<int> primes;
    for (int p = 2; f > 1; ++p)
      for (; f % p == 0; f /= p) primes.push_back(p);
    for (int p : primes) {
      const size_t count = divisors.size();
      for (size_t i = 0; i < count; ++i) divisors.push_back(divisors[i] * p);
      std::sort(divisors.begin(), divisors.end());
      divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
    }
  }
  int64_t best = 1;
  for (int64_t d : divisors)
    if (std::max(d, n / d) < std::max(best, n / best)) best = d;
  return best;
}

template <class T> void plan_steps(FftPlan<T>& plan, int64_t first) {
  constexpr int64_t L = kFftLanes<T>;
  const int64_t n = plan.n, second = n / first;
  plan.kind = FftPlan<T>::Steps;
  plan.first = fft_plan<T>(first);
  plan.second = fft_plan<T>(second);
  plan.lane_re.resize(size_t(first * L));
  plan.lane_im.resize(size_t(first * L));
  const int64_t blocks = (second + L - 1) / L;
  plan.base.resize(size_t(blocks * first * 2));
  for (int64_t k = 0; k < first; ++k) {
    for (int64_t l = 0; l < L; ++l) {
      root(l * k % n, n, &plan.lane_re[size_t(k * L + l)], &plan.lane_im[size_t(k * L + l)]);
    }
    for (int64_t b = 0; b < blocks; ++b) {
      T* to = plan.base.data() + (b * first + k) * 2;
      root(L * b * k % n, n, to, to + 1);
    }
  }
}

// Plans by length. When all together have become large, they are dropped; those in use live on.
template <class P> class Cache {
 public:
  template <class Make> std::shared_ptr<const P> find(int64_t n, Make make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto at = plans_.find(n);
      if (at != plans_.end()) return at->second;
    }
    std::shared_ptr<const P> made = make();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (held_ + n > kMost || plans_.size() >= 1024) {
      plans_.clear();
      held_ = 0;
    }
    held_ += n;
    return plans_.emplace(n, std::move(made)).first->second;
  }

 private:
  static constexpr int64_t kMost = int64_t(1) << 24;  // points of all plans together
  std::mutex mutex_;
  std::unordered_map<int64_t, std::shared_ptr<const P>> plans_;
  int64_t held_ = 0;
};

}  // namespace

template <class T> int64_t FftPlan<T>::steps_pitch() const {
  constexpr int64_t L = kFftLanes<T>;
  return (second->n + L - 1) / L * L + L;  // no power of two, lest rows share cache sets
}

template <class T> int64_t FftPlan<T>::room() const {
  constexpr int64_t L = kFftLanes<T>;
  const int64_t passes_room = n + kFftPadding;
  if (kind == Convolution) return first->room();
  if (kind == Steps) return std::max(passes_room, (first->n + L - 1) / L * L * steps_pitch());
  return passes_room;
}

template <class T> std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  static Cache<FftPlan<T>>& cache = *new Cache<FftPlan<T>>;
  return cache.find(n, [n] {
    auto plan = std::make_shared<FftPlan<T>>();
    plan->n = n;
    const std::vector<int> factors = radices(n);
    if (factors.empty() && n > 1) {
      plan_convolution(*plan);
      return plan;
    }
    const int64_t first = n > kMostPasses<T> ? middle_divisor(n, factors) : 1;
    if (first > 1 && n / first <= kMostPasses<T>) plan_steps(*plan, first);
    else plan_passes(*plan, factors);
    return plan;
  });
}

template <class T> std::shared_ptr<const FftRoots<T>> fft_roots(int64_t n) {
  static Cache<FftRoots<T>>& cache = *new Cache<FftRoots<T>>;
  return cache.find(n, [n] {
    auto roots = std::make_shared<FftRoots<T>>();
    roots->cos.resize(size_t(n / 2 + 1));
    roots->sin.resize(size_t(n / 2 + 1));
    for (int64_t k = 0; k <= n / 2; ++k) root(k, n, &roots->cos[size_t(k)], &roots->sin[size_t(k)]);
    return roots;
  });
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan<float>(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(int64_t);
template std::shared_ptr<const FftRoots<float>> fft_roots<float>(int64_t);
template std::shared_ptr<const FftRoots<double>> fft_roots<double>(int64_t);

}  // namespace rl::kernels
