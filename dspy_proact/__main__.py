"""`dspy-proact` and `python -m dspy_proact`: Ctrl-C ends them with its own status, also while they import."""

import gc
import sys


def main() -> None:
    """Entry point of both."""
    gc.set_threshold(50_000, 20, 100)  # imports make many values and few cycles: a tenth of a second less
    try:
        from dspy_proact.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # the process ends: looking through what it holds for garbage takes a tenth of a second


if __name__ == "__main__":
    main()
