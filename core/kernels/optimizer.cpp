// Optimizer steps: the numbers of each parameter, then threads over the list laid end to end.
#include "kernels/optimizer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/levels/optimizer.h"
#include "kernels/levels/rows.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // elements: less is not worth another thread
constexpr int64_t kBlock = 16384;  // elements summed as one

// Calls f(item, begin, end) for the pieces of a list laid end to end that [first, last) covers.
template <class SizeOf, class F>
void pieces(int64_t count, int64_t first, int64_t last, SizeOf&& size_of, F&& f) {
  int64_t start = 0;
  for (int64_t k = 0; k < count && start < last; ++k) {
    const int64_t size = size_of(k);
    const int64_t begin = std::max(first - start, int64_t(0));
    const int64_t end = std::min(last - start, size);
    if (begin < end) f(k, begin, end);
    start += size;
  }
}

template <class SizeOf> int64_t total_size(int64_t count, SizeOf&& size_of) {
  int64_t sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += size_of(k);
  return sum;
}

template <class T> T* moved(void* p, int64_t by) { return p ? static_cast<T*>(p) + by : nullptr; }

// numbers_of(item) -> StepNumbers; it is asked again only when the item's step differs.
template <class T, class NumbersOf>
void run(typename OptimizerLoops<T>::Loop loop, const StepItem* items, int64_t count,
         NumbersOf&& numbers_of) {
  const auto size_of = [&](int64_t k) { return items[k].size; };
  parallel_for(0, total_size(count, size_of), kGrain, [&](int64_t first, int64_t last) {
    const StepItem* before = nullptr;
    StepNumbers numbers;
    pieces(count, first, last, size_of, [&](int64_t k, int64_t begin, int64_t end) {
      const StepItem& item = items[k];
      if (!before || before->step != item.step || before->product != item.product)
        numbers = numbers_of(item);
      before = &item;
      loop({moved<T>(item.param, begin), static_cast<const T*>(item.grad) + begin,
            moved<T>(item.state[0], begin), moved<T>(item.state[1], begin),
            moved<T>(item.state[2], begin), end - begin},
           numbers);
    });
  });
}

template <class NumbersOf>
void dispatch_run(DType t, OptimizerLoops<float>::Loop OptimizerLoops<float>::*single,
                  OptimizerLoops<double>::Loop OptimizerLoops<double>::*twice,
                  const StepItem* items, int64_t count, NumbersOf&& numbers_of) {
  if (t == DType::Double)
    run<double>(optimizer_loops<double>().*twice, items, count, numbers_of);
  else
    run<float>(optimizer_loops<float>().*single, items, count, numbers_of);
}
#define RL_LOOP(name) &OptimizerLoops<float>::name, &OptimizerLoops<double>::name

StepNumbers base_numbers(const AdamOptions& o) {
  StepNumbers s;
  s.maximize = o.maximize;
  if (o.decoupled) s.shrink = 1 - o.lr * o.weight_decay;
  else s.decay = o.weight_decay;
  return s;
}

StepNumbers radam_numbers(const StepItem& item, const AdamOptions& o) {
  StepNumbers s = base_numbers(o);
  const double power = std::pow(o.beta2, item.step), correction2 = 1 - power;
  const double rho_inf = 2 / (1 - o.beta2) - 1;
  const double rho = rho_inf - 2 * item.step * power / correction2;
  s.flag = rho > 5;
  const double rectification =
      s.flag ? std::sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))
             : 1;
  const double k[] = {1 - o.beta1, o.beta2, 1 - std::pow(o.beta1, item.step), o.lr,
                      std::sqrt(correction2) * rectification, o.eps};
  std::copy(k, k + 6, s.k);
  return s;
}

}  // namespace

void sgd_step(DType t, const StepItem* items, int64_t count, const SgdOptions& o) {
  dispatch_run(t, RL_LOOP(sgd), items, count, [&](const StepItem& item) {
    return StepNumbers{o.maximize, o.weight_decay, 1, o.nesterov, item.step == 1,
                       {-o.lr, o.momentum, 1 - o.dampening}};
  });
}

void adam_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o) {
  dispatch_run(t, RL_LOOP(adam), items, count, [&](const StepItem& item) {
    StepNumbers s = base_numbers(o);
    s.flag = o.amsgrad;
    const double k[] = {1 - o.beta1, o.beta2, 1 - o.beta2,
                        std::sqrt(1 - std::pow(o.beta2, item.step)), o.eps,
                        -o.lr / (1 - std::pow(o.beta1, item.step))};
    std::copy(k, k + 6, s.k);
    return s;
  });
}

double nadam_factor(double step, const AdamOptions& o) {
  return o.beta1 * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay));
}

