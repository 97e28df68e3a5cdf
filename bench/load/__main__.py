"""Put one load on one server, print one JSON object.

python -m bench.load --url http://127.0.0.1:8000/chat --pid 4711 --streams 50 --seconds 3
"""

import argparse
import json
from typing import Any

import uvloop

from bench import meter
from bench.load.busy import Busy, busy
from bench.load.idle import idle
from bench.load.target import BODY_END, Target, socket_target, target
from bench.workload import TOKENS


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", required=True)
    parser.add_argument("--pid", type=int, required=True, help="the server's process")
    parser.add_argument("--header", action="append", default=[], help="'Name: value'")
    parser.add_argument("--body", default='{"messages":[{"role":"user","content":"go"}]}')
    parser.add_argument("--marker", default="event: token", help="starts a token's frame")
    parser.add_argument("--frames", type=int, default=TOKENS, help="token frames of a whole turn")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of the window")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds before the window")
    parser.add_argument("--spread", type=float, default=0.0, help="seconds to spread starts over")
    parser.add_argument("--idle", action="store_true", help="open the streams and only hold them")
    parser.add_argument(
        "--socket", action="store_true", help="the turns are asked for over sockets"
    )
    parser.add_argument("--secret", default="", help="signs the sockets' tokens; empty: no tokens")
    asked = parser.parse_args()
    if len(asked.marker) < len(BODY_END):
        parser.error(f"the marker needs {len(BODY_END)} bytes or more")
    return asked


def target_of(asked: argparse.Namespace) -> Target:
    """Return whom to ask what; an idle socket is asked for nothing, an idle stream for a turn."""
    if not asked.socket:
        return target(asked.url, asked.header, asked.body, marker=asked.marker, frames=asked.frames)
    return socket_target(
        asked.url,
        "" if asked.idle else asked.body,
        secret=asked.secret,
        marker=asked.marker,
        frames=asked.frames,
    )


async def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the measurement that the command line asks for."""
    whom = target_of(asked)
    if asked.idle:
        return await idle(whom, asked.streams, pid=asked.pid)
    plan = Busy(
        streams=asked.streams, seconds=asked.seconds, warmup=asked.warmup, spread=asked.spread
    )
    return await busy(whom, plan, pid=asked.pid)


def main() -> None:
    """Measure and print."""
    asked = arguments()
    meter.allow_many_files()
    print(json.dumps(uvloop.run(measure(asked))))


if __name__ == "__main__":
    main()
