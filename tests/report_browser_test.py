#!/usr/bin/env python3
"""The report in a real browser. Usage: report_browser_test.py ALLOT [unittest options]

Ends with 77 (skipped) where there is no Chromium.
"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import report_problems as problems  # noqa: E402

ALLOT = ""  # the program under test
SECTIONS = {"latency": ["timeline", "devices", "why", "what-if", "graph", "ops", "costs"],
            "throughput": ["timeline", "devices", "why", "what-if", "graph", "ops", "costs"],
            "completion": ["timeline", "devices", "models", "why", "what-if", "graph", "ops", "costs"]}


def allot(*arguments):
    problems.run(ALLOT, *arguments)


def make_report(folder, name, problem, goal):
    """Writes FOLDER/NAME.html for a plan that needs no search."""
    base = os.path.join(folder, name)
    problems.save(base + ".problem.json", problem)
    problems.save(base + ".plan.json", problems.plan(problem, goal))
    allot("report", base + ".problem.json", base + ".plan.json", "--time-limit", "0.2", "-q", "-o", base + ".html")
    return base + ".html"


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="allot-report-")
        cls.page = browser.Browser(browser.find())
        cls.made = {}

    @classmethod
    def tearDownClass(cls):
        cls.page.close()
        cls.folder.cleanup()

    def report(self, name, make, goal="latency"):
        if name not in self.made:
            self.made[name] = make_report(self.folder.name, name, make(), goal)
        return self.made[name]

    def searched(self, name, problem, goal):
        base = os.path.join(self.folder.name, name)
        problems.save(base + ".json", problem)
        allot("plan", base + ".json", "--goal", goal, "--time-limit", "1", "-q", "-o", base + ".plan.json")
        allot("report", base + ".json", base + ".plan.json", "--time-limit", "0.2", "-q", "-o", base + ".html")
        return base + ".html"

    def small(self):
        return self.report("small", lambda: problems.problem(120))

    def open(self, path, **view):
        self.page.open(path, **view)
        self.assertEqual(self.page.complaints(), [])

    def thread_seconds(self):
        metrics = self.page.call("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def count(self, selector):
        return self.page.run(f"document.querySelectorAll({selector!r}).length")

    def text(self, selector):
        return self.page.run(f"document.querySelector({selector!r}).textContent")

    def middle(self, selector, index=0):
        """Scrolls an element into view; its middle."""
        box = self.page.run(f"""(() => {{
          const element = document.querySelectorAll({selector!r})[{index}];
          element.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
          const box = element.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")
        self.page.settle()
        return box

    def test_shows_every_section_for_every_goal(self):
        made = {"latency": self.small(), "throughput": self.report("pipeline", lambda: problems.problem(120), "throughput"),
                "completion": self.report("two", problems.two_models, "completion")}
        for goal, path in made.items():
            with self.subTest(goal):
                self.open(path)
                shown = self.page.run("[...document.querySelectorAll('section')].map(s => s.id)")
                self.assertEqual([s for s in shown if s != "summary"], SECTIONS[goal])
                self.assertRegex(self.text(".big"), r"\d+(\.\d+)? (s|ms|µs)")
                self.assertNotRegex(self.text("#app"), "NaN|undefined|Infinity|null")

    def test_draws_training_and_flat_graphs(self):
        self.open(self.searched("training", problems.training(), "throughput"))
        self.assertIn("Pipeline", self.text("#timeline-title"))
        flat = problems.problem(400)
        for name, op in enumerate(flat["ops"]):
            old = op["name"]
            op["name"] = str(name)
            for tensor in flat["tensors"]:
                tensor["from"] = str(name) if tensor["from"] == old else tensor["from"]
                tensor["to"] = [str(name) if to == old else to for to in tensor["to"]]
        self.open(self.report("flat", lambda: flat))
        self.assertLess(self.count(".node"), 45, "ops without module names are gathered")

    def test_shows_the_search_of_a_plan(self):
        self.open(self.searched("searched", problems.problem(60), "latency"))
        self.assertRegex(self.text(".proof-labels"), r"below \d.*gap \d")
        self.assertRegex(self.text("#costs"), "Seed *1")

    def test_takes_odd_shapes(self):
        one = problems.problem(1)
        idle = problems.problem(12)
        for op in idle["ops"]:
            op["time"] = [0, 0, 0]
        many = problems.problem(300)
        many["devices"] = [{"name": f"gpu{d}", "class": "small"} for d in range(70)]
        deep = problems.problem(80, odd_names=["/".join(f"m{k}" for k in range(i)) + f"/op{i}" for i in range(1, 80)])
        for goal in ("latency", "throughput"):
            for name, made in (("one", one), ("idle", idle), ("deep", deep)):
                with self.subTest(goal=goal, name=name):
                    self.open(self.report(f"{name}-{goal}", lambda: made, goal), width=360)
                    self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 360)
                    self.assertNotRegex(self.text("#app"), "NaN|undefined|Infinity|null")
        base = os.path.join(self.folder.name, "many")
        problems.save(base + ".json", many)
        place = {op["name"]: f"gpu{i * 70 // 300}" for i, op in enumerate(many["ops"])}
        problems.save(base + ".plan.json", {"schema": "allot.plan/1", "goal": "latency", "assignment": place})
        allot("report", base + ".json", base + ".plan.json", "--time-limit", "0", "-q", "-o", base + ".html")
        self.open(base + ".html")
        self.assertIn("BR", self.text("#devices"), "the seventieth letter")

    def test_asks_nobody_for_anything(self):
        self.open(self.small())
        self.assertEqual([url for url in self.page.requests() if not url.startswith(("file://", "data:"))], [])
        self.assertEqual(len([url for url in self.page.requests() if url.startswith("file://")]), 1)

    def test_shows_names_as_text(self):
        odd = ["<script>window.hacked = 1</script>", "</script><img src=x onerror='window.hacked = 2'>", "a/<b>bold</b>", "{{data}}"]
        made = problems.problem(30, "<script>window.hacked = 3</script>", odd)
        made["devices"][0]["name"] = "<i>gpu</i>"
        whole = problems.plan(made, "latency")
        whole["assignment"] = {op: "<i>gpu</i>" if device == "gpu-a" else device for op, device in whole["assignment"].items()}
        base = os.path.join(self.folder.name, "odd")
        problems.save(base + ".problem.json", made)
        problems.save(base + ".plan.json", whole)
        allot("report", base + ".problem.json", base + ".plan.json", "--time-limit", "0", "-q", "-o", base + ".html")
        self.open(base + ".html")
        self.assertEqual(self.text("h1"), made["name"])
        self.assertEqual(self.page.run("document.title"), made["name"] + " · Allot")
        shown = self.page.run("[...document.querySelectorAll('.grid .name')].map(n => n.textContent)")
        for name in odd:
            self.assertIn(name, shown)
        self.assertIn("<i>gpu</i>", self.text("#devices"))
        self.page.run("document.querySelectorAll('.grid .rows .line')[0].click()")
        self.assertEqual(self.text(".sheet h3"), odd[0])
        self.assertEqual(self.count("script"), 2)
        self.assertEqual(self.count("img, section i[onerror], td b"), 0)
        self.assertIsNone(self.page.run("window.hacked ?? null"))

    def test_fits_every_width_in_light_and_dark(self):
        colours = set()
        for path in (self.small(), self.report("pipeline", lambda: problems.problem(120), "throughput")):
            for width in (360, 800, 1400):
                for dark in (False, True):
                    with self.subTest(path=os.path.basename(path), width=width, dark=dark):
                        self.open(path, width=width, dark=dark)
                        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
                        # What is cut off by its own section would not show as overflow of the page.
                        wide = self.page.run("""[...document.querySelectorAll('section')].filter(s => s.scrollWidth > s.clientWidth + 1)
                          .map(s => s.id)""")
                        self.assertEqual(wide, [])
                        colours.add((dark, self.page.run("getComputedStyle(document.body).backgroundColor")))
        self.assertEqual(len(colours), 2)

    def test_text_stands_out(self):
        """Contrast of at least 4.5 for text, as WCAG 2.1 asks."""
        for dark in (False, True):
            self.open(self.small(), dark=dark)
            ratios = self.page.run("""(() => {
              const style = getComputedStyle(document.documentElement);
              const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
              const light = name => {
                pen.fillStyle = style.getPropertyValue(name).trim();
                pen.fillRect(0, 0, 1, 1);
                const parts = [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)]
                  .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
              };
              return [["--text", "--surface"], ["--muted", "--surface"], ["--muted", "--page"], ["--muted", "--faint"],
                      ["--accent", "--surface"], ["--accent", "--accent-soft"], ["--warn", "--warn-soft"], ["--good", "--good-soft"]]
                .map(([a, b]) => [a + " on " + b, (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05)]);
            })()""")
            for pair, ratio in ratios:
                self.assertGreaterEqual(ratio, 4.5, f"{pair}, dark: {dark}")

    def test_searches_and_sorts(self):
        self.open(self.small())
        self.page.click(*self.middle("input[type=search]"))
        self.page.type("layers.3/attention/key")
        self.page.settle()
        self.assertEqual(self.text(".grid .rows .name"), "/model/layers.3/attention/key/MatMul")
        self.assertEqual(self.count(".grid .rows .line"), 1)
        self.page.run("document.querySelector('input[type=search]').select()")
        self.page.type("gelu gpu-b")
        self.page.settle()
        self.assertGreater(self.count(".grid .rows .line"), 0)
        self.assertTrue(all("Gelu" in n for n in self.page.run("[...document.querySelectorAll('.grid .rows .name')].map(n => n.textContent)")))
        self.page.run("document.querySelector('input[type=search]').select()")
        self.page.type("nothing has this name")
        self.page.settle()
        self.assertIn("No op matches", self.text(".grid .rows"))
        self.page.run("document.querySelector('input[type=search]').value = ''; document.querySelector('input[type=search]').dispatchEvent(new Event('input'))")
        self.page.run("[...document.querySelectorAll('.grid .titles button')].find(b => b.textContent.startsWith('Time')).click()")
        self.page.settle()
        times = self.page.run("[...document.querySelectorAll('.grid .rows .line')].slice(0, 8).map(l => l.children[3].textContent)")
        units = {"s": 1, "ms": 1e-3, "µs": 1e-6}
        seconds = [float(number) * units[unit] for number, unit in (time.split(" ") for time in times)]
        self.assertEqual(seconds, sorted(seconds, reverse=True))
        self.assertEqual(self.page.complaints(), [])

    def test_opens_modules_by_click_and_key(self):
        self.open(self.small())
        before = self.count(".node")
        x, y = self.middle(".node", 1)
        name = self.page.run("document.querySelectorAll('.node')[1].getAttribute('aria-label')")
        self.assertIn("opens", name)
        self.page.click(x, y)
        self.page.settle()
        opened = self.count(".node")
        self.assertGreater(opened, before)
        self.assertEqual(self.count(".chips button"), 1)
        # The focus is on the first thing inside; Enter opens it or shows the op.
        self.assertTrue(self.page.run("document.activeElement.classList.contains('node')"))
        self.page.key("Enter")
        self.page.settle()
        self.assertTrue(self.count(".node") > opened or not self.page.run("document.querySelector('.sheet').hidden"))
        self.page.run("document.querySelector('.chips button').click()")
        self.page.settle()
        self.assertEqual(self.count(".node"), before)
        self.assertGreater(self.count(".edge.cut"), 0)
        self.assertEqual(self.page.complaints(), [])

    def test_works_by_keyboard(self):
        self.open(self.small())
        self.page.key("/")
        self.page.settle()
        self.assertEqual(self.page.run("document.activeElement.type"), "search")
        self.page.type("softmax")
        self.page.key("Tab")
        first = self.page.run("document.activeElement.getAttribute('aria-label')")
        self.assertIn("Sort by", first)
        self.page.run("document.querySelector('.grid').style.width = '95%'")
        self.page.settle()
        self.assertEqual(self.page.run("document.activeElement.getAttribute('aria-label')"), first, "a new width takes no focus")
        for _ in range(12):
            if self.page.run("document.activeElement.getAttribute('role')") == "grid":
                break
            self.page.key("Tab")
        self.assertEqual(self.page.run("document.activeElement.getAttribute('role')"), "grid")
        self.assertNotEqual(self.page.run("getComputedStyle(document.activeElement).outlineStyle"), "none")
        self.page.key("ArrowDown")
        self.page.key("ArrowDown")
        self.page.settle()
        chosen = self.text(".line[aria-selected=true] .name")
        self.assertEqual(chosen, "/model/layers.1/attention/Softmax")
        self.assertEqual(self.text(".sheet h3"), chosen)
        self.page.key("Escape")
        self.assertTrue(self.page.run("document.querySelector('.sheet').hidden"))
        self.page.run("document.querySelector('.timeline canvas').focus()")
        whole = self.text("#timeline .controls [aria-live]")
        self.page.key("+")
        self.page.settle()
        zoomed = self.text("#timeline .controls [aria-live]")
        self.assertNotEqual(zoomed, whole)
        self.page.key("ArrowRight")
        self.page.settle()
        self.assertNotEqual(self.text("#timeline .controls [aria-live]"), zoomed)
        self.page.key("0")
        self.page.settle()
        self.assertEqual(self.text("#timeline .controls [aria-live]"), whole)
        unnamed = self.page.run("""[...document.querySelectorAll('button, canvas, [role], input, a[href]')]
          .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-live') || e.textContent.trim() || e.getAttribute('role') === 'gridcell')).length""")
        self.assertEqual(unnamed, 0)

    def test_timeline_tells_and_zooms(self):
        self.open(self.small())
        x, y = self.middle(".timeline canvas")
        box = self.page.run("(() => { const b = document.querySelector('.timeline canvas').getBoundingClientRect(); return [b.left, b.top]; })()")
        self.page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + 171, y=box[1] + 42)
        self.page.settle()
        self.assertFalse(self.page.run("document.querySelector('.tip').hidden"))
        self.assertIn("/model/layers.0", self.text(".tip"))
        whole = self.text("#timeline .controls [aria-live]")
        self.page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-200)
        self.page.settle()
        self.assertEqual(self.text("#timeline .controls [aria-live]"), whole, "unfocused, the wheel scrolls the page")
        self.page.run("document.querySelector('.timeline canvas').focus()")
        x, y = self.middle(".timeline canvas")
        self.page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-200)
        self.page.settle()
        self.assertNotEqual(self.text("#timeline .controls [aria-live]"), whole)

    def test_prints(self):
        self.open(self.small(), width=800)
        self.page.call("Emulation.setEmulatedMedia", media="print", features=[])
        self.page.settle()
        self.assertEqual(self.page.run("getComputedStyle(document.querySelector('.bar-top')).display"), "none")
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 800)
        self.page.call("Emulation.setEmulatedMedia", media="", features=[])
        pdf = self.page.call("Page.printToPDF", printBackground=True)["data"]
        self.assertGreater(len(pdf), 20000)
        self.assertEqual(self.page.complaints(), [])

    def test_five_thousand_ops_are_quick(self):
        path = self.report("5000", lambda: problems.problem(5000))
        self.assertLess(os.path.getsize(path), 3 << 20)
        paints, searches = [], []
        self.page.call("Performance.enable", timeDomain="threadTicks")
        while not paints or (min(paints) >= 1000 and len(paints) < 6):
            # The count may go on or start anew with a page; behind an empty one both are the same.
            self.page.call("Page.navigate", url="about:blank")
            before = self.thread_seconds()
            self.open(path)
            paints.append(self.page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            drawing = self.thread_seconds() - before
        # Until the rows are in the page and laid out. Processor time of the page's thread as well: other work on the machine is
        # none of the report's.
        needles = ("layers.77/mlp", "softmax", "gpu-c", "layers.416", "/model/layers.1")
        before = self.thread_seconds()
        for needle in needles:
            searches.append(self.page.run(f"""(() => {{
              const input = document.querySelector("input[type=search]");
              input.value = {needle!r};
              const begin = performance.now();
              input.dispatchEvent(new Event("input"));
              document.querySelector(".grid .rows").getBoundingClientRect();
              return performance.now() - begin;
            }})()"""))
        work = 1000 * (self.thread_seconds() - before) / len(needles)
        self.page.call("Performance.disable")
        print(f"5,000 ops: {os.path.getsize(path)} bytes, first paint {min(paints):.0f} ms, search {min(searches):.1f} to {max(searches):.1f} ms; "
              f"processor time: all sections {1000 * drawing:.0f} ms, a search {work:.1f} ms")
        self.assertGreater(work, 0)
        self.assertLess(work, 100)
        self.assertLess(drawing, 1)
        # With more to run than there are cores, the clock measures the others.
        if os.getloadavg()[0] <= 2 * os.cpu_count():
            self.assertLess(min(paints), 1000)

    def test_two_hundred_thousand_ops_open_collapsed(self):
        path = self.report("200000", lambda: problems.problem(200000))
        self.open(path)
        ready = self.page.run("performance.getEntriesByName('allot-ready')[0].startTime")
        nodes = self.count(".node")
        print(f"200,000 ops: {os.path.getsize(path)} bytes, complete after {ready:.0f} ms, {nodes} boxes")
        self.assertLess(nodes, 45)
        self.assertLess(self.count("*"), 3000)
        self.assertIn("Left out", self.text("#what-if"))
        self.page.click(*self.middle(".node", 2))
        self.page.settle()
        self.assertGreater(self.count(".node"), nodes)
        self.assertEqual(self.page.complaints(), [])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ALLOT = os.path.abspath(sys.argv.pop(1))
    if browser.find() is None:
        print("skipped: no Chromium here (Debian package chromium; scripts/install-packages.sh browser)")
        sys.exit(77)
    unittest.main()
