"""Puts tools of Microsoft Agent Framework behind Countersign."""

from .gated_run import GatedRun, Resumed

__all__ = ["GatedRun", "Resumed"]