void nadam_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o) {
  dispatch_run(t, RL_LOOP(nadam), items, count, [&](const StepItem& item) {
    StepNumbers s = base_numbers(o);
    const double mu = nadam_factor(item.step, o), following = nadam_factor(item.step + 1, o);
    const double k[] = {1 - o.beta1, o.beta2, 1 - std::pow(o.beta2, item.step), o.eps,
                        -o.lr * (1 - mu) / (1 - item.product),
                        -o.lr * following / (1 - item.product * following)};
    std::copy(k, k + 6, s.k);
    return s;
  });
}

void radam_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o) {
  dispatch_run(t, RL_LOOP(radam), items, count,
               [&](const StepItem& item) { return radam_numbers(item, o); });
}

void adamax_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o) {
  dispatch_run(t, RL_LOOP(adamax), items, count, [&](const StepItem& item) {
    StepNumbers s = base_numbers(o);
    const double k[] = {1 - o.beta1, o.beta2, o.eps, -o.lr / (1 - std::pow(o.beta1, item.step))};
    std::copy(k, k + 4, s.k);
    return s;
  });
}

void adagrad_step(DType t, const StepItem* items, int64_t count, const AdagradOptions& o) {
  dispatch_run(t, RL_LOOP(adagrad), items, count, [&](const StepItem& item) {
    return StepNumbers{o.maximize, o.weight_decay, 1, false, false,
                       {o.eps, -o.lr / (1 + (item.step - 1) * o.lr_decay)}};
  });
}

void adadelta_step(DType t, const StepItem* items, int64_t count, const AdadeltaOptions& o) {
  dispatch_run(t, RL_LOOP(adadelta), items, count, [&](const StepItem&) {
    return StepNumbers{o.maximize, o.weight_decay, 1, false, false, {o.rho, o.eps, -o.lr}};
  });
}

void rmsprop_step(DType t, const StepItem* items, int64_t count, const RmspropOptions& o) {
  dispatch_run(t, RL_LOOP(rmsprop), items, count, [&](const StepItem&) {
    return StepNumbers{o.maximize, o.weight_decay, 1, o.centered, false,
                       {o.alpha, o.eps, -o.lr, o.momentum}};
  });
}

template <class T>
static void sum_squares(const void* const* arrays, const int64_t* sizes, int64_t count,
                        double* out) {
  std::vector<int64_t> first_block(size_t(count + 1), 0);
  for (int64_t k = 0; k < count; ++k)
    first_block[size_t(k + 1)] = first_block[size_t(k)] + (sizes[k] + kBlock - 1) / kBlock;
  const int64_t blocks = first_block[size_t(count)];
  std::vector<double> part(static_cast<size_t>(blocks));
  const auto& loops = row_loops<T>();
  int64_t elements = 0;
  for (int64_t k = 0; k < count; ++k) elements += sizes[k];
  parallel_for(0, blocks, elements < kGrain ? blocks : 1, [&](int64_t begin, int64_t end) {
    int64_t k = std::upper_bound(first_block.begin(), first_block.end(), begin) -
                first_block.begin() - 1;
    for (int64_t b = begin; b < end; ++b) {
      while (b >= first_block[size_t(k + 1)]) ++k;
      const int64_t at = (b - first_block[size_t(k)]) * kBlock;
      const T* const x = static_cast<const T*>(arrays[k]) + at;
      part[size_t(b)] = double(loops.dot(x, x, std::min(kBlock, sizes[k] - at)));
    }
  });
  for (int64_t k = 0; k < count; ++k) {
    out[k] = 0;
    for (int64_t b = first_block[size_t(k)]; b < first_block[size_t(k + 1)]; ++b)
      out[k] += part[size_t(b)];
  }
}

void list_sum_squares(DType t, const void* const* arrays, const int64_t* sizes, int64_t count,
                      double* out) {
  if (t == DType::Double) sum_squares<double>(arrays, sizes, count, out);
  else sum_squares<float>(arrays, sizes, count, out);
}

template <class T>
static void scale_list(void* const* arrays, const int64_t* sizes, int64_t count, T factor) {
  const auto& loops = row_loops<T>();
  const auto size_of = [&](int64_t k) { return sizes[k]; };
  parallel_for(0, total_size(count, size_of), kGrain, [&](int64_t first, int64_t last) {
    pieces(count, first, last, size_of, [&](int64_t k, int64_t begin, int64_t end) {
      loops.scale(static_cast<T*>(arrays[k]) + begin, factor, end - begin);
    });
  });
}

void list_scale(DType t, void* const* arrays, const int64_t* sizes, int64_t count, double factor) {
  if (t == DType::Double) scale_list<double>(arrays, sizes, count, factor);
  else scale_list<float>(arrays, sizes, count, float(factor));
}

}  // namespace rl::kernels
