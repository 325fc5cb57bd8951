"""How the libraries say that memory does not suffice. Import it through lazy.py: it loads torch."""

import torch

# Where torch has no error of its own for it: on a CPU, and inside CUDA and its libraries.
WORDS = (
    "can't allocate memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def wants_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS)
