// Which layouts of cached keys and values can be had.
#include "tensor/kv_block.h"

#include <string>

namespace inkstone::tensor {

Status check(const KvLayout& layout) {
    if (layout.storage == KvStorage::bf16 && layout.head_dim % 2 != 0)
        return Error{ErrorCode::unsupported, "precision", "keys and values in bf16",
                     "head_dim is " + std::to_string(layout.head_dim) +
                         ", expected an even number, since dimensions are kept in pairs; choose f32 for this part"};
    return {};
}

}  // namespace inkstone::tensor
