// Uniform and normal float32 fills, compiled once per vector level.
#include "kernels/levels/random.h"

#include "kernels/vec.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

constexpr int kLanes = RL_LEVEL == 0 ? 4 : 8;
typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef int32_t Ints __attribute__((vector_size(kLanes * 4)));
typedef uint32_t Words __attribute__((vector_size(kLanes * 4)));

template <class V> inline V load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
template <class V> inline void store(void* p, V v) { __builtin_memcpy(p, &v, sizeof(V)); }
inline Floats all(float v) { return v - Floats{}; }

inline Floats fma(Floats a, Floats b, Floats c) {
#if RL_LEVEL >= 1
  return Floats(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#else
  Floats r;
  for (int i = 0; i < kLanes; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return r;
#endif
}

inline Floats square_root(Floats a) {
#if RL_LEVEL >= 1
  return Floats(_mm256_sqrt_ps(__m256(a)));
#else
  for (int i = 0; i < kLanes; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
#endif
}

// Note [Logarithm and sine of the normal fill]
// PyTorch's float32 normal_ uses the Cephes polynomials (Moshier; logf, sinf, cosf of the single
// precision library), eight at a time, for AVX2 and AVX-512 alike. Coefficients, order of
// evaluation and the fusing of products with sums follow it, so that the results are the same to
// the last bit. Arguments are uniform numbers: x in (0, 1] for log, [0, 2 pi) for the angle.

inline Floats log(Floats x) {
  Ints bits = Ints(x);
  Ints exponent = Ints(Words(bits) >> 23) - 0x7f;
  x = Floats((bits & ~0x7f800000) | 0x3f000000);  // mantissa in [0.5, 1)
  Floats e = __builtin_convertvector(exponent, Floats) + 1.0f;
  const Ints small = x < 0.707106781186547524f;
  const Floats kept = Floats(Ints(x) & small);
  x = x - 1.0f;
  e = e - Floats(Ints(all(1.0f)) & small);
  x = x + kept;
  const Floats z = x * x;
  Floats y = all(7.0376836292e-2f);
  y = fma(y, x, all(-1.1514610310e-1f));
  y = fma(y, x, all(1.1676998740e-1f));
  y = fma(y, x, all(-1.2420140846e-1f));
  y = fma(y, x, all(1.4249322787e-1f));
  y = fma(y, x, all(-1.6668057665e-1f));
  y = fma(y, x, all(2.0000714765e-1f));
  y = fma(y, x, all(-2.4999993993e-1f));
  y = fma(y, x, all(3.3333331174e-1f));
  y = y * x;
  y = fma(y, z, e * -2.12194440e-4f);
  y = fma(z, all(-0.5f), y);
  return fma(e, all(0.693359375f), x + y);
}

inline void sine_cosine(Floats x, Floats* sine, Floats* cosine) {
  // x >= 0: no sign to take off. The octant, made even, chooses polynomial and sign.
  Ints octant = __builtin_convertvector(x * 1.27323954473516f, Ints);
  octant = (octant + 1) & ~1;
  const Floats y = __builtin_convertvector(octant, Floats);
  const Ints sine_sign = (octant & 4) << 29;
  const Ints cosine_sign = (~(octant - 2) & 4) << 29;
  const Ints straight = (octant & 2) == 0;  // sine is sine here, else the two trade places
  x = fma(y, all(-0.78515625f), x);
  x = fma(y, all(-2.4187564849853515625e-4f), x);
  x = fma(y, all(-3.77489497744594108e-8f), x);
  const Floats z = x * x;
  Floats c = fma(all(2.443315711809948e-5f), z, all(-1.388731625493765e-3f));
  c = fma(c, z, all(4.166664568298827e-2f));
  c = c * z;
  c = fma(c, z, z * -0.5f);
  c = c + 1.0f;
  Floats s = fma(all(-1.9515295891e-4f), z, all(8.3321608736e-3f));
  s = fma(s, z, all(-1.6666654611e-1f));
  s = s * z;
  s = fma(s, x, x);
  *sine = Floats(Ints(straight ? s : c) ^ sine_sign);
  *cosine = Floats(Ints(straight ? c : s) ^ cosine_sign);
}

void normal(float* data, int64_t blocks, float mean, float std) {
  const Floats shift = all(mean), scale = all(std);
  for (; blocks > 0; --blocks, data += 16) {
    for (float* p = data; p < data + 8; p += kLanes) {
      const Floats radius = square_root(log(1.0f - load<Floats>(p)) * -2.0f);
      Floats sine, cosine;
      sine_cosine(load<Floats>(p + 8) * float(2.0 * 3.14159265358979323846), &sine, &cosine);
      store(p, fma(radius * cosine, scale, shift));
      store(p + 8, fma(radius * sine, scale, shift));
    }
  }
}

void uniform(const uint32_t* bits, float* out, int64_t n, float from, float to) {
  const Floats width = all(to - from), low = all(from);
  const auto some = [&](const uint32_t* b) {
    const Ints whole = load<Ints>(b) & 0xffffff;
    const Floats x = __builtin_convertvector(whole, Floats) * 5.9604644775390625e-8f;
    const Floats value = from == 0 ? x * width : fma(x, width, low);
    return value == all(to) ? low : value;
  };
  for (; n >= kLanes; n -= kLanes, bits += kLanes, out += kLanes) store(out, some(bits));
  if (n > 0) {
    uint32_t rest[kLanes] = {};
    __builtin_memcpy(rest, bits, size_t(n) * 4);
    const Floats value = some(rest);
    __builtin_memcpy(out, &value, size_t(n) * 4);
  }
}

}  // namespace

const RandomLoops random_loops = {uniform, normal};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
