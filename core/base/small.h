// Small<T, N>: a vector whose first N elements lie inside; Span<T>: a borrowed range.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

namespace rl {

template <class T> class Span {
 public:
  constexpr Span() = default;
  constexpr Span(const T* data, size_t size) : data_(data), size_(size) {}
  Span(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  // For arguments only: the list lives as long as the call.
  Span(std::initializer_list<T> v) : size_(v.size()) { data_ = v.begin(); }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& back() const { return data_[size_ - 1]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  bool operator==(const Span& o) const {
    if (size_ != o.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == o.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T, size_t N> class Small {
 public:
  Small() = default;
  Small(size_t n, const T& v) { resize(n, v); }
  Small(std::initializer_list<T> v) { for (const T& x : v) push_back(x); }
  Small(Span<T> v) { fill(v.data(), uint32_t(v.size())); }
  Small(const Small& o) { fill(o.data_, o.size_); }
  Small(Small&& o) noexcept { take(o); }
  Small& operator=(const Small& o) {
    if (this != &o) { clear(); fill(o.data_, o.size_); }
    return *this;
  }
  Small& operator=(Small&& o) noexcept {
    if (this != &o) { destroy(); take(o); }
    return *this;
  }
  ~Small() { destroy(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator Span<T>() const { return {data_, size_}; }
  bool operator==(const Small& o) const { return Span<T>(*this) == Span<T>(o); }

  void push_back(T v) {
    if (size_ == capacity_) grow(size_ * 2 + 1);
    new (data_ + size_) T(std::move(v));
    ++size_;
  }
  template <class... A> T& emplace_back(A&&... a) {
    if (size_ == capacity_) grow(size_ * 2 + 1);
    return *new (data_ + size_++) T(std::forward<A>(a)...);
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() { while (size_) pop_back(); }
  void reserve(size_t n) { if (n > capacity_) grow(n); }
  void resize(size_t n, const T& v = T()) {
    reserve(n);
    while (size_ > n) pop_back();
    for (; size_ < n; ++size_) new (data_ + size_) T(v);
  }
  void insert(size_t at, T v) {
    push_back(std::move(v));
    for (size_t i = size_ - 1; i > at; --i) std::swap(data_[i], data_[i - 1]);
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data_[i] = std::move(data_[i + 1]);
    pop_back();
  }

 private:
  T* inside() { return reinterpret_cast<T*>(room_); }
  void grow(size_t n) {
    T* fresh = static_cast<T*>(::operator new(n * sizeof(T)));
    for (size_t i = 0; i < size_; ++i) {
      new (fresh + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != inside()) ::operator delete(data_);
    data_ = fresh;
    capacity_ = uint32_t(n);
  }
  void fill(const T* from, uint32_t n) {  // of an empty one
    reserve(n);
    for (size_t i = 0; i < n; ++i) new (data_ + i) T(from[i]);
    size_ = uint32_t(n);
  }
  void destroy() {
    clear();
    if (data_ != inside()) ::operator delete(data_);
    data_ = inside();
    capacity_ = N;
  }
  void take(Small& o) {
    if (o.data_ != o.inside()) {
      data_ = o.data_;
      size_ = o.size_;
      capacity_ = o.capacity_;
      o.data_ = o.inside();
      o.capacity_ = N;
      o.size_ = 0;
      return;
    }
    for (size_t i = 0; i < o.size_; ++i) new (data_ + i) T(std::move(o.data_[i]));
    size_ = o.size_;
    o.clear();
  }

  T* data_ = inside();
  uint32_t size_ = 0, capacity_ = N;
  alignas(T) unsigned char room_[N * sizeof(T)];
};

using Dims = Small<int64_t, 6>;   // sizes, strides, dims
using Ints = Span<int64_t>;

}  // namespace rl
