"""Fail where a figure, offline, is worse than the record by more than its margin.

python -m evaluation.check
"""

import sys

from evaluation.cases import load
from evaluation.record import read, record, worse
from evaluation.run import run


def main() -> int:
    """Run the offline configuration; return 1 and name the figures where one is worse."""
    baseline = read().get("offline")
    if baseline is None:
        print("there is no record; run: python -m evaluation.run --write", file=sys.stderr)
        return 2
    sets = load()
    said = worse(record(run("offline", sets), sets), baseline)
    for each in said:
        print(each, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
