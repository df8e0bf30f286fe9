// The records of work that is no op of the table.
#include "bind/told.h"

namespace rl::bind {
namespace {

Record record(const char* name, bool reads, bool makes) {
  Record r;
  r.name = r.base = name;
  r.visible = makes;
  if (reads) {
    r.params.resize(1);
    r.params[0].name = "self";
  }
  return r;
}

}  // namespace

const Record item_op = record("item", true, false);
const Record scalar_op = record("_local_scalar_dense", true, false);
const Record truth_op = record("is_nonzero", true, false);
const Record data_op = record("lift_fresh", false, true);

void Told::begin(const Tensor* read) {
  note_origin();
  if (read) read_ = Arg(*read);
  observe_op_begin(record_, &read_);
}

}  // namespace rl::bind
