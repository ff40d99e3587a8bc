# SPDX-License-Identifier: Apache-2.0
"""What scripts/summarize and scripts/prose are made of. Standard library only, except drawing.py, which
needs matplotlib."""
