"""Lapsheet's own speed, and the synthetic runs it is measured with."""
