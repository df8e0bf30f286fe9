// Distinct values, places in sorted tables, and histograms.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// The distinct values in ascending order; returns how many. values has room for n; inverse (n, the
// place of each element's value) and counts (room for n) may be null. Each NaN is a value of its
// own. All dtypes but complex.
int64_t unique(const void* input, DType dtype, int64_t n, void* values, int64_t* inverse,
               int64_t* counts);
// The same of neighbours only, in the order they come. All dtypes.
int64_t unique_consecutive(const void* input, DType dtype, int64_t n, void* values,
                           int64_t* inverse, int64_t* counts);
// Distinct rows, ordered by their first differing element; `first` (room for `rows`) gets one row
// of each kind. inverse (rows) and counts (room for rows) may be null.
int64_t unique_rows(const void* input, DType dtype, int64_t rows, int64_t size, int64_t* first,
                    int64_t* inverse, int64_t* counts);

// Where each of `width` inputs per row goes into its row of `size` ascending boundaries: before
// equals, or after them if `right`; NaN goes last. `shared`: one row of boundaries serves all.
// sorter (as boundaries, may be null) holds the order that sorts them, each in [0, size).
// result: int64, or int32 if `narrow`. Input and boundaries have one dtype; bool as PyTorch only
// where the caller allows it.
struct Search {
  const void* boundaries;
  const int64_t* sorter;
  const void* input;
  DType dtype;
  int64_t rows, size, width;
  bool shared, right, narrow;
};
void searchsorted(const Search& s, void* result);

// The number of bins bincount needs (largest value + 1), or -1 if some value is negative.
int64_t bincount_size(const void* input, DType dtype, int64_t n);
// counts[v] = how often v comes, or the sum of its weights. counts start at zero here. Integral
// dtypes; weights and sums are float or double.
void bincount(const void* input, DType dtype, int64_t n, int64_t bins, int64_t* counts);
void bincount(const void* input, DType dtype, int64_t n, int64_t bins, const float* weights,
              float* sums);
void bincount(const void* input, DType dtype, int64_t n, int64_t bins, const double* weights,
              double* sums);

// How a histogram finds the bin of a number: by proportion (histc), by proportion corrected at the
// edges (bins made by linspace), or by search (edges of the caller's).
enum class Binning : uint8_t { Proportion, Corrected, Search };
// n points of `dims` coordinates into the bins between edges[d][0..bins[d]]; the last bin holds its
// right edge, points outside and NaN are left out. result: product of bins. All of one floating
// dtype; weights (n) may be null. Counts are exact, also where PyTorch's stop growing (256 in
// bfloat16); weights are summed in the order of points, in float or double.
struct Histogram {
  const void* points;
  const void* weights;
  const void* const* edges;
  const int64_t* bins;
  int dims;
  int64_t n;
  DType dtype;
  Binning binning;
};
void histogram(const Histogram& h, void* result);

}  // namespace rl::kernels
