// No static object is destroyed: threads may compute until the process is gone.

// Note [The end of the process]
// Threads that Python calls daemons go on while exit() runs, and with them kernels that read the
// table of ops. What would take it apart is registered by this function of the C++ ABI, whose name
// is bound within each library that has this file. Thread-local objects are not concerned.
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
