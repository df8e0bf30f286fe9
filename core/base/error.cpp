// Writing numbers into messages, and warnings.
#include "base/error.h"

#include <cstdio>

namespace rl {

void (*warn_hook)(const char* message) = nullptr;

void warn(const std::string& message) {
  if (warn_hook) warn_hook(message.c_str());
}

void append(std::string& s, double v) {
  char room[40];
  std::snprintf(room, sizeof room, "%g", v);
  s.append(room);
}

}  // namespace rl
