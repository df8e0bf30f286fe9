// The event stream: who subscribed, and the threads whose mode words must know.
#include "observe/events.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace rl {

constinit thread_local uint32_t modes_word = kNewThread;
constinit thread_local uint64_t current_origin = 0;

namespace {

struct Subscription { Subscriber* who; uint32_t kinds; };
std::shared_mutex lock;
std::vector<Subscription> subscriptions;
std::vector<uint32_t*> words;  // of every registered thread
uint32_t all_kinds = 0;

struct Registration {
  Registration() {
    std::unique_lock hold(lock);
    words.push_back(&modes_word);
    modes_word |= all_kinds;
  }
  ~Registration() {
    std::unique_lock hold(lock);
    std::erase(words, &modes_word);
  }
};

// The words belong to other threads, which change their own modes without a lock. The exchange
// never undoes such a change. A change may undo the exchange, where a thread is between reading and
// writing its word: it then hears what it heard before until the next change of subscriptions.
void publish() {
  all_kinds = 0;
  for (const Subscription& s : subscriptions) all_kinds |= s.kinds;
  for (uint32_t* w : words) {
    uint32_t seen = __atomic_load_n(w, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(w, &seen, (seen & ~kObserve) | all_kinds, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
}

// Note [Fork]
// The lock is taken before a fork, so that no other thread is within a subscriber and holds its
// lock: a child that waited for it would wait for ever. A thread that is there may wait for
// Python, whose lock the forking thread has: so this waits for a while only, and a child that
// could then not be sure hears nothing. Two threads may fork at once: each knows its own hold.
constinit thread_local bool held_for_fork = false;

void before_fork() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (!(held_for_fork = lock.try_lock()) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void after_fork_in_parent() {
  if (held_for_fork) lock.unlock();
}

void after_fork_in_child() {
  new (&lock) std::shared_mutex;
  if (!held_for_fork) subscriptions.clear();
  words.clear();
  if (!(modes_word & kNewThread)) words.push_back(&modes_word);
  publish();
}

[[gnu::constructor]] void watch_forks() {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

template <class F> void tell(uint32_t kind, F&& f) {
  std::shared_lock hold(lock);
  for (const Subscription& s : subscriptions)
    if (s.kinds & kind) f(s.who);
}

}  // namespace

void register_thread() {
  thread_local Registration here;
  (void)here;
  modes_word &= ~kNewThread;
}

bool heard(uint32_t kind) {
  if (modes_word & kNewThread) register_thread();
  return modes_word & kind;
}

void subscribe(Subscriber* s, uint32_t kinds) {
  register_thread();
  std::unique_lock hold(lock);
  subscriptions.push_back({s, kinds});
  publish();
}

void unsubscribe(Subscriber* s) {
  std::unique_lock hold(lock);
  std::erase_if(subscriptions, [s](const Subscription& x) { return x.who == s; });
  publish();
}

void observe_op_begin(const Record& r, const Arg* args) {
  tell(kObserveOps, [&](Subscriber* s) { s->op_begin(r, args); });
}
void observe_op_end(const Record& r, const Value* results, bool failed) {
  tell(kObserveOps, [&](Subscriber* s) { s->op_end(r, results, failed); });
}
void observe_memory(Storage* s, int64_t bytes) {
  tell(kObserveMemory, [&](Subscriber* w) { w->memory(s, bytes); });
}
void observe_node(Node& n, void (Subscriber::*event)(Node&)) {
  tell(kObserveNodes, [&](Subscriber* s) { (s->*event)(n); });
}

}  // namespace rl
