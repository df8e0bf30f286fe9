// Random fills that draw what PyTorch's CPU kernels draw, value for value.
//
// Note [Order of random fills]
// PyTorch draws element after element in the order of memory, not of indices: dimensions sorted
// by stride, smallest innermost (its TensorIterator). Since all state is in the generator, a caller
// fills a strided tensor by one call per innermost run, in that order; a contiguous tensor, or any
// dense one, is one call. Two fills look further: `normal` of 16 or more elements of a contiguous
// (row-major) tensor is `normal_dense`, while other layouts take `normal`, whose numbers differ;
// and a fill with an operand (tensor p, rate, concentration) follows the iterator of both.
// Complex tensors are filled as twice as many reals; normal then with std / sqrt(2).
// The caller holds the generator's mutex over all calls of one tensor and has checked arguments.
//
// Formulas: ATen/core/TransformationHelper.h, ATen/native/cpu/DistributionTemplates.h as PyTorch
// 2.13 compiles them for AVX2: where its compiler fuses a product and a sum, so do these.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "base/generator.h"

namespace rl::kernels {

// n elements of dtype, `stride` bytes apart.
struct Run {
  void* data;
  DType dtype;
  int64_t n;
  int64_t stride;
};
inline Run dense_run(void* data, DType dtype, int64_t n) {
  return {data, dtype, n, item_size(dtype)};
}
// An operand beside a Run: same count, its own dtype and stride.
struct ConstRun {
  const void* data;
  DType dtype;
  int64_t stride;
};

// Floating dtypes.
void uniform(Generator& g, Run out, double from, double to);
void normal(Generator& g, Run out, double mean, double std);
void normal_dense(Generator& g, Run out, double mean, double std);  // contiguous, n >= 16
void log_normal(Generator& g, Run out, double mean, double std);
void cauchy(Generator& g, Run out, double median, double sigma);
void exponential(Generator& g, Run out, double lambda);

// All dtypes but complex.
void geometric(Generator& g, Run out, double p);
void bernoulli(Generator& g, Run out, double p);
void bernoulli(Generator& g, Run out, ConstRun p);  // p floating; float draws unless p is double

// base + [0, range): 64-bit draws from 2^28 on.
void random_range(Generator& g, Run out, uint64_t range, int64_t base);
// random_() without bounds: [0, largest_natural(dtype)].
void random_natural(Generator& g, Run out);
// The largest value of integers, 2^digits of floats, 1 of bool: also the end of random_(from, None).
int64_t largest_natural(DType dtype);
// random_(-2^63, None): all 64-bit integers. int64, double, float and bfloat16 only.
void random_all(Generator& g, Run out);
// The nearest bounds inside [from, to) that survive rounding to a floating dtype.
int64_t exact_from(DType dtype, int64_t from);
int64_t exact_to(DType dtype, int64_t to);

// A random order of 0..n-1; any dtype but bool and complex.
void permutation(Generator& g, Run out);

// Why a row of probabilities was refused.
enum class Refusal : uint8_t { None, Negative, NotFinite, ZeroSum };
// `samples` indices per row, drawn independently. (One sample PyTorch draws by
// multinomial_distinct, with replacement or without.) Rows lie row_stride bytes apart; half types
// are summed in float. result: rows x samples.
Refusal multinomial(Generator& g, ConstRun probs, int64_t row_stride, int64_t rows,
                    int64_t categories, int64_t samples, int64_t* result);
// Without replacement: the `samples` largest p / Exp(1), as topk orders them (one: the first
// largest). Probabilities are checked by the caller and must lie row after row: PyTorch draws the
// divisors in the order of memory.
void multinomial_distinct(Generator& g, ConstRun probs, int64_t row_stride, int64_t rows,
                          int64_t categories, int64_t samples, int64_t* result);

// Floating dtypes; operands have the result's dtype. Rates must be >= 0, checked by the caller.
void poisson(Generator& g, Run out, ConstRun rate);
void binomial(Generator& g, Run out, ConstRun count, ConstRun prob);
void gamma(Generator& g, Run out, ConstRun concentration);
void dirichlet(Generator& g, Run row, ConstRun concentration, double* scratch);  // row.n doubles

}  // namespace rl::kernels
