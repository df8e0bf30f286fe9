// Loops of the optimizers over part of one parameter.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

// The arrays of one parameter, at the first of n elements; a, b, c are its states.
template <class T> struct StepRange {
  T* param;
  const T* grad;
  T *a, *b, *c;
  int64_t n;
};

// The numbers of one parameter's step; what each loop reads of `k` is listed with it.
struct StepNumbers {
  bool maximize = false;
  double decay = 0;        // weight decay added to the gradient
  double shrink = 1;       // what decoupled weight decay multiplies the parameter by
  bool flag = false, flag2 = false;
  double k[6] = {};
};

template <class T> struct OptimizerLoops {
  using Loop = void (*)(const StepRange<T>&, const StepNumbers&);
  Loop sgd;       // -lr, momentum, 1 - dampening; flag nesterov, flag2 first step; a momentum
  Loop adam;      // 1-beta1, beta2, 1-beta2, sqrt(1-beta2^t), eps, -lr/(1-beta1^t); flag amsgrad
  Loop nadam;     // 1-beta1, beta2, 1-beta2^t, eps, factor of grad, factor of exp_avg
  // 1-beta1, beta2, 1-beta1^t, lr, sqrt(1-beta2^t) times the rectification, eps; flag rectified
  Loop radam;
  Loop adamax;    // 1-beta1, beta2, eps, -lr/(1-beta1^t)
  Loop adagrad;   // eps, -lr/(1+(t-1) lr_decay)
  Loop adadelta;  // rho, eps, -lr
  Loop rmsprop;   // alpha, eps, -lr, momentum; flag centered
};
RL_LEVEL_TABLES(OptimizerLoops, optimizer_loops)

}  // namespace rl::kernels
