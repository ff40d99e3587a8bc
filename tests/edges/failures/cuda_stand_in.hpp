// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace carillon::test {

// From now on this process has a CUDA driver with one GPU.
void load_cuda_stand_in();

}  // namespace carillon::test
