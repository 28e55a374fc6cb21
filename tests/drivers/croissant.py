"""mlcroissant, imported beside the process's own standard error.

absl, which it imports, keeps the stream that it meets, and closes it when a server configures its logging: pytest's,
so that no later test could begin. The process's own it leaves open.
"""

import sys
from contextlib import redirect_stderr

with redirect_stderr(sys.__stderr__):
    import mlcroissant

__all__ = ["mlcroissant"]
