import os

# bm25s uses JAX where it is installed, and JAX takes three quarters of a GPU as soon as it starts.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
