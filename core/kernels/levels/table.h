// Tables of loops, one per vector level: how baseline code finds the one for this CPU.
#pragma once
#include "base/level.h"

// Declares name<T>() for a table template that each level defines as name_float and name_double.
#if defined(__x86_64__)
#define RL_LEVEL_TABLES(Table, name)                                                      \
  namespace level0 { extern const Table<float> name##_float;                            \
                       extern const Table<double> name##_double; }                        \
  namespace level1 { extern const Table<float> name##_float;                                \
                   extern const Table<double> name##_double; }                            \
  namespace level2 { extern const Table<float> name##_float;                              \
                     extern const Table<double> name##_double; }                          \
  template <class T> const Table<T>& name();                                              \
  template <> inline const Table<float>& name<float>() {                                  \
    const Level level = cpu_level();                                                      \
    return level == Level::Avx512 ? level2::name##_float                                  \
         : level == Level::Avx2 ? level1::name##_float : level0::name##_float;            \
  }                                                                                       \
  template <> inline const Table<double>& name<double>() {                                \
    const Level level = cpu_level();                                                      \
    return level == Level::Avx512 ? level2::name##_double                                 \
         : level == Level::Avx2 ? level1::name##_double : level0::name##_double;          \
  }
#else
#define RL_LEVEL_TABLES(Table, name)                                                      \
  namespace level0 { extern const Table<float> name##_float;                            \
                       extern const Table<double> name##_double; }                        \
  template <class T> const Table<T>& name();                                              \
  template <> inline const Table<float>& name<float>() { return level0::name##_float; } \
  template <> inline const Table<double>& name<double>() { return level0::name##_double; }
#endif
