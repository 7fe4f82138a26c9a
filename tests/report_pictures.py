#!/usr/bin/env python3
"""Writes the pictures of docs/report.md, of the built-in demo. Usage: report_pictures.py ALLOT FOLDER"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import report_problems as problems  # noqa: E402


def write_pictures(program, folder):
    with tempfile.TemporaryDirectory(prefix="allot-pictures-") as work:
        def at(name):
            return os.path.join(work, name)
        problems.run(program, "demo", "-q", "-o", at("demo.json"))
        for goal in ("latency", "throughput"):
            problems.run(program, "plan", at("demo.json"), "--goal", goal, "--time-limit", "10", "-q", "-o", at(goal + ".plan.json"))
            problems.run(program, "report", at("demo.json"), at(goal + ".plan.json"), "-q", "-o", at(goal + ".html"))
        page = browser.Browser(browser.find())

        def take(name, selector=None, height=700):
            clip = None
            if selector:
                clip = page.run(f"""(() => {{
                  document.querySelector({selector!r}).scrollIntoView({{block: "start", behavior: "instant"}});
                  const box = document.querySelector({selector!r}).getBoundingClientRect();
                  return {{x: 0, y: box.top + scrollY - 10, width: innerWidth, height: Math.min({height}, box.height + 20)}};
                }})()""")
            page.settle()
            page.screenshot(os.path.join(folder, f"report-{name}.png"), clip=clip)
        try:
            page.open(at("latency.html"), 1200, 860)
            take("summary")
            page.run("document.querySelector('.node').dispatchEvent(new MouseEvent('click'))")
            take("graph", "#graph", 900)
            page.open(at("latency.html"), 1200, 860, dark=True)
            take("timeline-dark", "#timeline")
            page.open(at("throughput.html"), 1200, 860)
            take("pipeline", "#timeline")
            take("devices", "#devices")
            page.open(at("latency.html"), 360, 800)
            take("phone")
            page.run("document.querySelector('#ops').scrollIntoView({behavior: 'instant'}); document.querySelectorAll('.grid .rows .line')[4].click()")
            page.settle()
            page.screenshot(os.path.join(folder, "report-phone-op.png"))
        finally:
            page.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if browser.find() is None:
        sys.exit("no Chromium here (Debian package chromium; scripts/install-packages.sh browser)")
    write_pictures(os.path.abspath(sys.argv[1]), sys.argv[2])
