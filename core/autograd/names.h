// What messages call a node.
#pragma once
#include <string>

#include "autograd/node.h"

namespace rl {

// Classes other than an op's (AddBackward0) or a function's (MyFnBackward) are C++:
// "torch::autograd::CopySlices".
inline std::string full_name(const Node& node) {
  std::string s = node.name();
  const size_t at = s.find("Backward");
  const bool plain = at == std::string::npos || s.substr(at) == "Backwards";
  return plain && s.rfind("torch::", 0) != 0 ? "torch::autograd::" + s : s;
}

// "Add" for AddBackward0, "MyFn" for MyFnBackward: the operation that the user wrote.
inline std::string forward_name(const Node& node) {
  std::string s = full_name(node);
  const size_t at = s.rfind("Backward");
  if (at == std::string::npos || at == 0) return s;
  if (s.find_first_not_of("0123456789", at + 8) == std::string::npos) s.resize(at);
  return s;
}

}  // namespace rl
