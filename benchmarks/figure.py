"""What a benchmark of Lapsheet itself ends with: a ratio, and the limit it must keep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One result. A ratio has no unit; it is over the limit where it is larger."""

    name: str
    ratio: float
    limit: float

    @property
    def kept(self) -> bool:
        """Whether the limit is kept. NaN keeps none."""
        return self.ratio <= self.limit

    def line(self) -> str:
        """The closing line, in the form that programs read: ``NAME ratio R limit L``."""
        return f"{self.name} ratio {self.ratio:.3g} limit {self.limit:.3g}"
