// The error of a matrix that has no inverse, no factors, no convergence: torch.linalg.LinAlgError.
#pragma once
#include "base/error.h"

namespace rl {

class LinAlgError : public Error {
 public:
  explicit LinAlgError(std::string message) : Error(ErrorKind::Runtime, std::move(message)) {}
};

}  // namespace rl
