// Ctrl-C during a long kernel: the calling thread asks between pieces of work.
#pragma once
#include <atomic>
#include <exception>

namespace rl {

// Unwinds a kernel that the user interrupted; bind holds the Python exception.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// Set by bind: whether the calling thread is to stop. May take the interpreter lock.
extern std::atomic<bool (*)()> interrupt_hook;

// Asks at most every 50 ms; throws Interrupted. Call it where nothing is half done that others see.
void poll_interrupt();

}  // namespace rl
