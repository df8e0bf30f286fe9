// Errors with the kind of Python exception they become, and check(), the one way to throw them.
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

namespace rl {

enum class ErrorKind { Runtime, Type, Value, Index, NotImplemented, Overflow, ZeroDivision, Memory,
                       Attribute, Assertion };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

inline void append(std::string& s, std::string_view v) { s.append(v); }
inline void append(std::string& s, const char* v) { s.append(v); }
inline void append(std::string& s, char v) { s.push_back(v); }
inline void append(std::string& s, bool v) { s.append(v ? "true" : "false"); }
template <class T>
std::enable_if_t<std::is_integral_v<T>> append(std::string& s, T v) { s.append(std::to_string(v)); }
void append(std::string& s, double v);  // as C++ streams print it: six significant digits

// Anything with begin() and end() is written as [a, b], as PyTorch writes sizes.
template <class T>
auto append(std::string& s, const T& list) -> std::enable_if_t<
    !std::is_convertible_v<T, std::string_view> && !std::is_arithmetic_v<T>,
    decltype(void(list.begin()))> {
  s.push_back('[');
  bool first = true;
  for (const auto& v : list) {
    if (!first) s.append(", ");
    append(s, v);
    first = false;
  }
  s.push_back(']');
}

template <class... A> std::string text(const A&... parts) {
  std::string s;
  (append(s, parts), ...);
  return s;
}

template <class... A> [[noreturn, gnu::cold, gnu::noinline]]
void fail(ErrorKind kind, const A&... parts) {
  throw Error(kind, text(parts...));
}

template <class... A> inline void check(bool good, const A&... parts) {
  if (__builtin_expect(!good, 0)) fail(ErrorKind::Runtime, parts...);
}
template <class... A> inline void check(bool good, ErrorKind kind, const A&... parts) {
  if (__builtin_expect(!good, 0)) fail(kind, parts...);
}

// Warnings go where bind sends them (Python's warnings); an Error comes back where they raise.
extern void (*warn_hook)(const char* message);
void warn(const std::string& message);

}  // namespace rl
