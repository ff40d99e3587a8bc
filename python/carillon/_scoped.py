# SPDX-License-Identifier: Apache-2.0
"""The base of classes for `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import Error

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Scoped:
    """An object that ends with its `with`."""

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._end()
        else:
            self._end_after(error)

    def _end_after(self, error: BaseException) -> None:
        """Ends the object; the program gets `error`, with a note about a further error."""
        try:
            self._end()
        except Error as also:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(f"at the end of `with`: {also}")
