"""Send generated requests to the application and print what is wrong with its answers.

    python -m tests.faults.generating 50000             # some fifteen minutes, no network
    python -m tests.faults.generating 50000 --seed 7    # the same requests again

A fifth is schemathesis's, from our own OpenAPI. Exit status: 1 where something is wrong.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.faults.generating.application import Application
from tests.faults.generating.running import run


def main() -> int:
    """Run, print, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="tests.faults.generating",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Application(Path(folder)) as application:
        found = run(application, asked.count, seed=asked.seed)
    print(f"{found.sent} requests (seed {asked.seed}) in {found.seconds:.0f} s")
    print("  ".join(f"{status}: {n}" for status, n in sorted(found.statuses.items())))
    for what, first in found.wrong.items():
        print(f"WRONG {what}\n  {first}")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
