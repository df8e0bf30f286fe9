// Where a tensor's data lies.
#pragma once
#include <cstdint>

namespace rl {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14 };  // PyTorch's numbers

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;
  constexpr bool operator==(const Device& o) const { return type == o.type && index == o.index; }
  constexpr bool is_cpu() const { return type == DeviceType::CPU; }
  constexpr bool is_meta() const { return type == DeviceType::Meta; }
};

constexpr const char* name_of(DeviceType t) {
  return t == DeviceType::CPU ? "cpu" : t == DeviceType::CUDA ? "cuda" : "meta";
}

}  // namespace rl
