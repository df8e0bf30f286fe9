// Rows of a table by index: embedding, embedding bags, and their gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Indices into a table: dtype Int64 or Int32, dense.
struct Indices {
  DType dtype;
  const void* data;
  int64_t count;
};

// The position of the first index outside [0, rows); -1 if there is none. The other calls need
// indices that passed.
int64_t first_bad_index(const Indices& index, int64_t rows);

// out[i] = table[index[i]], rows of `row_bytes`; an index counts units of `step` bytes.
void embedding(const void* table, int64_t row_bytes, int64_t step, const Indices& index, void* out);

// dtable[index[i]] += grad[i] over a table of rows * dim numbers, zeroed here; a row whose index is
// padding_idx (negative: none) is left out. scale_by_freq divides by how often an index occurs.
// Each row is summed in the order of i, whatever the number of threads.
void embedding_backward(DType t, const void* grad, const Indices& index, int64_t rows, int64_t dim,
                        int64_t padding_idx, bool scale_by_freq, void* dtable);

// Scales down the rows that indices (from the end where negative) name, each once, to max_norm where
// their norm is larger. Floats and complex numbers.
void embedding_renorm(DType t, void* table, int64_t rows, int64_t dim, const Indices& index,
                      double max_norm, double norm_type);

enum class BagMode : int { Sum = 0, Mean = 1, Max = 2 };  // PyTorch's numbers

// Bag b holds the indices from offsets[b] to offsets[b + 1]; the last one ends at `count`.
struct Bags {
  DType dtype;                       // of the table, weights, results and gradients
  Indices index;
  const int64_t* offsets;
  int64_t bags;
  int64_t rows, dim;
  BagMode mode;
  const void* weights = nullptr;     // per index, Sum only
  int64_t padding_idx = -1;
  bool scale_by_freq = false;
};

// out [bags, dim]; bag_size [bags] counts the indices that are no padding; max_index [bags, dim]
// (Max only) the row that each maximum came from, -1 in an empty bag.
void embedding_bag(const Bags& b, const void* table, void* out, int64_t* bag_size,
                   int64_t* max_index);
void embedding_bag_backward(const Bags& b, const void* grad, const int64_t* bag_size,
                            const int64_t* max_index, void* dtable);
// dweights[i] = grad[bag of i] . table[index[i]], 0 for padding.
void embedding_bag_weights_backward(const Bags& b, const void* grad, const void* table,
                                    void* dweights);

}  // namespace rl::kernels
