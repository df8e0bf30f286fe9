// The default dtype, and how the three groups of operands combine.
#include "ops/promotion.h"

#include <atomic>

namespace rl {
namespace {
std::atomic<DType> default_{DType::Float};
}

DType default_dtype() { return default_.load(std::memory_order_relaxed); }
void set_default_dtype(DType t) { default_.store(t, std::memory_order_relaxed); }

// The group with more say keeps its dtype unless the other has a higher category.
DType Promotion::combine(DType high, DType low) {
  if (high == DType::Undefined) return low;
  if (low == DType::Undefined) return high;
  if (is_complex(high)) return high;
  if (is_floating(high)) {
    check(!is_complex(low) || !is_stored_only(high), "Unknown Complex ScalarType for ",
          type_name_of(high));
    if (is_complex(low)) return complex_of(high);
    return high;
  }
  if (is_wide_unsigned(high) && is_complex(low)) return low;
  if (high == DType::Bool || is_floating(low) || is_complex(low)) return promote(high, low);
  return high;
}

}  // namespace rl
