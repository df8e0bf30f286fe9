// Drawing from a generator for a tensor: what the random ops share.
#pragma once
#include <mutex>

#include "kernels/random.h"
#include "ops/ops.h"
#include "tensor/iterator.h"

namespace rl::ops {

// The generator of a call, the default one unless given, locked for all draws of one tensor.
class Drawing {
 public:
  explicit Drawing(Generator* given)
      : generator_(given ? *given : default_generator()), lock_(generator_.mutex()) {}
  Generator& generator() { return generator_; }

 private:
  Generator& generator_;
  std::lock_guard<std::mutex> lock_;
};

// Calls f(generator, run) for each innermost run of the tensor, in the order of its memory.
template <class F> void each_run(const Tensor& t, Generator* given, F f) {
  Drawing drawing(given);
  StridedLoop over(t.sizes());
  over.add(t);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    f(drawing.generator(), kernels::Run{p[0], t.dtype(), n, s[0]});
  }, INT64_MAX);
}
// The same with operands; f(generator, run, operand) or f(generator, run, first, second).
template <class F> void each_run_with(const Tensor& t, std::initializer_list<Tensor> with,
                                      Generator* given, F f) {
  Drawing drawing(given);
  StridedLoop over(t.sizes());
  over.add(t);
  for (const Tensor& w : with) over.add(w);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    kernels::ConstRun runs[2];
    int k = 0;
    for (const Tensor& w : with) {
      runs[k] = {p[k + 1], w.dtype(), s[k + 1]};
      ++k;
    }
    f(drawing.generator(), kernels::Run{p[0], t.dtype(), n, s[0]}, runs);
  }, INT64_MAX);
}

extern const Op<Tensor(Tensor, Tensor)> standard_gamma_grad;

// A complex tensor as twice as many reals.
Tensor reals_of(const Tensor& t);
// PyTorch's '"name" not implemented for 'Long''.
[[noreturn]] void not_for(const char* kernel, DType dtype);
void fill_normal(const Tensor& t, double mean, double std, Generator* generator);

}  // namespace rl::ops
