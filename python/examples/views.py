# SPDX-License-Identifier: Apache-2.0
"""Device memory that NumPy writes through the CPU's mapping, and libraries of the GPU read."""

import numpy as np

import carillon

device = carillon.Device()  # the first GPU, or the emulated device
memory = device.allocate(1 << 20)

prices = memory.array(np.float32, (512, 512))  # NumPy's, of the mapped memory: no copy
prices[:] = 1.5
memory.flush()
carillon.copy_to_device(memory, np.arange(16, dtype=np.float32))  # by whole lines

on_device = carillon.DeviceArray(memory, np.float32, (512, 512))
print(f"{on_device.nbytes} bytes on {device.info.selector}, {memory.views} views")
# cupy.asarray(on_device), torch.from_dlpack(on_device), numba.cuda.as_cuda_array(on_device)

try:
    memory.free()
except carillon.UsageError as error:
    print(error)
del prices, on_device
memory.free()
