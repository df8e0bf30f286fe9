// Anomaly mode: nodes remember where they were made, and backward stops at the first NaN.
#pragma once
#include "autograd/node.h"

namespace rl {

// Bind supplies how a call is remembered and how a failure is told.
struct AnomalyHooks {
  void* (*trace)() = nullptr;                // where the program is now; Node::anomaly_trace
  void (*report)(const Node& failed) = nullptr;
};
extern AnomalyHooks anomaly_hooks;
extern bool anomaly_checks_nan;              // whether gradients are searched for NaN

void remember_origin(Node& node);            // at birth, while the mode is on
void refuse_nan(const Node& node, const Tensors& made);

}  // namespace rl
