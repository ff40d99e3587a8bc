# Patterns of the extension's stub: https://nanobind.readthedocs.io/en/latest/typing.html
# The class of Python's that errors.cpp derives a class of the same name from.
_carillon.__prefix__:
    from builtins import TimeoutError as _PythonTimeoutError
# What Python calls as it collects a kernel (tp_finalize) is no method of it.
_carillon.BytesKernel.__del__:
# The buffer protocol is of the type, and no method of it.
_carillon\.(Memory|Buffer|MutableBuffer|RawChunk)\.__repr__$:
    def __buffer__(self, flags: int, /) -> memoryview: ...

    def __repr__(self) -> str: ...
