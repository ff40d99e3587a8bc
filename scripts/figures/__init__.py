# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/summarize and scripts/prose. All but drawing.py, which needs matplotlib, use the
standard library only."""
