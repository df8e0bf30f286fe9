// Python's operators on tensors: the type's number slots and which ops serve them.
#pragma once
#include "bind/op.h"

namespace rl::bind {

void* operator_slot(const char* name);   // "add", "iadd", "neg", "compare"
// Called once per record that names an operator.
void set_operator(const std::string& name, OpName* op, OpName* in_place, uint32_t more);

}  // namespace rl::bind
