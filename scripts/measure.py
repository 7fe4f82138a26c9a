#!/usr/bin/env python3
"""Runs a command and reports its wall time and peak memory on stderr; --summary adds up earlier runs of the same log."""
import argparse
import json
import os
import subprocess
import sys
import time


def run(options):
    begin = time.monotonic()
    child = subprocess.Popen(options.command)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    peak = usage.ru_maxrss * 1024
    code = os.waitstatus_to_exitcode(status)
    print(f"{options.name}: {seconds:.2f} s, peak {peak / 1e9:.2f} GB, exit {code}", file=sys.stderr)
    with open(options.log, "a", encoding="utf-8") as log:
        cpu = usage.ru_utime + usage.ru_stime
        log.write(json.dumps({"name": options.name, "seconds": seconds, "cpu": cpu, "peak": peak}) + "\n")
    if code in options.accept:
        return 0
    return code if code >= 0 else 128 - code


def summarise(options):
    with open(options.log, encoding="utf-8") as log:
        steps = [step for step in map(json.loads, log) if step["name"] in options.summary]
    seconds = sum(step["seconds"] for step in steps)
    peak = max(step["peak"] for step in steps)
    print(
        f"{' + '.join(options.summary)}: {seconds:.2f} s (goal {options.goal_seconds:g}, "
        f"ratio {seconds / options.goal_seconds:.2f}); peak {peak / 1e9:.2f} GB (goal {options.goal_bytes / 1e9:g}, "
        f"ratio {peak / options.goal_bytes:.2f})"
    )
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", required=True)
    parser.add_argument("--name", default="command")
    parser.add_argument("--accept", type=int, action="append", default=[], help="exit code that counts as success")
    parser.add_argument("--summary", nargs="+", metavar="NAME")
    parser.add_argument("--goal-seconds", type=float)
    parser.add_argument("--goal-bytes", type=float)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    return summarise(options) if options.summary else run(options)


if __name__ == "__main__":
    sys.exit(main())
